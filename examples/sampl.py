"""Train with hidden parts that grow as the model copes (SAMPL), in a loop in the style of PyTorch.

    python examples/sampl.py

The model is a stand-in: it learns to do without as many pixels as it was trained without. In your
own loop ``model.evaluate`` is the validation mAP on pictures that are masked at a level, and
``model.step`` the forward and backward pass. Needs ``pip install 'diaghoi[robustness]'``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from diaghoi import Scenes, simulate
from diaghoi.robustness.sampl import (
    LEVELS,
    ProgressiveSchedule,
    box_mask,
    masked,
    semantic_mask,
)

EPOCHS, SIZE = 14, (96, 128)
# How much a picture has lost at each level, for the stand-in.
LOST = {1: 0.0, 2: 0.1, 3: 0.25, 4: 0.5}


class Model:
    """Stand in for a detector."""

    def __init__(self) -> None:
        self.skill, self.tolerance = 0.2, 0.0

    def step(self, image: npt.NDArray[np.uint8]) -> None:
        """Learn from one picture."""
        self.skill += 0.004 * (0.4 - self.skill)
        self.tolerance += 0.01 * (float((image == 0).mean()) - self.tolerance)

    def evaluate(self, level: int) -> float:
        """Give the validation mAP on pictures masked at a level."""
        return self.skill * (1 - max(LOST[level] - self.tolerance, 0))


def pictures(
    annotations: Scenes,
) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]]:
    """Stand in for a data loader: a picture, and the boxes of its people and objects."""
    for image in range(len(annotations)):
        boxes = annotations.between(image, image + 1).box_xyxy
        scale = np.array(SIZE[::-1] * 2) / np.maximum(boxes.max(axis=0)[[2, 3, 2, 3]] + 1, 1)
        yield np.full((*SIZE, 3), 128, dtype=np.uint8), boxes * scale


def main() -> None:
    """Train the stand-in, and go on from a saved state halfway."""
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(20, rng)
    model, schedule = Model(), ProgressiveSchedule()
    print("Epoch  level   clean mAP  hidden pixels")
    for epoch in range(1, EPOCHS + 1):
        scores = {level: model.evaluate(level) for level in schedule.evaluated}
        level = schedule.next_severity(scores)

        hidden = []
        for image, boxes in pictures(annotations):
            # With segmentations: instance_mask(annotation["segmentation"], SIZE).
            instances = [box_mask(box, SIZE) for box in boxes.tolist()]
            mask = semantic_mask(instances, level, rng)
            model.step(masked(image, mask))
            hidden.append(mask.mean())

        share = float(np.mean(hidden))
        print(f"{epoch:5}  {LEVELS[level - 1]:6} {100 * scores[1]:10.2f} {100 * share:12.1f} %")
        if epoch == EPOCHS // 2:
            checkpoint = {"schedule": schedule.state_dict()}  # with the weights, torch.save(...)
            schedule = ProgressiveSchedule()
            schedule.load_state_dict(checkpoint["schedule"])
    print(f"Chosen: {', '.join(f'{LEVELS[n - 1]} {k - 1}' for n, k in schedule.chosen.items())}")


if __name__ == "__main__":
    main()
