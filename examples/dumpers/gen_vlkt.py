"""GEN-VLKT on HICO-DET: the 100 best triplets, with the scores of their classes alone, and pairs.

Paste the code into ``engine.py`` and five lines into ``evaluate_hoi``; then run ``main.py --eval``
on one GPU:

    from datasets.hico_text_label import hico_text_label
    writer, pairs = diaghoi.PredictionWriter("preds.npz"), []        # before the loop
    ...
    pairs += dump(writer, list(hico_text_label), targets, results)   # after postprocessors['hoi']
    ...
    writer.close()                                                   # after the loop
    pickle.dump(pairs, open("pairs.pkl", "wb"))

and ``diaghoi report preds.npz --pairs pairs.pkl``. A box has the category of the class, not the
detector's, so the pairs, which have the detector's, are in a file of their own. This is before the
suppression of ``--use_nms_filter``, which is part of GEN-VLKT's evaluator.
"""

import numpy as np


def dump(writer, classes, targets, results):
    """Write the triplets of one batch, and return the pairs of its queries."""
    (verbs, objects), listed = np.array(classes).T, []
    for target, result in zip(targets, results):
        boxes, labels, hoi, found = (
            result[key].cpu().numpy() for key in ("boxes", "labels", "hoi_scores", "obj_scores")
        )
        score, queries = hoi + found[:, objects] ** 2, len(hoi)
        best = np.argsort(-score, axis=None, kind="stable")[:100]
        query, number = np.unravel_index(best, score.shape)
        box, other = np.unique(query * 80 + objects[number], return_inverse=True)
        row = {"boxes": np.concatenate([boxes[:queries], boxes[queries + box // 80]])}
        row["labels"] = np.concatenate([labels[:queries], box % 80])
        row.update(sub_ids=query, obj_ids=queries + other, verbs=verbs[number])
        row.update(scores=score.flat[best], action_scores=hoi.flat[best])
        writer.update([target["filename"]], [row])
        interacts = hoi[:, verbs != 57].max(axis=1)  # 57 is no_interaction
        columns = (boxes[:queries], boxes[queries:], labels[queries:], interacts)
        keys = ("h_box", "o_box", "o_label", "hoi_score_inter")
        pairs = [dict(zip(keys, pair)) for pair in zip(*columns)]
        listed.append({"filename": target["filename"], "box_pairs": pairs})
    return listed
