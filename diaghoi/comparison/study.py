"""Read studies: several detectors on one data set, for comparisons and figures.

A study is described in a TOML file, so that one command repeats it::

    annotations = "instances_test2015.json"  # paths start from this file
    protocol = "hico-det-520"                # optional, as `dataset`
    similarity = "own"                       # optional: credit for meaning; or "wordnet", or two
                                             # tables, "verbs.csv,objects.csv" (verb_synsets,
                                             # object_synsets: names in these)

    [[model]]
    label = "QPIC"
    file = "qpic.npz"        # predictions, a saved diagnosis, or a result of `report --json`
    pairs = "qpic_pairs.pkl" # optional
    stage = "one"            # optional: one or two
    backbone = "ResNet-50"   # optional, as venue, detector and classifier

Studies on several data sets are shown together if one file lists the studies::

    studies = ["hico_det.toml", "v_coco.toml"]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.inputs import refuse_result
from diaghoi.exceptions import InputError, check_label, close_matches, printable
from diaghoi.formats import Reading, open_predictions, read_annotations
from diaghoi.formats.description import vocabulary
from diaghoi.formats.locations import is_remote
from diaghoi.formats.toml import check_keys, read_toml, text_of

STAGES = {"one": "One-stage", "two": "Two-stage"}
DESCRIPTIONS = {
    "venue": "Venue",
    "backbone": "Backbone",
    "detector": "Detector",
    "classifier": "Classifier",
}
"""Free-text descriptions of a model in a study, with their column titles."""
FILES = ("annotations", "instances", "ids")
SIMILARITY = "similarity"
KEYS = (*FILES, "dataset", "protocol", SIMILARITY)
"""Keys that every kind of study has in addition to its models."""
SYNSETS = ("verb_synsets", "object_synsets")
OLD_KEYS = ("verb_similarity", "object_similarity")
MADE = ("own", "wordnet")
"""Similarity that needs no user tables: ratings of this package, or WordNet's hierarchy."""
LIST = "studies"
"""The only key in a file that lists studies on several data sets."""
MOST_MODELS = 1000
"""Maximum number of models in a study, and of studies listed in a file."""
Texts = Mapping[str, str | None]
Sources = tuple[Path, Path] | tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class StudyModel:
    """A detector in any kind of study.

    Parameters
    ----------
    label : str
        Name in tables and figures.
    stage : {"", "one", "two"}
        Whether the detector finds pairs and actions jointly or one after the other; empty if not
        given.
    venue, backbone, detector, classifier : str
        Venue of the paper, and components of the detector; empty if not given.
    """

    label: str
    stage: str = ""
    venue: str = ""
    backbone: str = ""
    detector: str = ""
    classifier: str = ""

    @property
    def descriptions(self) -> dict[str, str]:
        """Descriptions from the study, with the keys of :data:`DESCRIPTIONS`."""
        return {key: str(getattr(self, key)) for key in DESCRIPTIONS}

    def to_dict(self) -> dict[str, str | None]:
        """Label, stage and descriptions; None if not given."""
        given = {"stage": self.stage, **self.descriptions}
        return {"label": self.label, **{key: text or None for key, text in given.items()}}


@dataclass(frozen=True, kw_only=True)
class Model(StudyModel):
    """A detector of a study, with its predictions.

    Parameters
    ----------
    file : pathlib.Path
        Predictions, a saved diagnosis, or a saved result in JSON.
    pairs : pathlib.Path or None
        File of the pairs, if they are listed separately.
    """

    file: Path
    pairs: Path | None = None


@dataclass(frozen=True, kw_only=True)
class StudyData:
    """Data on which the detectors of a study are evaluated.

    Parameters
    ----------
    annotations, instances, ids : pathlib.Path or None
        The annotation file, and the additional files of V-COCO.
    dataset : str or None
        The data set or its description; None if it is recognised from the files.
    protocol : str or None
        Evaluation protocol; None for the default of the data set.
    similarity : tuple of two, of pathlib.Path or str, or None
        Sources of verb and object similarity for semantic evaluation: tables, or one of
        :data:`MADE`.
    source : str
        The file with the study, for messages.
    """

    annotations: Path | None = None
    instances: Path | None = None
    ids: Path | None = None
    dataset: str | None = None
    protocol: str | None = None
    similarity: Sources | None = None
    source: str = ""

    @property
    def tables(self) -> list[Path]:
        """The similarity sources that are files."""
        return [each for each in self.similarity or () if isinstance(each, Path)]


