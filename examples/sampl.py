"""Train with masks that grow as the model copes (SAMPL), in a loop in the style of PyTorch.

    python examples/sampl.py

The model is simulated: it learns to cope with as many hidden pixels as it was trained with. In your
own loop, ``model.evaluate`` is the validation mAP on images that are masked at a level, and
``model.step`` is the forward and backward pass. Needs ``pip install 'diaghoi[robustness]'``.
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
# The share of mAP that the simulated model loses at each level if it was not trained with masks.
LOST = {1: 0.0, 2: 0.1, 3: 0.25, 4: 0.5}


class Model:
    """A simulated detector."""

    def __init__(self) -> None:
        self.skill, self.tolerance = 0.2, 0.0

    def step(self, image: npt.NDArray[np.uint8]) -> None:
        """Learn from one image."""
        self.skill += 0.004 * (0.4 - self.skill)
        self.tolerance += 0.01 * (float((image == 0).mean()) - self.tolerance)

    def evaluate(self, level: int) -> float:
        """Return the validation mAP on images masked at a level."""
        return self.skill * (1 - max(LOST[level] - self.tolerance, 0))


def images(
    annotations: Scenes,
) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]]:
    """Simulate a data loader: an image, and the boxes of its people and objects."""
    for image in range(len(annotations)):
        boxes = annotations.between(image, image + 1).box_xyxy
        scale = np.array(SIZE[::-1] * 2) / np.maximum(boxes.max(axis=0)[[2, 3, 2, 3]] + 1, 1)
        yield np.full((*SIZE, 3), 128, dtype=np.uint8), boxes * scale


def main() -> None:
    """Train the simulated model, and resume from a saved state halfway."""
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(20, rng)
    model, schedule = Model(), ProgressiveSchedule()
    print("Epoch  level   clean mAP  hidden pixels")
    for epoch in range(1, EPOCHS + 1):
        scores = {level: model.evaluate(level) for level in schedule.evaluated}
        level = schedule.next_severity(scores)

        hidden = []
        for image, boxes in images(annotations):
            # With segmentations: instance_mask(annotation["segmentation"], SIZE).
            instances = [box_mask(box, SIZE) for box in boxes.tolist()]
            mask = semantic_mask(instances, level, rng)
            model.step(masked(image, mask))
            hidden.append(mask.mean())

        share = float(np.mean(hidden))
        print(f"{epoch:5}  {LEVELS[level - 1]:6} {100 * scores[1]:10.2f} {100 * share:12.1f} %")
        if epoch == EPOCHS // 2:
            checkpoint = {"schedule": schedule.state_dict()}  # torch.save(...) it with the weights
            schedule = ProgressiveSchedule()
            schedule.load_state_dict(checkpoint["schedule"])
    print(f"Chosen: {', '.join(f'{LEVELS[n - 1]} {k - 1}' for n, k in schedule.chosen.items())}")


if __name__ == "__main__":
    main()
