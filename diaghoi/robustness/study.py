"""Describe a robustness study: several detectors on clean and on corrupted pictures.

A study is described in a TOML file::

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

A file contains predictions or the result of ``diaghoi report --json``; a study of such results
needs no annotations. Prediction files may lie anywhere that fsspec, if installed, can read
(``s3://bucket/file.npz``). With ``similarity``, as in :mod:`diaghoi.comparison.study`, soft mAP and
mF1 are computed as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi.comparison.study import (
    StudyData,
    StudyModel,
    Texts,
    described,
    read_study_file,
)
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.base import Reading
from diaghoi.formats.locations import below
from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES, find

FEW = 3  # number of omitted corruptions that are named


class Condition(NamedTuple):
    """A corruption (empty for clean pictures) and its severity (1 to 5; 0 for clean pictures)."""

    corruption: str
    severity: int

    @property
    def title(self) -> str:
        """The condition in words."""
        if not self.corruption:
            return "clean"
        return f"{CORRUPTIONS[self.corruption].label} {self.severity}"

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python; the corruption of clean pictures is None."""
        return {"corruption": self.corruption or None, "severity": self.severity}


CLEAN = Condition("", 0)


def conditions_of(corruptions: Iterable[str], severities: Sequence[int]) -> tuple[Condition, ...]:
    """List the conditions: clean pictures, and every corruption at every severity."""
    return (CLEAN, *(Condition(name, level) for name in corruptions for level in severities))


@dataclass(frozen=True, kw_only=True)
class RobustModel(StudyModel):
    """A detector of a study, with its predictions under all conditions.

    The model has a file for clean pictures and a file pattern for corrupted pictures, and another
    file and pattern if pairs are listed separately.
    """

    clean: str
    files: str
    clean_pairs: str | None = None
    pairs: str | None = None


class Run(NamedTuple):
    """Predictions of one detector under one condition, and its pairs if listed separately."""

    label: str
    condition: Condition
    file: str
    pairs: str | None

    @property
    def place(self) -> tuple[str, Condition]:
        """Detector label and condition."""
        return self.label, self.condition

    @property
    def title(self) -> str:
        """Detector and condition in words."""
        return f"{self.label}, {self.condition.title}"

    @property
    def files(self) -> tuple[str, ...]:
        """All files of the run."""
        return (self.file,) if self.pairs is None else (self.file, self.pairs)

    def to_dict(self) -> dict[str, Any]:
        """Return the detector, the condition and the predictions as plain Python."""
        return {"model": self.label, **self.condition.to_dict(), "file": self.file}


class Scope(NamedTuple):
    """Description of the conditions over which a study's MRI and CRI are averaged.

    ``complete`` is true if the study has all corruptions at all severities, as in the paper;
    ``title`` heads the columns of MRI and CRI.
    """

    complete: bool
    title: str
    corruptions: str
    severities: str

    @property
    def words(self) -> str:
        """All conditions in words."""
        return f"{self.corruptions}, {self.severities}"


def scope_of(corruptions: Sequence[str], severities: Sequence[int]) -> Scope:
    """Describe which of the paper's conditions the given corruptions and severities cover."""
    left = [name for name in CORRUPTIONS if name not in corruptions]
    every = len(severities) == len(SEVERITIES)
    title = f"{len(severities)} of {len(SEVERITIES)} severities"
    named = f"all {len(CORRUPTIONS)} corruptions"
    if left:
        title = f"{len(corruptions)} of {len(CORRUPTIONS)} corruptions"
        names = f"all but {_names(left)}" if len(left) <= FEW else _names(corruptions)
        named = f"{title} ({names})"
    *first, last = map(str, severities)
    some = f"severities {', '.join(first)} and {last}" if first else f"severity {last}"
    return Scope(
        complete=every and not left,
        title="All corruptions" if every and not left else title,
        corruptions=named,
        severities=f"all {len(SEVERITIES)} severities" if every else some,
    )


def _names(corruptions: Iterable[str]) -> str:
    """List corruptions for a sentence; only acronyms and names of people are capitalised."""
    labels = [CORRUPTIONS[name].label for name in corruptions]
    large = [label[1].isupper() or label.startswith("Gauss") for label in labels]
    pairs = zip(labels, large, strict=True)
    return some_of([label if keep else label[0].lower() + label[1:] for label, keep in pairs])


