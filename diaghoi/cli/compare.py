"""``diaghoi compare``: detectors side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from diaghoi.cli import options, outputs, priors, variants
from diaghoi.cli.comparison_page import ComparisonPage
from diaghoi.cli.comparison_tables import (
    ALL,
    Compact,
    Format,
    Only,
    Out,
    Selection,
    selection,
    show_comparison,
    table_format,
    write_comparison,
)
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.present import print_notes, print_number, print_written
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import check_annotations, only_shared
from diaghoi.cli.significance import (
    Significance,
    SignificanceOptions,
    significance_options,
    with_tests,
)
from diaghoi.cli.similarity.options import tables_of_study
from diaghoi.cli.slices import SliceOptions, SlicesOption, slice_options
from diaghoi.cli.variants import check_ranked
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.comparison import compare as compared
from diaghoi.comparison.explained import ExplainedDifference, explained
from diaghoi.comparison.joint import AnyComparison, JointComparison
from diaghoi.comparison.results import is_semantic, read_result, read_semantic
from diaghoi.comparison.selection import has_overview
from diaghoi.comparison.semantic import compare_semantic
from diaghoi.comparison.study import Model, Study, check_models, read_studies
from diaghoi.data.arrays.types import StrArray
from diaghoi.data.joining import alike, shared_images
from diaghoi.data.protocol import HICO_DET, Protocol, choices_of
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.plausibility import check_plausible
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations
from diaghoi.statistics.significance import compare_each

Reader = Callable[[Path], dict[str, Any] | None]

Files = Annotated[
    list[Path],
    typer.Argument(
        help="Predictions, saved diagnoses or results of 'report --json', all of them results of "
        "'semantic --json', or one .toml file that lists them.",
        readable=False,
    ),
]

Stage = Annotated[str | None, typer.Option(help="one or two, for each model, separated by commas.")]
Backbone = Annotated[str | None, typer.Option(help="Backbones of the models, separated by commas.")]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Split the difference of each model to the first into what true positives and false "
        "positives of each kind changed, and count the annotated triplets that only one finds.",
        rich_help_panel=options.EXTRAS,
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        help="Write an HTML page that explores the models: errors, classes, curves and cases side "
        "by side.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
PageImages = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the pictures, to draw the cases of --html on.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
Pairs = Annotated[
    str | None,
    typer.Option(
        help="Pair files of the models, separated by commas.", rich_help_panel=options.READING
    ),
]


def compare(
    files: Files,
    labels: options.Labels = None,
    stage: Stage = None,
    backbone: Backbone = None,
    annotations: options.Annotations = None,
    pairs: Pairs = None,
    only_predicted_images: options.OnlyPredicted = False,
    dataset: options.Dataset = None,
    protocol: options.ProtocolName = None,
    ap: options.Ap = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    only: Only = None,
    compact: Compact = False,
    format: Format = None,
    out: Out = None,
    json: options.Json = None,
    html: Html = None,
    images: PageImages = None,
    pair_nms: variants.PairNms = None,
    detection_threshold: variants.Threshold = None,
    shortcuts: priors.Shortcuts = False,
    prior_annotations: priors.PriorAnnotations = None,
    explain: Explain = False,
    slices: SlicesOption = None,
    significance: Significance = False,
    resamples: options.Resamples = 1000,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    force: options.Force = False,
    detail: options.Detail = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare detectors: mAP, errors and their costs, pairs, negatives, actions.

    Results of 'semantic --json', and the models of a study that names tables of similarity, are
    compared by soft mAP, mF1 and miss rates.
    """
    kind = table_format(format, out)
    selected = selection(only, compact)
    lists = {"--labels": labels, "--stage": stage, "--backbone": backbone, "--pairs": pairs}
    given: dict[str, Any] = {
        "annotations": annotations,
        "instances": instances,
        "ids": ids,
        "dataset": dataset,
        "protocol": protocol,
    }
    given = {key: value for key, value in given.items() if value is not None}
    written = [out, json, html]
    outputs.check_files(written, [*files, prior_annotations])
    page = ComparisonPage(wanted=html is not None, images=images)
    page.check(html)
    asked = variants.VariantOptions(pair_nms, detection_threshold)
    against = priors.PriorOptions(shortcuts, prior_annotations)

    reader = results_reader()
    runs = []
    for study in studies_of(files, lists, given, reader(dataset)):
        sliced = slice_options(slices, None, seed, confidence)
        choices = Choices(
            study.protocol, ap, asked, against, explain, sliced, only_predicted_images
        )
        choices.check()
        inputs = [path for model in study.models for path in (model.file, model.pairs)]
        inputs += [study.annotations, study.instances, study.ids, *study.tables.values()]
        inputs += [] if sliced is None else sliced.files
        outputs.check_files(written, inputs)
        tests = significance_options(significance, resamples, confidence, seed, len(study.models))
        read = reader(study.dataset)
        if explain and len(study.models) < 2:
            raise InputError("--explain: is between models; give at least two")
        if _is_semantic(study, read):
            _check_semantic(choices, tests, selected)
        check_readable(study, read, choices, tests)
        runs.append((study, read, choices, tests))
    with progress(quiet) as bar:
        parts = tuple(compared_study(*run, page, bar, written, force=force) for run in runs)
    comparison: AnyComparison = parts[0] if len(parts) == 1 else JointComparison(parts=parts)
    selected.of(comparison)  # refuses unknown tables before anything is written
    drawn = page.write(html, comparison)
    write_comparison(comparison, kind, out, json, selected)
    whole = detail or selected != ALL or not all(map(has_overview, comparison.parts))
    if whole or quiet or any(each is not None for each in (format, out)) or json == outputs.STDOUT:
        show_comparison(comparison, kind, out, json, quiet, selected)
    else:
        from diaghoi.report.comparison import print_overview

        print_overview(comparison)
        print_number(comparison.notes)
    if not quiet:
        print_notes(drawn)
        print_written([path for path in (html, out, json) if path not in (None, outputs.STDOUT)])


