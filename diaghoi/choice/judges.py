"""Judges, which decide whether candidates are consistent with a picture.

In section 2.2 of the CrossHOI-Bench paper, all judges are language models that see the picture
(:mod:`diaghoi.choice.model_judge`). A judge can also be a file of verdicts, given by people or by a
model that was asked elsewhere, or a rule that ignores the picture.

The file is CSV with a header, or JSON lines, one verdict each::

    image,person,verb,object,verdict
    HICO_test2015_00000001.jpg,0,ride,bicycle,negative

``class`` (``ride bicycle``, or the text of an option) may replace ``verb`` and ``object``. The
person is a number, counted from 0 from the left as in a benchmark's ``verdicts.csv``, or a box x1,
y1, x2, y2 (space-separated in CSV) as in the annotations. A verdict without a person applies to the
image, and to each of its people without a verdict of their own. An empty cell is no verdict, and
other columns are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from diaghoi.choice.candidates import ImageTargets, Target, Verdicts
from diaghoi.choice.classes import (
    ARTICLE,
    NO_INTERACTION,
    Interaction,
    interactions_of,
    normalised,
    parse_option,
    time_sensitive_classes,
)
from diaghoi.choice.people import SAME_PERSON
from diaghoi.choice.questions import entry, json_rows, load_if_json, origin_of
from diaghoi.data.boxes import box_iou
from diaghoi.data.files import as_number, read_rows
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import shown
from diaghoi.language.asking import Endpoint, read_endpoints
from diaghoi.semantic.tables.similarity import Similarity, fit, read_similarity

THRESHOLD = 0.5
VERDICTS: dict[str, bool | None] = {
    **dict.fromkeys(("positive", "consistent", "yes", "true", "1"), True),
    **dict.fromkeys(("negative", "inconsistent", "no", "false", "0"), False),
    "": None,
}
TIME_SENSITIVE, SIMILARITY, OPTION = "time-sensitive", "similarity:", "--judge"


class Judge(Protocol):
    """A judge, which separates consistent from inconsistent candidates."""

    @property
    def name(self) -> str:
        """Name in tables and files."""

    @property
    def sees_pictures(self) -> bool:
        """Whether the judge sees the picture, rather than only words."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the benchmark, complete after judging."""

    def judge(self, asked: Sequence[Target]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RuleJudge:
    """Judge that applies a rule.

    The rule is a function of target and candidate, which returns None if it cannot decide.
    """

    name: str
    rule: Callable[[Target, Interaction], bool | None]
    sees_pictures: bool = False
    notes: tuple[str, ...] = ()

    def judge(self, asked: Sequence[Target]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target."""
        return [
            {
                each: verdict
                for each in target.candidates
                if (verdict := self.rule(target, each)) is not None
            }
            for target in asked
        ]


def time_sensitive_judge() -> RuleJudge:
    """Create a judge that calls all 68 classes of appendix A consistent with any picture.

    Counterparts of annotated classes are never candidates. This judge also rules out classes whose
    counterpart is not annotated or not a class, such as ``open refrigerator``.
    """
    listed = time_sensitive_classes()
    return RuleJudge(name=TIME_SENSITIVE, rule=lambda target, each: normalised(each) in listed)


def similarity_judge(
    table: Similarity, image_targets: Iterable[ImageTargets], threshold: float = THRESHOLD
) -> RuleJudge:
    """Create a judge that calls near synonyms of annotated actions consistent.

    The table compares verbs, and its entries are matched to the verbs of the images. Two actions on
    the same object count as possibly the same if their similarity, in [0, 1], reaches the
    threshold.
    """
    targets = [each for image in image_targets for each in (image.scene, *image.people)]
    named = {each.verb for one in targets for each in (*one.candidates, *one.annotated)}
    verbs = sorted(named - {NO_INTERACTION})
    fitted = fit(table, [verb.replace("_", " ") for verb in verbs])
    missing = [verb.replace(" ", "_") for verb in fitted.missing]
    row = {verb: number for number, verb in enumerate(verbs)}
    notes = table.notes
    if missing:
        notes += (
            f"{table.source or table.name}: lacks {len(missing)} of {len(verbs)} verbs, which "
            f"therefore never become negatives: {some_of(missing)}",
        )

    def near(target: Target, candidate: Interaction) -> bool | None:
        """Check whether a candidate is near an annotated interaction; "no interaction" never is."""
        if candidate.verb in missing:
            return None
        done = [
            row[each.verb]
            for each in target.annotated
            if each.object == candidate.object and each.verb != NO_INTERACTION
        ]
        if candidate.verb == NO_INTERACTION or not done:
            return False
        verb = np.full(len(done), row[candidate.verb], dtype=np.int64)
        values = fitted.similarity.at(verb, np.array(done, dtype=np.int64))
        return bool(values.max() >= threshold)

    return RuleJudge(name=f"similarity:{table.name}", rule=near, notes=notes)


def file_judge(
    path: Path, image_targets: Sequence[ImageTargets], vocabulary: Vocabulary
) -> RuleJudge:
    """Create a judge that returns the verdicts in a file, and no verdict on any other candidate.

    The parameters are as in :func:`read_judges`.

    Raises
    ------
    InputError
        If the file contains no verdicts, a row cannot be interpreted, or two rows contradict each
        other; the message names file and line.
    """
    annotated = {each for image in image_targets for each in image.scene.annotated}
    classes = {
        _plain(each): normalised(each)
        for each in (*interactions_of(vocabulary), *sorted(annotated))
    }
    verdicts: dict[tuple[str, int | None, Interaction], tuple[bool, str]] = {}
    targets = {each.image: each for each in image_targets}
    others: dict[str, None] = {}
    for where, row in _rows(path):
        image, verdict = str(entry(where, row, "image")), _verdict(where, row)
        if image not in targets:
            others[image] = None
        elif verdict is not None:
            person = _person(where, targets[image], row, vocabulary)
            name = _class(where, row, classes)
            place = where.removeprefix(f"{path}: ")
            before, first = verdicts.setdefault((image, person, name), (verdict, place))
            if before != verdict:
                raise InputError(
                    f"{where}: contradicts {first} about {name.name!r}; keep one of them"
                )
    if not verdicts:
        raise InputError(
            f"{path}: has no verdict on any of the {len(targets)} images that are asked about; "
            f"the first image asked about is {some_of(list(targets), 1)}, and the first in the "
            f"file is {some_of(list(others), 1) or 'none'}"
        )
    note = f"{path}: verdicts on images outside the questions ({len(others)}): {some_of([*others])}"

    def stored(target: Target, candidate: Interaction) -> bool | None:
        name = normalised(candidate)
        # A verdict on the person takes precedence over a verdict on the image.
        on_image = verdicts.get((target.image, None, name), (None, ""))
        return verdicts.get((target.image, target.person, name), on_image)[0]

    notes = (note,) if others else ()
    return RuleJudge(name=str(path), rule=stored, sees_pictures=True, notes=notes)


def _class(where: str, row: Mapping[str, Any], classes: Mapping[str, Interaction]) -> Interaction:
    """Find the normalised interaction of a row."""
    if row.get("class") in (None, ""):
        named = Interaction(*(str(entry(where, row, key)) for key in ("verb", "object")))
    else:
        text = str(row["class"])
        named = parse_option(text) if ARTICLE in text else Interaction(text, "")
    name = _plain(named)
    if name not in classes:
        raise InputError(
            f"{where}: {name!r} is not a class of the data set{close_matches(name, classes)}; give "
            "verb and object, or class, by name"
        )
    return classes[name]


def _person(
    where: str, image: ImageTargets, row: Mapping[str, Any], vocabulary: Vocabulary
) -> int | None:
    """Find the person of a row by number or box."""
    value = row.get("person")
    if value in (None, ""):
        return None
    with suppress(TypeError, ValueError, OverflowError):
        numbers = [
            float(part) for part in (value if isinstance(value, list) else str(value).split())
        ]
        if len(numbers) == 1 and numbers[0] in range(len(image.people)):
            return int(numbers[0])
        if len(numbers) == 4 and all(map(math.isfinite, numbers)):
            boxes = np.array([each.box for each in image.people], dtype=np.float64)
            box = np.broadcast_to(np.array(numbers) - origin_of(vocabulary.name), boxes.shape)
            overlap = box_iou(boxes, box, vocabulary.protocol.margin)
            if overlap.max() >= SAME_PERSON:
                return int(overlap.argmax())
    raise InputError(
        f"{where}: {shown(value)} is none of the {len(image.people)} annotated people of "
        f"{image.image}; give a number from 0, from the left, or the box x1 y1 x2 y2"
    )


@lru_cache(maxsize=1 << 16)
def _plain(interaction: Interaction) -> str:
    return " ".join(interaction.name.lower().split())


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows, each with its location."""
    content = load_if_json(path)
    if content is not None:
        yield from json_rows(content)
        return
    (_, heads), *rows = read_rows(path, "verdicts as CSV or JSON lines") or [(1, [])]
    for line, cells in rows:
        yield f"{path}: line {line}", dict(zip_longest(heads, cells))


def _verdict(where: str, row: Mapping[str, Any]) -> bool | None:
    """Read a verdict; None if its cell is empty."""
    value = entry(where, row, "verdict", empty=True)
    word = "" if value is None else str(value).strip().lower()
    if word not in VERDICTS:
        raise InputError(
            f"{where}: verdict {shown(value)}{close_matches(word, VERDICTS)}: give positive or "
            "negative"
        )
    return VERDICTS[word]


def read_models(texts: Sequence[str]) -> dict[str, Endpoint]:
    """Read the judges that are models, ``URL,MODEL`` or ``URL,MODEL,VARIABLE``."""
    models = [text for text in texts if "://" in text.split(",")[0]]
    return dict(zip(models, read_endpoints(models, OPTION), strict=True))


def judge_files(texts: Sequence[str], models: Collection[str]) -> list[Path]:
    """List the judges that are files, leaving out models."""
    return [
        _similarity(text)[0] if text.startswith(SIMILARITY) else Path(text)
        for text in texts
        if text != TIME_SENSITIVE and text not in models
    ]


def read_judges(
    texts: Sequence[str],
    image_targets: Sequence[ImageTargets],
    vocabulary: Vocabulary,
    models: Mapping[str, Judge],
) -> list[Judge]:
    """Create judges from their names on the command line.

    Parameters
    ----------
    texts : sequence of str
        ``time-sensitive``, ``similarity:TABLE`` or ``similarity:TABLE,THRESHOLD``, the URL of a
        model, or a file of verdicts.
    image_targets, vocabulary : sequence of ImageTargets, Vocabulary
        The images to judge, and the data set.
    models : mapping of str to Judge
        The judges that are models, keyed by their text on the command line.

    Raises
    ------
    InputError
        If a name is unknown, a judge is named twice, or a file cannot be used.
    """
    twice = next((text for text in texts if list(texts).count(text) > 1), None)
    if twice is not None:
        raise InputError(f"{OPTION} {twice}: is named twice; judges must be independent")
    judges: list[Judge] = []
    for text in texts:
        if text == TIME_SENSITIVE:
            judges.append(time_sensitive_judge())
        elif text.startswith(SIMILARITY):
            path, threshold = _similarity(text)
            judges.append(similarity_judge(read_similarity(path), image_targets, threshold))
        elif text in models:
            judges.append(models[text])
        elif Path(text).exists():
            judges.append(file_judge(Path(text), image_targets, vocabulary))
        else:
            raise InputError(
                f"{OPTION} {text!r:.100}: there is no such file"
                f"{close_matches(text, (TIME_SENSITIVE,))}; give a file of verdicts, URL,MODEL "
                f"of a model, {SIMILARITY}TABLE or {TIME_SENSITIVE}"
            )
    return judges


def _similarity(text: str) -> tuple[Path, float]:
    """Read ``similarity:TABLE`` or ``similarity:TABLE,THRESHOLD``."""
    # A file name may contain commas, so only a number after the last comma is a threshold.
    name, comma, number = text.removeprefix(SIMILARITY).rpartition(",")
    threshold = as_number(number) if comma else None
    if threshold is None:
        return Path(text.removeprefix(SIMILARITY)), THRESHOLD
    if not 0 < threshold <= 1:
        raise InputError(f"{OPTION} {text!r:.100}: the threshold must be above 0 and at most 1")
    return Path(name), threshold
