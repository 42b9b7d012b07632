"""The results of iCAN, TIN, DRG and VCL on HICO-DET: pairs of an image, with scores of all classes.

A pickle (or JSON) of ``{image number: [[human box, object box, object class, scores, human score,
object score, ...], ...]}``. The number of an image is that at the end of its file name. Boxes are
xyxy counted from zero. Object classes count from one in COCO order (1 person, 2 bicycle), as all
four code bases write them, or in HICO's alphabetical order (:mod:`diaghoi.formats.ican.objects`).
Scores are of the 600 HOI classes (iCAN, TIN), of which those of the object count, or of the 117
verbs (DRG); what VCL writes instead is in :mod:`diaghoi.formats.ican.scores`.

A triplet's score is that of its class times those of both boxes; the score of its class alone is
that of its action. The best 100 triplets of each image are kept.

What the code bases do with this file afterwards is not repeated: boxes rounded to whole pixels and
the 19,999 best of an object (``Generate_HICO_detection``); in TIN, box scores bent by a sigmoid,
and pairs suppressed by the two binary scores that follow the six values of a pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diaghoi.data.scenes import Scenes
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import EXACT, check_boxes, check_scores
from diaghoi.formats.content import Content
from diaghoi.formats.dense_best import TOP, best_triplets, cut_note
from diaghoi.formats.flat import PairTables
from diaghoi.formats.ican.objects import check_objects, find_objects
from diaghoi.formats.ican.pairs import VALUES, ListedPairs, is_list, size
from diaghoi.formats.ican.scores import PairScores

_BOX = 4


def _recognise(content: Content) -> Kind | None:
    value = content.value
    if not content.plain or not isinstance(value, dict):
        return None
    if not all(map(_is_number, value)):
        return None
    first: Any = next((rows[0] for rows in value.values() if is_list(rows) and rows), None)
    if not is_list(first) or len(first) < len(VALUES):
        return None
    return "predictions" if all(size(box) == _BOX for box in first[:2]) else None


def _is_number(key: Any) -> bool:
    """Whether a key is a whole number, also of NumPy, or as JSON writes it."""
    if isinstance(key, str):
        return key.isascii() and key.isdigit() and len(key) <= len(str(EXACT))
    if isinstance(key, bool) or not isinstance(key, int | np.integer):
        return False
    return 0 <= int(key) <= EXACT


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    pairs = ListedPairs.of(content)
    vocabulary, rows = options.vocabulary, pairs.rows
    human, object_box = (
        check_boxes(rows, options.corners(pairs.boxes(name)), name, origin=options.origin_or(0))
        for name in ("human box", "object box")
    )
    human_score, object_score = (
        check_scores(rows, pairs.numbers(name), name) for name in ("human score", "object score")
    )
    with np.errstate(over="ignore"):  # refused with the scores of the triplets
        both = human_score * object_score
    scores = PairScores.of(pairs, vocabulary)
    numbers = pairs.integers("object class")
    order, notes = find_objects(
        content.file, numbers, scores.clearest(both), vocabulary, given=options.objects
    )
    label = check_objects(rows, numbers, order, "object class")
    tables = PairTables.of(
        vocabulary,
        image=rows.image,
        human=human,
        object_box=object_box,
        category=label,
        box_scores=(human_score, object_score),
    )
    # The official evaluators use 100 triplets per image, even if the protocol keeps fewer.
    top = max(options.top or TOP, TOP)
    best = best_triplets(rows, scores.by_verb(both, label), label, vocabulary, top)
    return Scenes(
        vocabulary=vocabulary,
        names=np.array(rows.names, dtype=np.str_),
        box_image=tables.box_image,
        box_xyxy=tables.box_xyxy,
        box_label=tables.box_label,
        box_score=tables.box_score,
        pair_human=tables.human,
        pair_object=tables.object,
        pair_score=best.pair_score,
        triplet_pair=best.pair,
        triplet_verb=best.verb,
        triplet_score=best.score,
        triplet_action_score=best.action_score,
        top=top,
        source=content.file,
        notes=(
            *scores.notes,
            *notes,
            cut_note(f"{content.file}: scores of all classes", top, options.top),
        ),
    )


FORMAT = Format(
    name="ican",
    title="pairs with scores of all classes (iCAN, TIN, DRG, VCL)",
    kinds=("predictions",),
    keys=(),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "hico-det",
    single=True,
)
