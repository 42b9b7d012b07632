"""PViC on HICO-DET: every pair, with the scores of its verbs before they meet the detector's.

Paste the code into ``utils.py`` and four lines into ``cache_hico``; then run ``main.py --cache`` on
one GPU:

    keep(net.module.binary_classifier)                                # before the loop
    writer = diaghoi.PredictionWriter("preds.npz", top=10_000)
    ...
    dump(writer, dataset, i, output, net.module.binary_classifier)    # after relocate_to_cpu
    ...
    writer.close()                                                    # after the loop

PViC evaluates all triplets, the official evaluator 100 per image, hence ``top``.
"""

import numpy as np


def keep(module):
    """Let a module remember what it returned last."""
    module.register_forward_hook(lambda self, given, returned: setattr(self, "kept", returned))


def dump(writer, dataset, i, output, classifier):
    """Write the predictions of one image."""
    action = classifier.kept[-1].sigmoid().cpu().numpy()
    keys = ("boxes", "pairing", "objects", "labels", "scores", "x")
    boxes, pairing, objects, verbs, scores, x = (output[key].cpu().numpy() for key in keys)
    (width, height), (h, w) = dataset.image_size(i), output["size"].tolist()
    boxes = boxes * [width / w, height / h, width / w, height / h]
    boxes[:, 2:] = np.maximum(boxes[:, 2:] - 1, boxes[:, :2])  # to pixels, as cache_hico does
    boxes = boxes[: len(boxes) if len(x) else 0]
    labels = np.zeros(len(boxes), dtype=int)  # 0 is a person
    labels[pairing[:, 1]] = objects
    pair, first, number = np.unique(x, return_index=True, return_inverse=True)
    human, other = pairing[first].T
    verb_scores = np.zeros((len(pair), action.shape[1]))
    verb_scores[number, verbs] = scores
    row = {"boxes": boxes, "labels": labels, "sub_ids": human, "obj_ids": other}
    row.update(verb_scores=verb_scores, action_scores=action[pair])
    writer.update([dataset.filename(i)], [row])
