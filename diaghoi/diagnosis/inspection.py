"""Inspect the content of a file, and find its problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.groups import split_classes
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.box_bias import box_bias
from diaghoi.diagnosis.omissions import image_warnings, role_box_warnings, split_warnings
from diaghoi.diagnosis.plausibility import (
    constant_score_warnings,
    flat_score_warnings,
    one_based_warnings,
    overlap_doubts,
)
from diaghoi.exceptions import InputError, number_of, some_of

# Name of the pair count if a file does not list pairs.
PAIRS_OF_TRIPLETS = "pairs of the triplets"
# Names of the counts in diaghoi.data.scenes.UNREAD, for answers without scores.
_UNREAD = ("unreadable answers", "unreadable triplets", "triplets with unknown names")
# Number of images whose boxes are compared with annotated boxes; more images would cost memory
# without adding information.
IMAGES = 2000
# Files read on demand that have more rows than this are sampled, in runs of consecutive images.
ROWS, RUN = 2_000_000, 100


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """Content of a file, and its problems.

    Parameters
    ----------
    facts : dict
        Counts and ranges, by name.
    warnings : tuple of str
        Problems, one sentence each.
    """

    facts: dict[str, Any]
    warnings: tuple[str, ...]


def inspect(scenes: Scenes, annotations: Scenes | None = None, *, whole: bool = True) -> Inspection:
    """Inspect predictions or annotations.

    Parameters
    ----------
    scenes : Scenes
        The scenes to inspect.
    annotations : Scenes, optional
        Annotations against which to check the predictions.
    whole : bool
        Whether the scenes contain all images of the file; if so, all other annotated images are
        missing from the file.
    """
    warnings = [
        *_box_warnings(scenes),
        *_class_warnings(scenes),
        *_score_warnings(scenes),
        *split_warnings(scenes.vocabulary, scenes.names),
    ]
    if annotations is not None:
        warnings += _joint_warnings(scenes, annotations, whole)
    return Inspection(facts=_facts(scenes), warnings=tuple(warnings))


def sampled(source: SceneSource) -> tuple[Scenes, dict[str, int] | None]:
    """Load the images to inspect: all of them, or a sample spread over a large file.

    Returns
    -------
    scenes : Scenes
        The images.
    whole : dict or None
        Numbers of ``images``, ``boxes`` and ``triplets`` in the file, if only a sample is loaded.
    """
    rows = {} if isinstance(source, Scenes) else {n: int(b[-1]) for n, b in source.bounds.items()}
    if sum(rows.values()) <= ROWS or len(source) <= IMAGES:
        return source.load(), None
    starts = np.linspace(0, len(source) - RUN, IMAGES // RUN).astype(np.int64)
    scenes = source.take(np.unique(starts[:, None] + np.arange(RUN)))
    return scenes, {"images": len(source), "boxes": rows["box"], "triplets": rows["triplet"]}


def understood(vocabulary: Vocabulary) -> dict[str, Any]:
    """Return the parsed description of a data set as plain Python values.

    ``object_numbers``, ``verb_numbers`` and ``boxes`` are None if each format has its own
    conventions.
    """
    files, no_interaction = vocabulary.conventions, vocabulary.no_interaction
    splits = split_classes(vocabulary.protocol, vocabulary)
    return {
        "name": vocabulary.name,
        "objects": len(vocabulary.objects),
        "verbs": len(vocabulary.verbs),
        "classes": len(vocabulary),
        "class_names": [vocabulary.class_name(hoi) for hoi in range(len(vocabulary))],
        "person": vocabulary.objects[vocabulary.person],
        "no_interaction": None if no_interaction < 0 else vocabulary.verbs[no_interaction],
        "object_numbers": files and dict(zip(files.objects, vocabulary.objects, strict=True)),
        "verb_numbers": files and dict(zip(files.verbs, vocabulary.verbs, strict=True)),
        "boxes": files and {"origin": files.origin, "layout": files.boxes},
        "splits": {name: int(split.sum()) for name, split in splits.items() if name != "full"},
        "protocol": {"name": vocabulary.protocol.name, "signature": vocabulary.protocol.signature},
    }


def _facts(scenes: Scenes) -> dict[str, Any]:
    only_pairs = scenes.pair_score is not None and not len(scenes.triplet_pair)
    rows, image = ("pairs", scenes.pair_image) if only_pairs else ("triplets", scenes.triplet_image)
    listed = "pairs" if scenes.pair_score is not None else PAIRS_OF_TRIPLETS
    facts: dict[str, Any] = {
        "images": len(scenes),
        f"images without {rows}": len(scenes) - len(np.unique(image)),
        "boxes": len(scenes.box_label),
        listed: int(scenes.listed.sum()),
    }
    if not only_pairs:
        facts["triplets"] = len(scenes.triplet_pair)
        idle = scenes.triplet_verb == scenes.vocabulary.no_interaction
        if idle.any():  # reports leave out `no_interaction` by default
            facts["triplets of no_interaction"] = int(idle.sum())
        facts["HOI classes"] = len(np.unique(scenes.triplet_class[scenes.triplet_class >= 0]))
    if scenes.unread is not None:
        facts |= dict(zip(_UNREAD, scenes.unread.sum(axis=0).tolist(), strict=True))
    for name, score in (
        ("triplet score", scenes.triplet_score if scenes.ranked else None),
        ("action score", scenes.triplet_action_score),
        ("pair score", None if scenes.pair_score is None else scenes.pair_score[scenes.listed]),
    ):
        if score is not None and len(score):
            facts[name] = [float(score.min()), float(score.max())]
    return facts


def _where(scenes: Scenes, images: IntArray) -> str:
    named = [scenes.names[i] or f"number {i}" for i in np.unique(images).tolist()]
    return f"images {some_of(named)}"


def _box_warnings(scenes: Scenes) -> list[str]:
    warnings = one_based_warnings(scenes)
    if scenes.sizes is not None:
        warnings += _outside(scenes, scenes.sizes)
    return warnings


def _outside(scenes: Scenes, sizes: IntArray) -> list[str]:
    outside = scenes.outside(sizes)
    if not outside.any():
        return []
    first = int(np.argmax(outside))
    width, height = sizes[scenes.box_image[first]].tolist()
    box = ", ".join(f"{value:g}" for value in scenes.box_xyxy[first].round(1).tolist())
    return [
        f"{int(outside.sum())} of {len(outside)} boxes extend past their image; the first is "
        f"[{box}] in a {width} x {height} image; are they in pixels of the original image? "
        f"({_where(scenes, scenes.box_image[outside])})"
    ]


def _class_warnings(scenes: Scenes) -> list[str]:
    warnings = []
    if not len(scenes.triplet_pair) and scenes.pair_score is None:
        warnings.append("there are no triplets")
    vocabulary = scenes.vocabulary
    unknown = scenes.triplet_class < 0
    if unknown.any():
        first = int(np.argmax(unknown))
        label = int(scenes.pair_label[scenes.triplet_pair[first]])
        named = vocabulary.objects[label] if label >= 0 else "nothing"
        warnings.append(
            f"{int(unknown.sum())} of {len(unknown)} triplets have an object and a verb that form "
            f"no HOI class; the first is {vocabulary.verbs[scenes.triplet_verb[first]]} {named}; "
            "they are not evaluated"
            + (
                "; if many triplets form no class, objects may be numbered differently (--read "
                "objects=NUMBERING)"
                if scenes.ranked
                else ""
            )
        )
    subject = scenes.box_label[scenes.pair_human]
    meets = (
        "a predicted pair is right only if the annotations have the same subject"
        if scenes.scored
        else "only predictions with the same subject find the pairs"
    )
    if (subject != vocabulary.person).any():
        other = subject[subject != vocabulary.person]
        warnings.append(
            f"the subject of {len(other)} of {len(subject)} pairs is not a person; the first is a "
            f"{vocabulary.objects[other[0]]}; {meets}"
        )
    key = scenes.triplet_pair.astype(np.int64) * len(vocabulary.verbs) + scenes.triplet_verb
    repeated = len(key) - len(np.unique(key))
    if repeated:
        warnings.append(
            f"{repeated} triplets duplicate another triplet with the same boxes and verb"
        )
    return warnings


def _score_warnings(scenes: Scenes) -> list[str]:
    warnings = []
    for name, score in (
        ("triplet", scenes.triplet_score),
        ("action", scenes.triplet_action_score),
    ):
        if score is None or not len(score):
            continue
        outside = (score < 0) | (score > 1)
        if outside.any():
            warnings.append(
                f"{int(outside.sum())} {name} scores lie outside [0, 1], for instance "
                f"{score[outside][0]:g}; this affects negatives and calibration, but not ranking"
            )
    warnings += constant_score_warnings(scenes) or flat_score_warnings(scenes)
    if scenes.scored:
        warnings += role_box_warnings(scenes)
    if scenes.ranked and scenes.triplet_action_score is None:
        warnings.append("no action scores: negatives and actions will be undefined")
    if scenes.unread is not None:
        warnings.append("no scores: mAP has only bounds; negatives and actions will be undefined")
    return warnings


def _joint_warnings(scenes: Scenes, annotations: Scenes, whole: bool) -> list[str]:
    warnings = image_warnings(annotations, scenes) if whole else []
    try:
        annotations, scenes, joined = join(annotations, scenes)
    except InputError as error:
        return [str(error)]
    empty, meant = np.ones(len(scenes), dtype=bool), np.zeros(len(scenes), dtype=bool)
    hoi = annotations.triplet_class
    real = (hoi >= 0) & annotations.vocabulary.interacting[hoi]
    empty[scenes.triplet_image], meant[annotations.triplet_image[real]] = False, True
    for noun, what, images in (
        ("annotated image", "not in this file", joined.annotated & ~joined.predicted & whole),
        (
            "image",
            "of this file without a triplet, although triplets are annotated there",
            joined.predicted & empty & meant & bool(len(scenes.triplet_image)),
        ),
        ("image", "of this file without annotations", joined.predicted & ~joined.annotated),
    ):
        if images.any():
            named = some_of(scenes.names[images].tolist())
            warnings.append(f"{number_of(noun, int(images.sum()))} {what}: {named}")
    if scenes.sizes is None and annotations.sizes is not None:
        warnings += _outside(scenes, annotations.sizes)
    # Sample evenly over the file, because its first images may all be of one kind.
    some = np.unique(np.linspace(0, len(scenes) - 1, min(IMAGES, len(scenes))).astype(np.int64))
    both = annotations.take(some), scenes.take(some)
    doubts = [doubt.text for doubt in overlap_doubts(*both)]
    return warnings + (doubts or box_bias(*both))
