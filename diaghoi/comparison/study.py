"""Several detectors on one data set: what comparisons and figures are made of.

A study is written down in a TOML file, so that it can be repeated with one command::

    annotations = "instances_test2015.json"  # paths start from this file
    protocol = "hico-det-520"                # optional, as `dataset`

    [[model]]
    label = "QPIC"
    file = "qpic.npz"        # predictions, or a result of `diaghoi report --json`
    pairs = "qpic_pairs.pkl" # optional
    stage = "one"            # optional: one or two
    backbone = "ResNet-50"   # optional
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats import open_predictions, read_annotations
from diaghoi.formats.containers.toml import check_keys, read_toml, text_of
from diaghoi.formats.datasets import vocabulary

STAGES = {"one": "One-stage", "two": "Two-stage"}
KEYS = ("annotations", "instances", "ids", "dataset", "protocol", "model")
VERSION = "diaghoi"
"""The key of the version in results."""
REPORT = frozenset({"oracles", "map", "errors"})
"""Keys of a report."""
MODEL_KEYS = ("label", "file", "pairs", "stage", "backbone")


@dataclass(frozen=True, kw_only=True)
class Model:
    """One detector of a study.

    Parameters
    ----------
    label : str
        Its name in tables and figures.
    file : pathlib.Path
        Predictions, or a saved result in JSON.
    pairs : pathlib.Path or None
        The pairs that it lists apart.
    stage : {"", "one", "two"}
        Whether it finds pairs and actions at once or one after the other; empty where not given.
    backbone : str
        Its backbone; empty where not given.
    """

    label: str
    file: Path
    pairs: Path | None = None
    stage: str = ""
    backbone: str = ""


@dataclass(frozen=True, kw_only=True)
class Study:
    """Some detectors, and what they are compared on.

    Parameters
    ----------
    models : tuple of Model
        In the order in which they are shown.
    annotations, instances, ids : pathlib.Path or None
        The annotation file, and those that belong to V-COCO's.
    dataset : str or None
        The data set or its description; None where the files tell.
    protocol : str or None
        None for that of the data set.
    source : str
        The file that describes the study, for messages.
    """

    models: tuple[Model, ...]
    annotations: Path | None = None
    instances: Path | None = None
    ids: Path | None = None
    dataset: str | None = None
    protocol: str | None = None
    source: str = ""

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The data set, where the study names it."""
        return None if self.dataset is None else vocabulary(self.dataset)

    def read_annotations(self) -> Scenes:
        """Read the annotations.

        Raises
        ------
        InputError
            Where the study has none, or the file cannot be used.
        """
        if self.annotations is None:
            raise InputError(
                f"{self.source or 'the study'}: annotations: missing; predictions need them"
            )
        return read_annotations(
            self.annotations, dataset=self.vocabulary, instances=self.instances, ids=self.ids
        )

    def open_predictions(self, model: Model) -> SceneSource:
        """Open the predictions of one of the models; see :func:`diaghoi.open_predictions`."""
        try:
            return open_predictions(model.file, pairs=model.pairs, dataset=self.vocabulary)
        except InputError:
            refuse_result(model.file, "the predictions")
            raise

    def diagnose(
        self, model: Model, annotations: Scenes, protocol: str | Protocol | None = None
    ) -> Diagnosis:
        """Diagnose one of the models under the protocol of the study, or another."""
        predictions = self.open_predictions(model)
        return diagnose(annotations, predictions, protocol or self.protocol, label=model.label)


def read_study(path: str | PathLike[str]) -> Study:
    """Read the description of a study.

    Parameters
    ----------
    path : path
        A TOML file as shown at the top of this module.

    Raises
    ------
    InputError
        For a file that cannot be read, an unknown or missing key, a value that cannot be used, and
        labels that stand there twice.
    """
    path = Path(path)
    content = read_toml(path)
    check_keys(str(path), content, KEYS)
    texts = {key: text_of(str(path), content, key) for key in KEYS if key != "model"}
    rows = content.get("model")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: model: give at least one [[model]] with label and file")
    folder = path.parent
    dataset = texts.pop("dataset")
    if dataset is not None and dataset.endswith(".toml"):
        dataset = str(folder / dataset)
    protocol = texts.pop("protocol")
    return Study(
        models=check_models([_model(path, number, row) for number, row in enumerate(rows, 1)]),
        dataset=dataset,
        protocol=protocol,
        source=str(path),
        **{key: None if name is None else folder / name for key, name in texts.items()},
    )


def check_models(models: Sequence[Model]) -> tuple[Model, ...]:
    """Return the models; their labels must differ, and their stages be known.

    Raises
    ------
    InputError
        Where they are not.
    """
    labels = [model.label for model in models]
    for model in models:
        if labels.count(model.label) > 1:
            raise InputError(
                f"label '{model.label}': used for two models; give each its own, with --labels or "
                "in the study"
            )
        if model.stage not in ("", *STAGES):
            raise InputError(
                f"model '{model.label}': stage '{model.stage}'"
                f"{close_matches(model.stage, STAGES)}: give {' or '.join(STAGES)}"
            )
    return tuple(models)


def read_result(path: str | PathLike[str]) -> dict[str, Any] | None:
    """Read a saved result; None for a file, or a folder, that holds something else.

    Parameters
    ----------
    path : path
        What ``diaghoi report --json`` wrote, or any other file.

    Raises
    ------
    InputError
        Where the file cannot be opened.
    """
    value = _saved(path)
    return value if value.keys() >= REPORT else None


def refuse_result(path: str | PathLike[str], what: str) -> None:
    """Say of a file that could not be read that it is a saved result, where it is one.

    Parameters
    ----------
    path : path
        The file.
    what : str
        What it should be, ``the predictions``.

    Raises
    ------
    InputError
        Where any command of diaghoi wrote it with ``--json``.
    """
    if not Path(path).is_file():
        return
    value = _saved(path)
    if VERSION in value:
        written, more = "diaghoi, as --json writes them", ""
        if value.keys() >= REPORT:
            written = "'diaghoi report --json'"
            more = ", or look at saved results with 'diaghoi compare'"
        raise InputError(
            f"{path}: is a saved result of {written}; give {what} themselves{more}"
        ) from None


def _saved(path: str | PathLike[str]) -> dict[str, Any]:
    """Read an object in JSON; an empty one of a file, or a folder, that holds something else."""
    if Path(path).is_dir():
        return {}
    try:
        with Path(path).open("rb") as stream:
            if stream.read(64).lstrip()[:1] != b"{":
                return {}
            stream.seek(0)
            value = json.load(stream)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _model(path: Path, number: int, row: Mapping[str, Any]) -> Model:
    where = f"{path}: model {number}"
    check_keys(where, row, MODEL_KEYS)
    texts = {key: text_of(where, row, key) for key in MODEL_KEYS}
    file, pairs = texts["file"], texts["pairs"]
    if file is None:
        raise InputError(f"{where}: file: missing; name the predictions or the saved result")
    return Model(
        label=texts["label"] or Path(file).stem,
        file=path.parent / file,
        pairs=None if pairs is None else path.parent / pairs,
        stage=texts["stage"] or "",
        backbone=texts["backbone"] or "",
    )