@dataclass(frozen=True, kw_only=True)
class Study(StudyData):
    """Detectors, and the data on which they are compared.

    Parameters
    ----------
    models : tuple of Model
        Models in the order in which they are shown.
    synsets : mapping of str to pathlib.Path
        Files that map the words of a data set to names in the similarity tables, by key.
    reading : Reading
        Settings for reading predictions, where the content of the file is not clear.
    images : pathlib.Path or None
        Folder of the pictures, for figures that show cases.
    """

    models: tuple[Model, ...]
    synsets: Mapping[str, Path] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)
    images: Path | None = None

    @property
    def tables(self) -> list[Path]:
        """The similarity sources that are files."""
        return [*super().tables, *self.synsets.values()]

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The data set, if the study names it."""
        return None if self.dataset is None else vocabulary(self.dataset)

    def read_annotations(self) -> Scenes:
        """Read the annotations.

        Raises
        ------
        InputError
            If the study has no annotations, or the file cannot be used.
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
            reading: Reading = {**self.reading, "dataset": self.vocabulary}
            return open_predictions(model.file, pairs=model.pairs, **reading)
        except InputError:
            refuse_result(model.file, "the predictions")
            raise

    def diagnose(
        self, model: Model, annotations: Scenes, protocol: str | Protocol | None = None
    ) -> Diagnosis:
        """Diagnose one of the models under the protocol of the study or another protocol."""
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
        If a file cannot be read, a key is unknown or missing, a value cannot be used, or a label
        appears twice.
    """
    content, fields = read_study_file(
        path,
        _model,
        keys=SYNSETS,
        model_keys=("file", "pairs"),
        needed={"file": "name the predictions or the saved result"},
    )
    folder = Path(path).parent
    texts = {key: text_of(str(path), content, key) for key in SYNSETS}
    synsets = {key: folder / name for key, name in texts.items() if name is not None}
    if synsets and fields[SIMILARITY] is None:
        raise InputError(f"{path}: {next(iter(synsets))}: needs {SIMILARITY}; name the tables")
    return Study(**fields, synsets=synsets)


def read_studies(path: str | PathLike[str]) -> tuple[Study, ...]:
    """Read a study, or studies on several data sets.

    Parameters
    ----------
    path : path
        A study as in :func:`read_study`, or a TOML file with only the key ``studies``, a list of
        such files. Paths are relative to this file.

    Raises
    ------
    InputError
        As in :func:`read_study`, and if the list is empty, names a study twice, or appears with
        other keys.
    """
    path = Path(path)
    content = read_toml(path)
    if LIST not in content:
        return (read_study(path),)
    names = content.pop(LIST)
    for key in content:
        raise InputError(f"{path}: {key}: does not go with {LIST}; set it in each listed study")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(f"{path}: {LIST}: is {names!r:.60}; give a list of study files")
    if len(names) > MOST_MODELS:
        raise InputError(
            f"{path}: {LIST}: lists {len(names):,} studies; give at most {MOST_MODELS:,}"
        )
    files = [path.parent / name for name in names]
    for name, file in zip(names, files, strict=True):
        if [each.resolve() for each in files].count(file.resolve()) > 1:
            raise InputError(f"{path}: {LIST}: '{name}' appears twice; list each study once")
    return tuple(map(read_study, files))


def read_study_file(
    path: str | PathLike[str],
    model: Callable[[str, Path, Texts], StudyModel],
    *,
    keys: Sequence[str] = (),
    model_keys: Sequence[str],
    needed: Mapping[str, str],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the part that all kinds of studies have in common.

    Parameters
    ----------
    path : path
        A TOML file.
    model : callable
        Function that returns a StudyModel, given the location to name in messages, the folder that
        relative paths start from, and the texts by key.
    keys, model_keys : sequence of str
        Further keys of the study, and of each ``[[model]]``, in addition to the common ones.
    needed : mapping of str
        Required keys of a model, and advice if one is missing.

    Returns
    -------
    content : dict
        The whole content of the file.
    fields : dict
        ``models`` and the fields of :class:`StudyData`.

    Raises
    ------
    InputError
        If a file cannot be read, a key is unknown or missing, a value cannot be used, or a label
        appears twice.
    """
    path = Path(path)
    content = read_toml(path)
    if LIST in content:
        raise InputError(
            f"{path}: {LIST}: lists other studies, but a study with [[model]] is needed; give one "
            "of the listed studies"
        )
    for key in OLD_KEYS:
        if key in content:
            raise InputError(f'{path}: {key}: give {SIMILARITY} = "VERBS,OBJECTS"')
    check_keys(str(path), content, (*KEYS, *keys, "model"))
    data = _data(path, content)
    rows = content.get("model")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        *most, last = dict.fromkeys(("label", *needed))
        raise InputError(
            f"{path}: model: give at least one [[model]] with {', '.join(most)} and {last}"
        )
    if len(rows) > MOST_MODELS:
        raise InputError(
            f"{path}: model: there are {len(rows):,} models; give at most {MOST_MODELS:,}"
        )
    known = ("label", *model_keys, "stage", *DESCRIPTIONS)
    models = []
    for number, row in enumerate(rows, 1):
        where = f"{path}: model {number}"
        check_keys(where, row, known)
        texts = {key: text_of(where, row, key) for key in known}
        for key in ("label", *DESCRIPTIONS):
            try:
                check_label(texts[key] or "")
            except ValueError as error:
                raise InputError(f"{where}: {key}: {error}") from None
        for key, advice in needed.items():
            if texts[key] is None:
                raise InputError(f"{where}: {key}: missing; {advice}")
        models.append(model(where, path.parent, texts))
    try:
        return content, {"models": check_models(models), **data}
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _model(_: str, folder: Path, texts: Texts) -> Model:
    file, pairs = str(texts["file"]), texts["pairs"]
    return Model(
        label=texts["label"] or printable(Path(file).stem),
        file=folder / file,
        pairs=None if pairs is None else folder / pairs,
        **described(texts),
    )