class Choices(NamedTuple):
    """How predictions are diagnosed: the name of the protocol, a change to it, and variants.

    With ``explain``, differences to the first model are explained; ``slices`` says what to slice
    the models by; with ``only_predicted``, only the images that all files hold are evaluated.
    """

    protocol: str | None
    ap: str | None
    variants: variants.VariantOptions
    priors: priors.PriorOptions
    explain: bool
    slices: SliceOptions | None = None
    only_predicted: bool = False

    def made(self, vocabulary: Vocabulary) -> Protocol:
        """Make the protocol for a data set."""
        return protocol_named(self.protocol or vocabulary.protocol, average_precision=self.ap)

    def check(self) -> None:
        """Refuse invalid choices before anything is read."""
        protocol_named(self.protocol or HICO_DET, average_precision=self.ap)
        self.variants.check()
        self.priors.check()
        if self.slices is not None:
            self.slices.check()

    def check_saved(self, file: Path, result: Mapping[str, Any]) -> None:
        """Refuse a saved result under other choices.

        Raises
        ------
        InputError
            With the option.
        """
        given = result.get("protocol")
        saved = given if isinstance(given, Mapping) else {"name": given}
        kind = choices_of(str(saved.get("signature"))).get("AP")
        for key, asked, found in (
            ("protocol", self.protocol, saved.get("name")),
            ("ap", self.ap, kind),
        ):
            if asked not in (None, found):
                raise other_choice(file, result, key, asked, found)
        lacking = [
            name for name in self.variants.asked if name not in (result.get("variants") or {})
        ]
        if self.priors.asked and "shortcuts" not in result:
            lacking.append("--shortcuts")
        for name in lacking:
            raise InputError(
                f"{file}: was saved without {name}; give the predictions instead, or write it "
                "again with the same options of 'diaghoi report'"
            )


def other_choice(
    file: Path, result: Mapping[str, Any], key: str, asked: str, found: Any
) -> InputError:
    """Say that a result was saved under another choice than what is asked for."""
    command, instead = "report", "give the predictions instead, or "
    if is_semantic(result):
        command, instead = "semantic", ""
    return InputError(
        f"{file}: was saved under {key} {found}, not {asked}; {instead}write it again with "
        f"'diaghoi {command} --{key} {asked}'"
    )


def results_reader() -> Callable[[str | None], Reader]:
    """Return what reads saved results on a data set, each file once."""

    @cache
    def reader(dataset: str | None) -> Reader:
        return cache(lambda path: read_result(path, dataset) or read_semantic(path))

    return reader


def studies_of(
    files: Sequence[Path], lists: Mapping[str, str | None], given: Mapping[str, Any], read: Reader
) -> list[Study]:
    """Read the studies, or make one from the files and the lists that describe them.

    What is given on the command line takes the place of what a study says.
    """
    file = next((file for file in files if file.suffix == ".toml"), None)
    if file is None:
        return [replace(_study(files, lists, read), **given)]
    if len(files) > 1:
        raise InputError(f"{file}: give a study alone; list the other files in it")
    for option, value in lists.items():
        if value is not None:
            raise InputError(f"{option}: {file} sets this for each model; change it there")
    studies = read_studies(file)
    if len(studies) > 1 and given:
        raise InputError(
            f"--{next(iter(given))}: {file} lists studies on several data sets; set this in them"
        )
    return [replace(study, **given) for study in studies]


