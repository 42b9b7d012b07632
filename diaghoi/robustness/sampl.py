"""SAMPL: training with masks that grow as the model learns (paper 'RoHOI', section 4).

Two parts of SAMPL work in any training code, without the authors' code.
:class:`ProgressiveSchedule` (algorithm 1, equations 4 to 8) decides how much to hide, and
:func:`semantic_mask` (equation 3) chooses the pixels to hide. Comments mark the values that come
from the paper; diaghoi chose the other values.

>>> schedule = ProgressiveSchedule()
>>> schedule.evaluated  # before the first epoch: the clean and the low level
(1, 2)
>>> schedule.next_severity({1: 0.38, 2: 0.31})  # the level to train on in this epoch
1
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import BoolArray
from diaghoi.exceptions import InputError
from diaghoi.robustness.effects import opencv

# Names of the severity levels 1 to 4 (omega_1 to omega_4 in the paper).
LEVELS = ("clean", "low", "middle", "high")
# Range, for each level, from which the hidden share of an instance's width and height is drawn. The
# paper tries 40 to 80 %, and finds 40, 50 and 60 % best for the three levels (table 2b).
COVER: Mapping[int, tuple[float, float]] = {
    1: (0.0, 0.0),
    2: (0.4, 0.4),
    3: (0.5, 0.5),
    4: (0.6, 0.6),
}
# Largest dilation of an instance, as a share of its longer side; the radius is random.
EXPANSION = 0.05
CLEAN = 1
# Values of section 5 of the paper.
INITIAL_THRESHOLD, EPSILON = 0.15, 1e-6
Pixels = TypeVar("Pixels", bound=np.generic)


class ProgressiveSchedule:
    """Choose the severity level of each epoch from validation scores (algorithm 1).

    The paper leaves some cases unspecified. The relative change is undefined, and the level is
    kept, if the previous epoch has no score at the same level (in the first epoch, and after a step
    up) or a score of 0. If the weighted scores of clean and masked levels are equal, the clean
    level is chosen, because the clean level is listed first. The sum in equation 7 runs over the
    levels above clean; algorithm 1 does not say over which levels. The largest change is reset
    after a step up, as in algorithm 1; equation 5 would keep the largest change.

    Parameters
    ----------
    initial_threshold, epsilon : float
        tau_init and epsilon of equation 5.

    Attributes
    ----------
    level : int
        The current level above clean, 2 to 4: p of algorithm 1.
    chosen : dict of int
        Number of times each level was chosen, plus one: N of algorithm 1.

    Raises
    ------
    InputError
        If a parameter is not a positive number.
    """

    def __init__(
        self, *, initial_threshold: float = INITIAL_THRESHOLD, epsilon: float = EPSILON
    ) -> None:
        for name, value in (("initial_threshold", initial_threshold), ("epsilon", epsilon)):
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"{name} is {value}; give a number above 0")
        self.initial_threshold, self.epsilon = initial_threshold, epsilon
        self.level = 2
        self.chosen = dict.fromkeys(range(CLEAN, len(LEVELS) + 1), 1)
        self._largest_change: float | None = None
        self._previous: dict[int, float] = {}

    @property
    def evaluated(self) -> tuple[int, int]:
        """Levels whose validation scores are needed for the next epoch: clean and ``level``."""
        return CLEAN, self.level

    def next_severity(self, scores: Mapping[int, float]) -> int:
        """Choose the training level of this epoch, 1 (clean) to 4 (high).

        Parameters
        ----------
        scores : dict of float
            Nonnegative validation score of the model (mAP, for example; higher is better) at each
            of the levels :attr:`evaluated`. Scores of other levels are kept, and serve as previous
            scores after a step up.

        Raises
        ------
        InputError
            If a score is missing, negative or not a number. An error leaves the schedule unchanged.
        """
        for level in self.evaluated:
            if level not in scores:
                raise InputError(
                    f"no score of level {level} ({LEVELS[level - 1]}); give the scores of "
                    f"{' and '.join(map(str, self.evaluated))}"
                )
        current = _scores(scores.items())
        score = current[self.level]
        masked_sum = score * sum(n for level, n in self.chosen.items() if level != CLEAN)
        severity = self.level if masked_sum < self.chosen[CLEAN] * current[CLEAN] else CLEAN
        if severity != CLEAN and self._steps_up(score):
            self.level += 1
            self._largest_change = None
            severity = self.level
        self.chosen[severity] += 1
        self._previous = current
        return severity

    def _steps_up(self, score: float) -> bool:
        """Check whether the score has settled, so that more can be hidden (equations 4 to 6)."""
        before = self._previous.get(self.level, 0.0)
        if before == 0:
            return False
        # The change is relative, so that the threshold works for both percentages and fractions.
        change = abs((score - before) / before)
        self._largest_change = max(self._largest_change or 0.0, change)
        threshold = self.initial_threshold * self._largest_change / (change + self.epsilon)
        return change < threshold and self.level < len(LEVELS)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the schedule in types that JSON and torch.save can store."""
        return {
            "level": self.level,
            "chosen": [self.chosen[level] for level in sorted(self.chosen)],
            "largest_change": self._largest_change,
            "previous": [[level, score] for level, score in sorted(self._previous.items())],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from :meth:`state_dict`, except for the threshold and epsilon.

        Raises
        ------
        InputError
            If a part of the state is missing or invalid. An error leaves the schedule unchanged.
        """
        try:
            level, chosen = int(state["level"]), [int(count) for count in state["chosen"]]
            largest = None if state["largest_change"] is None else float(state["largest_change"])
            previous = _scores(state["previous"])
            if not 2 <= level <= len(LEVELS) or len(chosen) != len(LEVELS) or min(chosen) < 1:
                raise ValueError(f"level {level} and counts {chosen}")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the state of a schedule cannot be read ({type(error).__name__}: {error}); give "
                "what state_dict() returned"
            ) from None
        self.level, self._largest_change, self._previous = level, largest, previous
        self.chosen = dict(enumerate(chosen, start=CLEAN))


def _scores(pairs: Iterable[tuple[Any, Any]]) -> dict[int, float]:
    """Check the levels and their scores."""
    scores = {}
    for level, score in pairs:
        if level not in range(CLEAN, len(LEVELS) + 1):
            raise InputError(f"level {level}: not known; give 1, 2, 3 or 4")
        try:
            value = float(score)
        except (TypeError, ValueError):
            value = math.nan
        if not 0 <= value < math.inf:
            raise InputError(
                f"the score of level {level} is {score}; give a number that is 0 or more"
            )
        scores[int(level)] = value
    return scores


def box_mask(box: Sequence[float], size: tuple[int, int]) -> BoolArray:
    """Create a mask of all pixels that a box touches, for an instance that has no mask.

    Parameters
    ----------
    box : sequence of 4 float
        x1, y1, x2, y2 in pixels.
    size : (height, width)
        Size of the picture and of the mask.

    Raises
    ------
    InputError
        If the values are not a box.
    """
    corners = np.asarray(box, dtype=np.float64)
    sound = corners.shape == (4,) and np.isfinite(corners).all()
    if not sound or (corners[2:] < corners[:2]).any():
        raise InputError(f"{box} is not a box; give x1, y1, x2, y2 in pixels")
    mask = np.zeros(size, dtype=bool)
    left, top = np.maximum(np.floor(corners[:2]), 0).astype(int)
    right, bottom = np.maximum(np.floor(corners[2:]) + 1, 0).astype(int)
    mask[top:bottom, left:right] = True
    return mask


def instance_mask(instance: Any, size: tuple[int, int]) -> BoolArray:
    """Read the mask of an instance: an (H, W) bool array.

    Parameters
    ----------
    instance : (H, W) array, dict or list
        A mask with background 0, or the ``segmentation`` of COCO files: run-length encoding
        (``{"size": [height, width], "counts": ...}``, packed or as a list), or polygons.
    size : (height, width)
        Size of the picture in pixels.

    Raises
    ------
    InputError
        If the mask cannot be read or has another size.
    """
    coded = isinstance(instance, (dict, list))
    mask = _decoded(instance, size) if coded else np.asarray(instance) != 0
    if mask.shape != tuple(size):
        raise InputError(
            f"the mask has shape {mask.shape}, and the picture {tuple(size)}; give (height, width)"
        )
    return mask


def _decoded(instance: Any, size: tuple[int, int]) -> BoolArray:
    from pycocotools import mask as coco

    try:
        with warnings.catch_warnings():
            # pycocotools creates its arrays in a way that NumPy deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            packed = isinstance(instance, dict) and not isinstance(instance["counts"], list)
            coded = instance if packed else coco.frPyObjects(instance, *size)
            if isinstance(coded, list):
                coded = coco.merge(coded)
            return np.asarray(coco.decode(coded), dtype=bool)
    except Exception as error:  # pycocotools raises arbitrary errors on unknown input
        raise InputError(
            f"a mask cannot be read ({' '.join(str(error).split())[:80]}); give an array, or a "
            "run-length code or polygons of COCO"
        ) from None


def semantic_mask(
    instances: Sequence[npt.ArrayLike],
    level: int,
    rng: np.random.Generator,
    *,
    cover: Mapping[int, tuple[float, float]] = COVER,
) -> BoolArray:
    """Choose the pixels of a picture to hide at a severity level (equation 3).

    Hidden pixels are True in an (H, W) bool array. Each instance is dilated by a few pixels, so
    that its outline reveals nothing. The convex hull of the dilated instance is then scaled about
    its centre; the higher the level, the larger the hidden share of the hull's width and height.

    Parameters
    ----------
    instances : sequence of (H, W) array
        One mask per instance, from :func:`instance_mask` or :func:`box_mask`; 0 is background.
        Empty masks hide nothing.
    level : int
        1 (clean, nothing is hidden) to 4 (high).
    rng : numpy.random.Generator
        Source of the dilations and cover ratios.
    cover : dict of (float, float)
        Smallest and largest cover ratio at each level.

    Raises
    ------
    InputError
        If a level is unknown, a ratio is outside [0, 1], masks are missing or differ in size, or
        OpenCV is missing.
    """
    if level not in cover:
        raise InputError(f"level {level}: not known; give one of {', '.join(map(str, cover))}")
    low, high = cover[level]
    if not 0 <= low <= high <= 1:
        raise InputError(f"cover of level {level}: {low} to {high}; give ratios from 0 to 1")
    masks = [np.asarray(mask) != 0 for mask in instances]
    if not masks:
        raise InputError(
            "no instances: give a mask for each instance, or leave the picture unchanged"
        )
    if any(mask.shape != masks[0].shape or mask.ndim != 2 for mask in masks):
        shapes = ", ".join(str(mask.shape) for mask in masks)
        raise InputError(
            f"the masks have the shapes {shapes}; give masks of the same (height, width)"
        )
    hidden = np.zeros(masks[0].shape, dtype=bool)
    if high == 0:
        return hidden
    for mask in masks:
        # Numbers are drawn for empty masks, too, so that one instance does not change the masks of
        # other instances.
        radius, across, down = rng.uniform([0, low, low], [EXPANSION, high, high])
        if mask.any():
            _hide(hidden, mask, radius, (down, across))
    return hidden


def masked(image: npt.NDArray[Pixels], mask: BoolArray) -> npt.NDArray[Pixels]:
    """Set the hidden pixels of a picture to zero.

    Parameters
    ----------
    image : (H, W) or (H, W, C) array
        The picture itself is not changed. For a (C, H, W) tensor, ``tensor[:,
        torch.from_numpy(mask)] = 0`` hides the pixels in place.
    mask : (H, W) bool array
        As from :func:`semantic_mask`.

    Raises
    ------
    InputError
        If image and mask differ in size.
    """
    if image.shape[:2] != mask.shape:
        raise InputError(f"the image is {image.shape[:2]} and the mask {mask.shape} pixels")
    result: npt.NDArray[Pixels] = image.copy()
    result[mask] = 0
    return result


def _hide(hidden: BoolArray, mask: BoolArray, radius: float, ratios: tuple[float, float]) -> None:
    """Add the dilated, convex, scaled mask of one instance to the hidden pixels."""
    from scipy.ndimage import distance_transform_edt

    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    reach = radius * max(rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1)
    around = int(np.ceil(reach))
    top, left = max(rows[0] - around, 0), max(columns[0] - around, 0)
    part = mask[top : rows[-1] + around + 1, left : columns[-1] + around + 1]
    # Thresholding the distance transform dilates the mask with a disc, in a time that does not
    # depend on the radius.
    dilated = distance_transform_edt(~part) <= reach
    hull = _convex_hull(dilated)
    rows, columns = np.flatnonzero(hull.any(axis=1)), np.flatnonzero(hull.any(axis=0))
    down, across = (
        _resized(places, ratio) for places, ratio in zip((rows, columns), ratios, strict=True)
    )
    small = hull[np.ix_(down, across)]
    top += rows[0] + (len(rows) - len(down)) // 2
    left += columns[0] + (len(columns) - len(across)) // 2
    hidden[top : top + small.shape[0], left : left + small.shape[1]] |= small


def _convex_hull(mask: BoolArray) -> BoolArray:
    """Fill the convex hull of a mask: the hull of the midpoints of its pixels' sides."""
    cv2 = opencv()
    rows = np.flatnonzero(mask.any(axis=1))
    # The first and the last pixels of the rows span the hull of all pixels.
    first, last = mask[rows].argmax(axis=1), mask.shape[1] - 1 - mask[rows, ::-1].argmax(axis=1)
    pixels = np.concatenate([np.stack([column, rows], axis=1) for column in (first, last)])
    # In units of half a pixel, all coordinates are integers, and OpenCV's hull is exact.
    sides = np.concatenate([2 * pixels + side for side in ((1, 0), (-1, 0), (0, 1), (0, -1))])
    corners = cv2.convexHull(sides.astype(np.int32))[:, 0].astype(np.int64)
    # cv2.fillConvexPoly would also fill pixels whose centres are just outside the hull.
    row, column = np.ogrid[: mask.shape[0], : mask.shape[1]]
    inside = np.ones(mask.shape, dtype=bool)
    for (x, y), (dx, dy) in zip(corners, np.roll(corners, -1, axis=0) - corners, strict=True):
        inside &= dx * (2 * row - y) >= dy * (2 * column - x)
    return inside


def _resized(places: npt.NDArray[np.intp], ratio: float) -> npt.NDArray[np.intp]:
    """Return evenly spaced positions on a side that is shortened by a ratio (nearest neighbour)."""
    length = max(round(ratio * len(places)), 1)
    return places[((np.arange(length) + 0.5) * len(places) / length).astype(np.intp)]
