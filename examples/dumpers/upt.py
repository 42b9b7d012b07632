"""UPT on HICO-DET: every pair, with the scores of its verbs before they meet the detector's.

Paste the code into ``utils.py`` and four lines into ``cache_hico``; then run ``main.py --cache`` on
one GPU:

    keep(net.module.interaction_head)                                # before the loop
    writer = diaghoi.PredictionWriter("preds.npz", top=10_000)
    ...
    dump(writer, dataset, i, output, net.module.interaction_head)    # after relocate_to_cpu
    ...
    writer.close()                                                   # after the loop

UPT evaluates all triplets, the official evaluator 100 per image, hence ``top``.
"""

import numpy as np


def keep(module):
    """Let a module remember what it returned last."""
    module.register_forward_hook(lambda self, given, returned: setattr(self, "kept", returned))


def dump(writer, dataset, i, output, head):
    """Write the predictions of one image."""
    logits, prior, human, other, objects, _ = head.kept
    human, other, objects = (part[0].cpu().numpy() for part in (human, other, objects))
    action = logits.sigmoid().cpu().numpy()
    (width, height), (h, w) = dataset.image_size(i), output["size"].tolist()
    boxes = output["boxes"].cpu().numpy() * [width / w, height / h, width / w, height / h]
    boxes[:, 2:] = np.maximum(boxes[:, 2:] - 1, boxes[:, :2])  # to pixels, as cache_hico does
    boxes = boxes[: len(boxes) if len(human) else 0]
    labels = np.zeros(len(boxes), dtype=int)  # 0 is a person
    labels[other] = objects
    row = {"boxes": boxes, "labels": labels, "sub_ids": human, "obj_ids": other}
    triplets = action * prior[0].cpu().numpy().prod(axis=0)
    row.update(verb_scores=triplets, action_scores=action)
    writer.update([dataset.filename(i)], [row])
