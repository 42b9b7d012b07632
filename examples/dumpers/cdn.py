"""CDN on HICO-DET: every query as a pair, with the scores of its verbs alone.

Paste the code into ``engine.py`` and three lines into ``evaluate_hoi``; then run ``main.py --eval``
on one GPU:

    writer = diaghoi.PredictionWriter("preds.npz")      # before the loop
    ...
    dump(writer, targets, outputs, results)             # after postprocessors['hoi']
    ...
    writer.close()                                      # after the loop

This is before the suppression of ``--use_nms_filter``, which is part of CDN's evaluator.
For V-COCO, the pickle of ``generate_vcoco_official.py`` is read as it is.
"""


def dump(writer, targets, outputs, results):
    """Write the predictions of one batch."""
    names = [target["filename"] for target in targets]
    actions = outputs["pred_verb_logits"].sigmoid().cpu().numpy()
    rows = [{**result, "action_scores": rows} for result, rows in zip(results, actions)]
    writer.update(names, rows)