def _study(files: Sequence[Path], lists: Mapping[str, str | None], read: Reader) -> Study:
    """Make a study from files and the lists that describe them."""
    values = {
        option: options.split_list(option, value, len(files)) for option, value in lists.items()
    }
    models = []
    for row, file in enumerate(files):
        label, stage, backbone, pairs = (each[row] for each in values.values())
        models.append(
            Model(
                label=label or str((read(file) or {}).get("label") or file.stem),
                file=file,
                pairs=Path(pairs) if pairs else None,
                stage=stage,
                backbone=backbone,
            )
        )
    return Study(models=check_models(models))


def _is_semantic(study: Study, read: Reader) -> bool:
    """Whether meaning counts; refuse what cannot be compared by it."""
    saved = {model.file: read(model.file) for model in study.models}
    semantic = [file for file, result in saved.items() if is_semantic(result)]
    others = [
        file
        for file, result in saved.items()
        if file not in semantic and not (study.tables and result is None)
    ]
    if study.tables and others:
        raise InputError(
            f"{others[0]}: is a saved result of mAP, but {study.source} names tables of "
            "similarity; give the predictions"
        )
    if semantic and others:
        raise InputError(
            f"{semantic[0]}: is a result of 'diaghoi semantic --json', {others[0]} is not; compare "
            "semantic results with each other"
        )
    return bool(study.tables or semantic)


def _check_semantic(
    choices: Choices, tests: SignificanceOptions | None, selected: Selection
) -> None:
    """Refuse what the comparison by meaning does not have."""
    if selected != ALL:
        raise InputError("--only, --compact: semantic results have one table; leave this out")
    asked = choices.variants.asked or choices.priors.asked or choices.explain or choices.slices
    if choices.ap is not None or asked or tests is not None:
        raise InputError(
            "--ap, --pair-nms, --detection-threshold, --shortcuts, --explain, --slices, "
            "--significance: are for mAP, and semantic results have soft mAP; leave this out"
        )


def check_readable(
    study: Study, read: Reader, choices: Choices, tests: SignificanceOptions | None
) -> None:
    """Refuse what is wrong with single models before any predictions are read."""
    predicted = None
    for model in study.models:
        result = read(model.file)
        if result is None:
            predicted = predicted or model.file
        elif tests is not None or choices.explain or choices.slices or choices.only_predicted:
            why = "--slices places single predictions"
            if choices.only_predicted:
                why = "--only-predicted-images takes images out"
            if choices.explain:
                why = "--explain follows single predictions"
            if tests is not None:
                why = "--significance tests predictions image by image"
            raise InputError(
                f"{model.file}: is a saved result, but {why}; give the prediction file"
            )
        else:
            _check_saved(study, model, result)
            choices.check_saved(model.file, result)
    if predicted is not None:
        check_annotations(study.annotations, study.vocabulary, predicted)


def compared_study(
    study: Study,
    read: Reader,
    choices: Choices,
    tests: SignificanceOptions | None,
    page: ComparisonPage,
    bar: Progress,
    written: Sequence[Path | None],
    *,
    force: bool,
) -> Comparison:
    """Evaluate the models of a study, or read their saved results, and compare them."""
    from diaghoi.semantic.run_evaluation import evaluate

    whole: Scenes | None = None
    truth: Scenes | None = None
    names: StrArray | None = None
    training: Scenes | None = None
    diagnoses: list[Diagnosis] = []
    results: list[dict[str, Any]] = []
    located: list[str] = []
    tables = tables_of_study(study)
    similarity = None if tables is None else tables.read(bar)
    for model in study.models:
        result = read(model.file)
        if result is None:
            bar.start(f"reading {model.label}")
            predictions = study.open_predictions(model)
            if whole is None:
                whole, located = _annotations(study, predictions.vocabulary, written)
                training = choices.priors.read(whole.vocabulary, bar)
                names = _shared_names(study, whole, bar) if choices.only_predicted else None
            predictions, notes = _plausible(choices, model, whole, predictions, force=force)
            truth, coverage = whole, None
            if names is not None:
                truth, predictions, coverage, note = only_shared(whole, predictions, names)
                notes = [*notes, note]
            bar.start(f"matching {model.label}", total=len(truth))
            if similarity is not None:
                result = evaluate(
                    *(truth, predictions.load()),
                    **similarity,
                    protocol=study.protocol,
                    label=model.label,
                    progress=bar.advance,
                ).to_dict()
            else:
                diagnosis, result = _diagnosed(choices, model, truth, predictions, training, bar)
                result |= {} if coverage is None else {"coverage": coverage}
                page.add(diagnosis, (truth, predictions.load()), result, bar)
                if tests is not None or choices.explain or choices.slices or page.wanted:
                    # Without the boxes, as all diagnoses are in memory together.
                    diagnoses.append(replace(diagnosis, scenes=()))
                del diagnosis
            result["notes"] = [*notes, *result["notes"]]
            del predictions  # free the memory before the next file is read
        else:
            page.add_saved(model.label, result)
        results.append(result)
    if is_semantic(results[0]):
        comparison = compare_semantic(results, study.models)
    else:
        comparison = compared(*results, models=study.models)
    if choices.slices is not None and truth is not None:
        sliced = choices.slices.of(diagnoses, truth, bar)
        comparison = comparison.with_slices(sliced)
    if tests is not None:
        first, *others = diagnoses
        tested = compare_each(first, others, **tests._asdict(), progress=bar.advance)
        comparison = with_tests(comparison, tested, tests, bar)
    if choices.explain:
        comparison = comparison.explain(_differences(diagnoses, tests, bar))
    comparison = replace(comparison, notes=(*located, *comparison.notes))
    # The page shows single images anyway.
    page.explain(study, comparison, lambda: _differences(diagnoses, None, bar, of_images=False))
    return comparison