@dataclass(frozen=True, kw_only=True)
class RobustnessStudy(StudyData):
    """Detectors, and the conditions under which they are evaluated.

    Parameters
    ----------
    models : tuple of RobustModel
        Models in the order in which they are shown.
    corruptions : tuple of str
        Names, in the order of the registry.
    severities : tuple of int
        Severities, ascending.
    reading : Reading
        Options for prediction files whose content does not show how to read them.
    """

    models: tuple[RobustModel, ...]
    corruptions: tuple[str, ...] = tuple(CORRUPTIONS)
    severities: tuple[int, ...] = SEVERITIES
    reading: Reading = field(default_factory=Reading)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions: clean pictures, and every corruption at every severity."""
        return conditions_of(self.corruptions, self.severities)

    def runs(self) -> Iterator[Run]:
        """List the files of all detectors under all conditions, including missing files."""
        for model in self.models:
            yield Run(model.label, CLEAN, model.clean, model.clean_pairs)
            for condition in self.conditions[1:]:
                pairs = None if model.pairs is None else _filled(model.pairs, condition)
                yield Run(model.label, condition, _filled(model.files, condition), pairs)


def read_robustness_study(path: str | PathLike[str]) -> RobustnessStudy:
    """Read the description of a robustness study.

    The module docstring shows the TOML file.

    Raises
    ------
    InputError
        As :func:`diaghoi.comparison.study.read_study`.
    """
    content, fields = read_study_file(
        path,
        _model,
        keys=("corruptions", "severities"),
        model_keys=("clean", "files", "clean_pairs", "pairs"),
        needed={
            "label": "name the model",
            "clean": "name the predictions on clean pictures",
            "files": 'give a pattern like "preds/{corruption}_{severity}.npz"',
        },
    )
    path = Path(path)
    return RobustnessStudy(
        corruptions=_corruptions(path, content.get("corruptions", [*CORRUPTIONS])),
        severities=_severities(path, content.get("severities", [*SEVERITIES])),
        **fields,
    )


def _model(where: str, folder: Path, texts: Texts) -> RobustModel:
    for key in ("files", "pairs"):
        if texts[key] is not None:
            _check_pattern(f"{where}: {key}", str(texts[key]))
    if (texts["clean_pairs"] is None) != (texts["pairs"] is None):
        raise InputError(
            f"{where}: clean_pairs and pairs: give both or neither, so that clean and corrupted "
            "pictures are evaluated with the same kind of pairs"
        )
    # Braces in the name of the folder are not fields of the pattern.
    quoted = str(folder).replace("{", "{{").replace("}", "}}")
    start = {"clean": str(folder), "clean_pairs": str(folder), "files": quoted, "pairs": quoted}
    paths: dict[str, Any] = {
        key: None if (name := texts[key]) is None else below(start[key], name) for key in start
    }
    return RobustModel(label=str(texts["label"]), **paths, **described(texts))


def _check_pattern(where: str, pattern: str) -> None:
    """Raise an error for a pattern that does not distinguish the conditions."""
    _, *conditions = conditions_of(CORRUPTIONS, SEVERITIES)
    why = "gives several conditions the same file"
    files: set[str] = set()
    try:
        files = {_filled(pattern, condition) for condition in conditions}
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        why = f"cannot be formatted ({type(error).__name__}: {error})"
    if len(files) < len(conditions):
        raise InputError(
            f"{where}: '{pattern}' {why}; write {{corruption}} and {{severity}} without more"
        )


def _filled(pattern: str, condition: Condition) -> str:
    return pattern.format(corruption=condition.corruption, severity=condition.severity)


def _corruptions(path: Path, names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(f"{path}: corruptions: is {names!r:.60}; give a list of names")
    try:
        return tuple(corruption.name for corruption in find(names))
    except InputError as error:
        raise InputError(f"{path}: corruptions: {error}") from None


def _severities(path: Path, levels: Any) -> tuple[int, ...]:
    whole = isinstance(levels, list) and all(type(level) is int for level in levels)
    if not whole or not levels or not set(levels) <= set(SEVERITIES):
        raise InputError(f"{path}: severities: is {levels!r:.60}; give a list like [1, 3, 5]")
    return tuple(sorted(set(levels)))
