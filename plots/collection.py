"""Collect the data for the figures of a study, one model at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi.comparison.comparable import check_comparable, shared_notes
from diaghoi.comparison.joint import data_set_names
from diaghoi.comparison.results import is_semantic, leaving, read_result, read_semantic
from diaghoi.comparison.study import Model, Study
from diaghoi.data.groups import find_class
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.inputs import is_saved
from diaghoi.diagnosis.saved import load
from diaghoi.engines.engine import Engine, Failure, Task
from diaghoi.exceptions import InputError
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.plots.figure import (
    FIGURES,
    FigureKind,
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    source_of,
)
from diaghoi.plots.labels import caption, model_names, protocol_of

# Parts of a result that comparisons and captions need; all other parts are freed.
KEPT = ("dataset", "protocol", "counts", "official", "notes")
Locate = Callable[[Vocabulary], tuple[Path, Sequence[str]]]


@dataclass(frozen=True, kw_only=True)
class Collection:
    """Data for the figures of a study.

    Parameters
    ----------
    models : dict
        Models shown in each figure, by figure name, in the order of the study.
    left_out : dict
        Labels of omitted models, by figure and reason.
    results : dict
        Parts of each result that captions need, by :attr:`diaghoi.plots.figure.ModelData.key`.
    notes : tuple of str
        Notes on the figures.
    remarks : dict of str
        Further caption sentences, by figure name.
    """

    models: dict[str, list[ModelData]]
    left_out: dict[str, dict[str, list[str]]]
    results: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    remarks: dict[str, str] = field(default_factory=dict)

    def caption(self, name: str) -> str:
        """Return the caption of a figure: models, data sets, protocols, and remarks."""
        said = caption([self.results[model.key] for model in self.models[name]])
        return " ".join(filter(None, (said, self.remarks.get(name))))


def collect(
    study: Study,
    kinds: Sequence[FigureKind],
    *,
    hoi: str | None = None,
    locate: Locate | None = None,
    progress: Callable[[str], Any] | None = None,
    engine: Engine | None = None,
) -> Collection:
    """Compute the data for figures.

    Each model is read, diagnosed if its file has predictions, and freed before the next model; an
    engine processes as many models at once as it has workers.

    Parameters
    ----------
    study : Study
        The models.
    kinds : sequence of FigureKind
        The figures.
    hoi : str, optional
        Name or one-based number of the HOI class for single-class figures.
    locate : callable, optional
        Function that finds the annotations of a data set if the study names none; it returns the
        file and notes on the file. With an engine, the function must be at module level.
    progress : callable, optional
        Called with the label of the next model or, with several workers, once with their number as
        text (``3 models``).
    engine : Engine, optional
        Engine that processes models; all figures must then be in :data:`diaghoi.plots.FIGURES`.

    Raises
    ------
    InputError
        If files are unusable, annotations are missing, the class is unknown, or models are not
        comparable because of different data sets or protocols.
    """
    models: dict[str, list[ModelData]] = {kind.name: [] for kind in kinds}
    left_out: dict[str, dict[str, list[str]]] = {kind.name: {} for kind in kinds}
    results: list[dict[str, Any]] = []
    caveats: tuple[str, ...] = ()
    located: dict[str, None] = {}
    class_used = hoi is None
    labels = model_names(model.label for model in study.models)
    named = dict(zip(labels, study.models, strict=True))
    reader, report = _Reader(study, hoi, locate), progress or (lambda _: None)
    if engine is None or engine.workers == 1:
        every = _one_by_one(reader, named, kinds, report)
    else:
        report(f"{len(labels)} models")
        every = _side_by_side(reader, named, [kind.name for kind in kinds], engine)
    for (label, model), found in zip(named.items(), every, strict=True):
        results.append(found.result | {"label": label})
        caveats = check_comparable(results)
        located |= dict.fromkeys(found.located)
        class_used |= found.class_used
        for name, data in found.data.items():
            models[name].append(
                ModelData(
                    label=label,
                    data=data,
                    stage=model.stage,
                    backbone=model.backbone,
                    protocol=protocol_of(found.result, "name"),
                )
            )
        for name, reason in found.reasons.items():
            left_out[name].setdefault(reason, []).append(label)
    unused = f"class '{hoi}': not used; saved results show no single class"
    own = (*located, *(() if class_used else (unused,)))
    return Collection(
        models=models,
        left_out=left_out,
        results=dict(zip(labels, results, strict=True)),
        notes=own + caveats + shared_notes(results),
        remarks=_leaving(results, kinds),
    )


class _Found(NamedTuple):
    """Outcome of one model: its result, and for each figure the data or why there are none."""

    result: dict[str, Any]
    data: dict[str, Any]
    reasons: dict[str, str]
    located: Sequence[str]
    class_used: bool


def _one_by_one(
    reader: _Reader,
    models: Mapping[str, Model],
    kinds: Sequence[FigureKind],
    report: Callable[[str], Any],
) -> Iterator[_Found]:
    for label, model in models.items():
        report(label)
        yield reader.found(model, kinds)


def _side_by_side(
    reader: _Reader, models: Mapping[str, Model], names: Sequence[str], engine: Engine
) -> Iterator[_Found]:
    tasks = [Task(label, reader.found, (model, names)) for label, model in models.items()]
    done = dict(engine.run(tasks))
    for label in models:
        if isinstance(done[label], Failure):
            raise InputError(done[label].message)
        yield done[label]


def _leaving(results: Sequence[dict[str, Any]], kinds: Sequence[FigureKind]) -> dict[str, str]:
    """Return the table footnotes that also apply to bars and dots of costs."""
    readings = {"delta_map": (ORACLES, "leave_mean"), "waterfall": (ERRORS, "leave_mean_by_pair")}
    remarks = {}
    for kind in kinds:
        reading = next((key for key in readings if kind.name.startswith(key)), None)
        errors, counted = readings.get(reading or "", ((), ""))
        if classes := leaving(results, errors, counted=counted):
            remarks[kind.name] = (
                "Classes that a repair leaves without annotated triplets drop out of the mean, "
                f"which explains part of the gain: {classes}."
            )
    return remarks


def joined(collections: Sequence[Collection], kinds: Sequence[FigureKind]) -> Collection:
    """Join the data of studies on several data sets.

    Parameters
    ----------
    collections : sequence of Collection
        The data of each study.
    kinds : sequence of FigureKind
        The collected figures; all can show several data sets.

    Raises
    ------
    InputError
        If two studies have the same data set and protocol.
    """
    names = data_set_names([_subject(each) for each in collections])
    models: dict[str, list[ModelData]] = {kind.name: [] for kind in kinds}
    left_out: dict[str, dict[str, list[str]]] = {kind.name: {} for kind in kinds}
    results: dict[str, dict[str, Any]] = {}
    for name, each in zip(names, collections, strict=True):
        results |= {f"{name}: {label}": result for label, result in each.results.items()}
        for kind in kinds:
            models[kind.name] += [replace(m, dataset=name) for m in each.models[kind.name]]
            for reason, labels in each.left_out[kind.name].items():
                lacking = [f"{name}: {label}" for label in labels]
                left_out[kind.name].setdefault(reason, []).extend(lacking)
    notes = dict.fromkeys(
        f"{name}: {note}"
        for name, each in zip(names, collections, strict=True)
        for note in each.notes
    )
    remarks: dict[str, dict[str, None]] = {kind.name: {} for kind in kinds}
    for each in collections:
        for kind_name, remark in each.remarks.items():
            remarks[kind_name][remark] = None
    return Collection(
        models=models,
        left_out=left_out,
        results=results,
        notes=tuple(notes),
        remarks={name: " ".join(said) for name, said in remarks.items()},
    )


def _subject(collection: Collection) -> tuple[str, str]:
    """Return the data set and the protocol of a study."""
    first = next(iter(collection.results.values()))
    return str(first.get("dataset")), protocol_of(first, "name")


def _data(kind: FigureKind, source: Source) -> Any:
    if is_semantic(source.result):
        if kind.name != "confusions":
            raise NotApplicable(
                "a result of 'diaghoi semantic' has data only for the confusions figure"
            )
        if "diagnosis" not in source.result:
            raise NotApplicable("needs a result of 'diaghoi semantic --also diagnose --json'")
    elif kind.needs == "diagnoses":
        diagnosis_of(source)
    return kind.data(source)


class _Reader:
    """Reader of models, and of annotations once a model needs them."""

    def __init__(self, study: Study, hoi: str | None, locate: Locate | None) -> None:
        self.study, self.hoi, self.locate = study, hoi, locate
        self.annotations: Scenes | None = None
        self.located: Sequence[str] = ()
        self.class_used = False

    def found(self, model: Model, kinds: Sequence[FigureKind | str]) -> _Found:
        """Compute a model's data for figures; workers get only the names of the figures."""
        source = self.source(model)
        data, reasons = {}, {}
        for kind in (FIGURES[each] if isinstance(each, str) else each for each in kinds):
            try:
                data[kind.name] = _data(kind, source)
            except NotApplicable as reason:
                reasons[kind.name] = str(reason)
        result = {key: source.result.get(key) for key in KEPT}
        return _Found(result, data, reasons, self.located, self.class_used)

    def source(self, model: Model) -> Source:
        if is_saved(model.file):
            diagnosis = replace(load(model.file, self.study.vocabulary), label=model.label)
            return self._source(diagnosis)
        saved = read_result(model.file) or read_semantic(model.file)
        if saved is not None:
            return Source(result=saved | {"label": model.label})
        predictions = self.study.open_predictions(model).load()
        annotations = self._annotations(predictions.vocabulary)
        diagnosis = diagnose(annotations, predictions, self.study.protocol, label=model.label)
        return self._source(diagnosis)

    def _source(self, diagnosis: Diagnosis) -> Source:
        hoi = self._hoi(diagnosis.vocabulary)
        return replace(source_of(diagnosis), hoi=hoi, images=self.study.images)

    def _annotations(self, vocabulary: Vocabulary) -> Scenes:
        if self.annotations is None:
            study = self.study
            if study.annotations is None and self.locate is not None:
                path, self.located = self.locate(vocabulary)
                study = replace(study, annotations=path)
            self.annotations = study.read_annotations()
        return self.annotations

    def _hoi(self, vocabulary: Vocabulary) -> int | None:
        if self.hoi is None:
            return None
        self.class_used = True
        return find_class("class", int(self.hoi) if self.hoi.isdecimal() else self.hoi, vocabulary)