def sources_named(where: str, value: str, folder: Path | None = None) -> Sources:
    """Read ``VERBS,OBJECTS``, two similarity tables in the given folder, or one of :data:`MADE`.

    Raises
    ------
    InputError
        If the value has another form; the message names the place.
    """
    if value in MADE:
        return value, value
    names = [name.strip() for name in value.split(",")]
    if len(names) != 2 or not all(names):
        raise InputError(
            f"{where} '{value}'{close_matches(value, MADE)}: give two tables, VERBS,OBJECTS, or "
            f"{' or '.join(MADE)}"
        )
    verbs, objects = ((folder or Path()) / name for name in names)
    return verbs, objects


def described(texts: Texts) -> dict[str, str]:
    """Return the stage and the descriptions of a model as fields of StudyModel."""
    return {key: texts[key] or "" for key in ("stage", *DESCRIPTIONS)}


def _data(path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of :class:`StudyData`; paths start from the file."""
    data: dict[str, Any] = {key: text_of(str(path), content, key) for key in KEYS}
    for key in FILES:
        if data[key] is not None:
            if is_remote(data[key]):
                raise InputError(
                    f"{path}: {key}: {data[key]} lies elsewhere; copy it to this machine"
                )
            data[key] = path.parent / data[key]
    if data["dataset"] is not None and data["dataset"].endswith(".toml"):
        data["dataset"] = str(path.parent / data["dataset"])
    if data[SIMILARITY] is not None:
        where, value = f"{path}: {SIMILARITY}", data[SIMILARITY]
        if is_remote(value):
            raise InputError(f"{where}: {value} lies elsewhere; copy it to this machine")
        data[SIMILARITY] = sources_named(where, value, path.parent)
    return data | {"source": str(path)}


_Detector = TypeVar("_Detector", bound=StudyModel)


def check_models(models: Sequence[_Detector]) -> tuple[_Detector, ...]:
    """Return the models; labels must be unique, and stages known.

    Raises
    ------
    InputError
        If a label is used twice, or a stage is unknown.
    """
    labels = [model.label for model in models]
    for model in models:
        if labels.count(model.label) > 1:
            raise InputError(
                f"label '{model.label}': used for two models; give each a label of its own"
            )
        if model.stage not in ("", *STAGES):
            raise InputError(
                f"model '{model.label}': stage '{model.stage}'"
                f"{close_matches(model.stage, STAGES)}: give {' or '.join(STAGES)}"
            )
    return tuple(models)
