"""From a study to the data of its figures, one model at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from diaghoi.comparison.comparable import check_comparable, shared_notes
from diaghoi.comparison.joint import data_set_names
from diaghoi.comparison.results import is_semantic, leaving, read_result, read_semantic
from diaghoi.comparison.study import Model, Study
from diaghoi.data.groups import find_class
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.saved import is_saved, load
from diaghoi.oracles import ORACLES
from diaghoi.plots.captions import caption, protocol_of
from diaghoi.plots.figure import (
    FigureKind,
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    source_of,
)
from diaghoi.plots.labels import model_names

# What comparisons and captions need of a result; the rest is freed.
KEPT = ("dataset", "protocol", "counts", "official", "notes")


@dataclass(frozen=True, kw_only=True)
class Collection:
    """The data of the figures of a study.

    Parameters
    ----------
    models : dict
        The models that each figure shows, by its name, in the order of the study.
    left_out : dict
        By name of the figure, the labels of the models that it does not show, by reason.
    results : dict
        What captions need of each result, by :attr:`diaghoi.plots.figure.ModelData.key`.
    notes : tuple of str
        What readers of the figures should know.
    """

    models: dict[str, list[ModelData]]
    left_out: dict[str, dict[str, list[str]]]
    results: dict[str, dict[str, Any]]
    notes: tuple[str, ...]

    def caption(self, models: Sequence[ModelData]) -> str:
        """Name some models, data sets and protocols: see :func:`diaghoi.plots.caption`."""
        return caption([self.results[model.key] for model in models])


def collect(
    study: Study,
    kinds: Sequence[FigureKind],
    *,
    hoi: str | None = None,
    locate: Callable[[Vocabulary], Path] | None = None,
    progress: Callable[[str], Any] | None = None,
) -> Collection:
    """Compute the data of some figures.

    Each model is read, diagnosed if its file holds predictions, and freed before the next one.

    Parameters
    ----------
    study : Study
        The models.
    kinds : sequence of FigureKind
        The figures.
    hoi : str, optional
        Name or number, from 1, of the HOI class of the figures that show one.
    locate : callable, optional
        Finds the annotations of a data set if the study does not name them.
    progress : callable, optional
        Called with the label of each model before it is read.

    Raises
    ------
    InputError
        For unusable files, predictions without annotations, an unknown class, and models that are
        not comparable: on different data sets or under different protocols.
    """
    reader = _Reader(study, hoi, locate)
    models: dict[str, list[ModelData]] = {kind.name: [] for kind in kinds}
    left_out: dict[str, dict[str, list[str]]] = {kind.name: {} for kind in kinds}
    results: list[dict[str, Any]] = []
    caveats: tuple[str, ...] = ()
    labels = model_names(model.label for model in study.models)
    for model, label in zip(study.models, labels, strict=True):
        if progress is not None:
            progress(label)
        source = reader.source(model)
        results.append({key: source.result.get(key) for key in KEPT} | {"label": label})
        caveats = check_comparable(results)
        for kind in kinds:
            try:
                data = _data(kind, source)
            except NotApplicable as reason:
                left_out[kind.name].setdefault(str(reason), []).append(label)
            else:
                models[kind.name].append(
                    ModelData(
                        label=label,
                        data=data,
                        stage=model.stage,
                        backbone=model.backbone,
                        protocol=protocol_of(source.result, "name"),
                    )
                )
        del source  # otherwise two models are in memory while the next one is read
    return Collection(
        models=models,
        left_out=left_out,
        results=dict(zip(labels, results, strict=True)),
        notes=reader.notes + caveats + shared_notes(results) + _leaving(results, kinds),
    )


def _leaving(results: Sequence[dict[str, Any]], kinds: Sequence[FigureKind]) -> tuple[str, ...]:
    """Say of bars and dots of costs, which have no room for it, what the tables say below them."""
    names = [kind.name for kind in kinds if kind.name.startswith("delta_map")]
    gone = leaving(results, ORACLES)
    if not names or not gone:
        return ()
    return (
        f"{', '.join(names)}: say in the caption that classes which a repair leaves without "
        f"annotated triplets leave the mean, which is part of the gain: {gone}",
    )


def joined(collections: Sequence[Collection], kinds: Sequence[FigureKind]) -> Collection:
    """Join the data of studies on several data sets.

    Parameters
    ----------
    collections : sequence of Collection
        Of each study.
    kinds : sequence of FigureKind
        The figures that were collected; all can show several data sets.

    Raises
    ------
    InputError
        Where two studies are on one data set under one protocol.
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
    return Collection(models=models, left_out=left_out, results=results, notes=tuple(notes))


def _subject(collection: Collection) -> tuple[str, str]:
    """Return data set and protocol of a study."""
    first = next(iter(collection.results.values()))
    return str(first.get("dataset")), protocol_of(first, "name")


def _data(kind: FigureKind, source: Source) -> Any:
    if is_semantic(source.result):
        if kind.name != "confusions":
            raise NotApplicable("a result of 'diaghoi semantic' has the confusions alone")
        if "diagnosis" not in source.result:
            raise NotApplicable("needs a result of 'diaghoi semantic --diagnose --json'")
    elif kind.needs == "diagnoses":
        diagnosis_of(source)
    return kind.data(source)


class _Reader:
    """Reads models, and the annotations as soon as a model needs them."""

    def __init__(
        self, study: Study, hoi: str | None, locate: Callable[[Vocabulary], Path] | None
    ) -> None:
        self.study, self.hoi, self.locate = study, hoi, locate
        self.annotations: Scenes | None = None
        self.found = False  # whether the class was looked up

    @property
    def notes(self) -> tuple[str, ...]:
        if self.hoi is None or self.found:
            return ()
        return (f"class '{self.hoi}': not used; saved results show no single class",)

    def source(self, model: Model) -> Source:
        if is_saved(model.file):
            diagnosis = replace(load(model.file, self.study.vocabulary), label=model.label)
            return source_of(diagnosis, self._hoi(diagnosis.vocabulary))
        saved = read_result(model.file) or read_semantic(model.file)
        if saved is not None:
            return Source(result=saved | {"label": model.label})
        predictions = self.study.open_predictions(model).load()
        annotations = self._annotations(predictions.vocabulary)
        diagnosis = diagnose(annotations, predictions, self.study.protocol, label=model.label)
        return source_of(diagnosis, self._hoi(diagnosis.vocabulary))

    def _annotations(self, vocabulary: Vocabulary) -> Scenes:
        if self.annotations is None:
            study = self.study
            if study.annotations is None and self.locate is not None:
                study = replace(study, annotations=self.locate(vocabulary))
            self.annotations = study.read_annotations()
        return self.annotations

    def _hoi(self, vocabulary: Vocabulary) -> int | None:
        if self.hoi is None:
            return None
        self.found = True
        return find_class("class", int(self.hoi) if self.hoi.isdecimal() else self.hoi, vocabulary)