def _differences(
    diagnoses: Sequence[Diagnosis],
    tests: SignificanceOptions | None,
    bar: Progress,
    *,
    of_images: bool = True,
) -> list[ExplainedDifference]:
    """Explain the difference of each model to the first, with tests where they are asked for."""
    found = []
    for diagnosis in diagnoses[1:]:
        total = 2 * tests.resamples if tests else None
        bar.start(f"explaining the difference of {diagnosis.label}", total=total)
        found.append(
            explained(diagnoses[0], diagnosis, **tests._asdict(), progress=bar.advance)
            if tests
            else explained(diagnoses[0], diagnosis, of_images=of_images)
        )
    return found


def _annotations(
    study: Study, vocabulary: Vocabulary, written: Sequence[Path | None]
) -> tuple[Scenes, list[str]]:
    """Read the annotations, and return notes on where they were found.

    Refuses output files that would overwrite them.
    """
    given = study.annotations
    located = find_annotations(vocabulary) if given is None else in_folder(given, vocabulary)
    outputs.check_files(written, [located.path])
    truth = read_annotations(
        located.path, dataset=vocabulary, instances=study.instances, ids=study.ids
    )
    return truth, located.notes


def _shared_names(study: Study, truth: Scenes, bar: Progress) -> StrArray:
    """Return the names of the images that the annotations and all predictions hold."""
    opened = []
    for model in study.models:
        bar.start(f"reading the images of {model.label}")
        opened.append(alike(truth, study.open_predictions(model)).names)
    return shared_images(truth.names, *opened)


def _plausible(
    choices: Choices,
    model: Model,
    truth: Scenes,
    predictions: SceneSource,
    *,
    force: bool,
) -> tuple[SceneSource, list[str]]:
    """Name the images of predictions as the annotations do; refuse what cannot be evaluated."""
    wanted, found = truth.vocabulary.name, predictions.vocabulary.name
    if wanted != found:
        raise InputError(f"{model.file}: is for {found}, but the annotations are for {wanted}")
    asked = {"--pair-nms": bool(choices.variants.pair_nms), "--shortcuts": choices.priors.asked}
    check_ranked(predictions, asked)
    predictions = alike(truth, predictions)
    return predictions, check_plausible(truth, predictions, force=force)


def _diagnosed(
    choices: Choices,
    model: Model,
    truth: Scenes,
    predictions: SceneSource,
    training: Scenes | None,
    bar: Progress,
) -> tuple[Diagnosis, dict[str, Any]]:
    chosen = choices.made(truth.vocabulary)
    diagnosis = diagnose(truth, predictions, chosen, label=model.label, progress=bar.advance)
    bar.start(f"repairing each error of {model.label}")
    result = diagnosis.to_dict()
    if choices.variants.asked:
        choices.variants.add(result, diagnosis, (truth, predictions.load()), bar)
    if choices.priors.asked:
        choices.priors.add(result, diagnosis, training, bar)
    return diagnosis, result


def _check_saved(study: Study, model: Model, result: Mapping[str, Any]) -> None:
    """Refuse options that contradict a saved result."""
    if model.pairs is not None:
        raise InputError(
            f"{model.pairs}: {model.file} is a saved result, which includes its pairs; leave the "
            "pair file out"
        )
    asked = None if study.vocabulary is None else study.vocabulary.name
    if asked not in (None, result.get("dataset")):
        raise other_choice(model.file, result, "dataset", str(asked), result.get("dataset"))
