"""Describe a robustness study: several detectors on clean and on corrupted pictures.

A study is written down in a TOML file::

    annotations = "instances_test2015.json"  # paths start from this file
    protocol = "hico-det"                    # optional, as dataset, instances and ids
    corruptions = ["motion_blur", "EI"]      # optional: names, abbreviations or groups [all]
    severities = [1, 3, 5]                   # optional [1 to 5]

    [[model]]
    label = "QPIC"
    clean = "qpic/clean.npz"                       # predictions on the clean pictures
    files = "qpic/{corruption}_{severity}.npz"     # on the others: motion_blur_1.npz and so on
    stage = "one"                                  # optional: one or two
    backbone = "ResNet-50"                         # optional, as venue, detector, classifier
    clean_pairs = "qpic/clean_pairs.pkl"           # optional, both or none
    pairs = "qpic/{corruption}_{severity}_pairs.pkl"

A file is one of predictions, or the result of ``diaghoi report --json``; a study of such results
needs no annotations. Files of predictions may lie anywhere that fsspec can read
(``s3://bucket/file.npz``), where it is installed. ``verb_similarity`` and ``object_similarity``
name tables by which soft mAP and mF1 are computed as well (see :mod:`diaghoi.semantic`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

from diaghoi.comparison.study import (
    SIMILARITY,
    StudyData,
    StudyModel,
    Texts,
    described,
    read_study_file,
)
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Reading
from diaghoi.formats.locations import below, is_remote
from diaghoi.formats.toml import text_of
from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES, find

FIELDS = ("corruption", "severity")
FEW = 3  # corruptions that are left out and named


class Condition(NamedTuple):
    """A corruption and its severity.

    Parameters
    ----------
    corruption : str
        Name in the registry; empty for clean pictures.
    severity : int
        1 to 5; 0 for clean pictures.
    """

    corruption: str
    severity: int

    @property
    def title(self) -> str:
        """The condition in words."""
        if not self.corruption:
            return "clean"
        return f"{CORRUPTIONS[self.corruption].label} {self.severity}"


CLEAN = Condition("", 0)
CONDITIONS = tuple(Condition(name, level) for name in CORRUPTIONS for level in SEVERITIES)


@dataclass(frozen=True, kw_only=True)
class RobustModel(StudyModel):
    """One detector of a study, with its predictions under all conditions.

    Parameters
    ----------
    clean, files : str
        Predictions on clean pictures, and the pattern of all others.
    clean_pairs, pairs : str or None
        The pairs that the detector lists apart, likewise.
    """

    clean: str
    files: str
    clean_pairs: str | None = None
    pairs: str | None = None


class Run(NamedTuple):
    """The files of one detector under one condition.

    Parameters
    ----------
    label : str
        The detector.
    condition : Condition
        The pictures.
    file : str
        Its predictions.
    pairs : str or None
        Its pairs, where it lists them apart.
    """

    label: str
    condition: Condition
    file: str
    pairs: str | None

    @property
    def place(self) -> tuple[str, Condition]:
        """The detector and its pictures."""
        return self.label, self.condition

    @property
    def title(self) -> str:
        """The detector and its pictures in words."""
        return f"{self.label}, {self.condition.title}"

    @property
    def files(self) -> tuple[str, ...]:
        """All files of the run."""
        return (self.file,) if self.pairs is None else (self.file, self.pairs)


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The conditions that MRI and CRI of a study are over: all of the paper, or a part of them."""

    corruptions: tuple[str, ...]
    severities: tuple[int, ...]

    @property
    def complete(self) -> bool:
        """Whether these are all corruptions in all severities, as in the paper."""
        every = len(CORRUPTIONS), len(SEVERITIES)
        return (len(self.corruptions), len(self.severities)) == every

    @property
    def title(self) -> str:
        """The head of columns of MRI and CRI."""
        if self.complete:
            return "All corruptions"
        if len(self.corruptions) == len(CORRUPTIONS):
            return f"{len(self.severities)} of {len(SEVERITIES)} severities"
        return f"{len(self.corruptions)} of {len(CORRUPTIONS)} corruptions"

    @property
    def words(self) -> str:
        """All of the conditions in words."""
        return f"{self.named_corruptions}, {self.named_severities}"

    @property
    def remark(self) -> str:
        """A sentence on what a part cannot be compared with; empty for all conditions."""
        if self.complete:
            return ""
        whole = f"all {len(CORRUPTIONS)} corruptions in {len(SEVERITIES)} severities"
        return f"Over {self.words}: not comparable with MRI and CRI over {whole}."

    @property
    def named_corruptions(self) -> str:
        """The corruptions in words."""
        left = [name for name in CORRUPTIONS if name not in self.corruptions]
        if not left:
            return f"all {len(CORRUPTIONS)} corruptions"
        named = f"all but {_names(left)}" if len(left) <= FEW else _names(self.corruptions)
        return f"{len(self.corruptions)} of {len(CORRUPTIONS)} corruptions ({named})"

    @property
    def named_severities(self) -> str:
        """The severities in words."""
        if len(self.severities) == len(SEVERITIES):
            return f"all {len(SEVERITIES)} severities"
        *first, last = map(str, self.severities)
        return f"severities {', '.join(first)} and {last}" if first else f"severity {last}"

    @property
    def over_severities(self) -> str:
        """Over which severities a mean is, or at which single one a score."""
        return f"{'at' if len(self.severities) == 1 else 'over'} {self.named_severities}"

    def to_dict(self) -> dict[str, bool | str]:
        """All values as plain Python."""
        return {
            "complete": self.complete,
            "corruptions": self.named_corruptions,
            "severities": self.named_severities,
        }


