"""QPIC on HICO-DET: every query as a pair, with the scores of its verbs alone.

Paste the code into ``engine.py`` and three lines into ``evaluate_hoi``; then run ``main.py --eval``
on one GPU:

    writer = diaghoi.PredictionWriter("preds.npz")                   # before the loop
    ...
    dump(writer, data_loader.dataset, targets, outputs, results)     # after postprocessors['hoi']
    ...
    writer.close()                                                   # after the loop

For V-COCO, the pickle of ``generate_vcoco_official.py`` is read as it is.
"""


def dump(writer, dataset, targets, outputs, results):
    """Write the predictions of one batch."""
    names = [dataset.annotations[target["id"]]["file_name"] for target in targets]
    actions = outputs["pred_verb_logits"].sigmoid().cpu().numpy()
    rows = [{**result, "action_scores": rows} for result, rows in zip(results, actions)]
    writer.update(names, rows)