def _names(corruptions: Iterable[str]) -> str:
    """List corruptions in a sentence; only acronyms and what is named after a person are large."""
    labels = [CORRUPTIONS[name].label for name in corruptions]
    large = [label[1].isupper() or label.startswith("Gauss") for label in labels]
    pairs = zip(labels, large, strict=True)
    return some_of([label if keep else label[0].lower() + label[1:] for label, keep in pairs])


@dataclass(frozen=True, kw_only=True)
class RobustnessStudy(StudyData):
    """Some detectors, and the conditions they are evaluated under.

    Parameters
    ----------
    models : tuple of RobustModel
        In the order in which they are shown.
    corruptions : tuple of str
        Names, in the order of the registry.
    severities : tuple of int
        In ascending order.
    similarity : tuple of pathlib.Path or None
        Tables of verbs and of objects for soft mAP and mF1.
    reading : Reading
        How predictions are read, where their content does not show it.
    """

    models: tuple[RobustModel, ...]
    corruptions: tuple[str, ...] = tuple(CORRUPTIONS)
    severities: tuple[int, ...] = SEVERITIES
    similarity: tuple[Path, Path] | None = None
    reading: Reading = field(default_factory=Reading)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Clean pictures, and every corruption at every severity."""
        return (CLEAN, *(Condition(c, s) for c in self.corruptions for s in self.severities))

    def runs(self) -> Iterator[Run]:
        """List the files of all detectors under all conditions, whether they exist or not."""
        for model in self.models:
            yield Run(model.label, CLEAN, model.clean, model.clean_pairs)
            for condition in self.conditions[1:]:
                pairs = None if model.pairs is None else _filled(model.pairs, condition)
                yield Run(model.label, condition, _filled(model.files, condition), pairs)


def read_robustness_study(path: str | PathLike[str]) -> RobustnessStudy:
    """Read the description of a robustness study.

    Parameters
    ----------
    path : path
        A TOML file as shown at the top of this module.

    Raises
    ------
    InputError
        As :func:`diaghoi.comparison.study.read_study`.
    """
    content, fields = read_study_file(
        path,
        _model,
        keys=(*SIMILARITY, "corruptions", "severities"),
        model_keys=("clean", "files", "clean_pairs", "pairs"),
        needed={
            "label": "name the model",
            "clean": "name the predictions on clean pictures",
            "files": 'give a pattern like "preds/{corruption}_{severity}.npz"',
        },
    )
    path = Path(path)
    return RobustnessStudy(
        corruptions=_corruptions(path, content.get("corruptions")),
        severities=_severities(path, content.get("severities")),
        similarity=_similarity(path, content),
        **fields,
    )


def _model(where: str, folder: Path, texts: Texts) -> RobustModel:
    for key in ("files", "pairs"):
        if texts[key] is not None:
            _check_pattern(f"{where}: {key}", str(texts[key]))
    if (texts["clean_pairs"] is None) != (texts["pairs"] is None):
        raise InputError(
            f"{where}: clean_pairs and pairs: give both or none, or clean and corrupted pictures "
            "would be compared by different lists"
        )
    # Braces of the folder are not fields.
    quoted = str(folder).replace("{", "{{").replace("}", "}}")
    start = {"clean": str(folder), "clean_pairs": str(folder), "files": quoted, "pairs": quoted}
    paths: dict[str, Any] = {
        key: None if (name := texts[key]) is None else below(start[key], name) for key in start
    }
    return RobustModel(label=str(texts["label"]), **paths, **described(texts))


def _check_pattern(where: str, pattern: str) -> None:
    """Refuse a pattern that does not tell the conditions apart."""
    try:
        fields = [name for _, name, _, _ in Formatter().parse(pattern) if name is not None]
    except ValueError as error:
        raise InputError(f"{where}: '{pattern}' is no pattern ({error})") from None
    for name in fields:
        if name not in FIELDS:
            raise InputError(
                f"{where}: {{{name}}} stands for nothing{close_matches(name, FIELDS)}; "
                "give {corruption} and {severity}"
            )
    missing = [f"{{{name}}}" for name in FIELDS if name not in fields]
    if missing:
        raise InputError(
            f"{where}: '{pattern}' lacks {' and '.join(missing)}, so that several "
            "conditions would share a file"
        )
    plain = "write {corruption} and {severity} without more"
    try:
        files = {_filled(pattern, condition) for condition in CONDITIONS}
    except LookupError:
        raise InputError(f"{where}: '{pattern}' has fields within fields; {plain}") from None
    except ValueError as error:
        raise InputError(f"{where}: '{pattern}' is no pattern ({error})") from None
    if len(files) < len(CONDITIONS):
        raise InputError(f"{where}: '{pattern}' gives several conditions the same file; {plain}")


def _filled(pattern: str, condition: Condition) -> str:
    return pattern.format(corruption=condition.corruption, severity=condition.severity)


def _corruptions(path: Path, given: Any) -> tuple[str, ...]:
    if given is None:
        return tuple(CORRUPTIONS)
    if not isinstance(given, list) or not given or not all(isinstance(n, str) for n in given):
        raise InputError(f"{path}: corruptions: is {given!r:.60}; give a list of names")
    try:
        return tuple(each.name for each in find(given))
    except InputError as error:
        raise InputError(f"{path}: corruptions: {error}") from None


def _severities(path: Path, given: Any) -> tuple[int, ...]:
    if given is None:
        return SEVERITIES
    whole = isinstance(given, list) and all(type(each) is int for each in given)
    if not whole or not given or not set(given) <= set(SEVERITIES):
        raise InputError(f"{path}: severities: is {given!r:.60}; give a list like [1, 3, 5]")
    return tuple(sorted(set(given)))


def _similarity(path: Path, content: Mapping[str, Any]) -> tuple[Path, Path] | None:
    names = [text_of(str(path), content, key) for key in SIMILARITY]
    given = [name for name in names if name is not None]
    if not given:
        return None
    if len(given) < len(SIMILARITY):
        raise InputError(f"{path}: verb_similarity and object_similarity: give both or none")
    for name in given:
        if is_remote(name):
            raise InputError(f"{path}: {name}: tables of similarity are read from this machine")
    verbs, objects = (path.parent / name for name in given)
    return verbs, objects
