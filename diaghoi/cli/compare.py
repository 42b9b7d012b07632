"""``diaghoi compare``: detectors side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from diaghoi.cli import options, outputs
from diaghoi.cli.analyses import EXPLAIN, Analyses, SignificanceOptions, with_tests
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.options import argument, option, options_class, with_options
from diaghoi.cli.page import SHOWN, ComparisonPage, PageOptions
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import ProtocolOptions, ReadingOptions, check_annotations, only_shared
from diaghoi.cli.similarity import tables_of_study
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.comparison import compare as compared
from diaghoi.comparison.explained import ExplainedDifference, explained
from diaghoi.comparison.joint import AnyComparison, JointComparison
from diaghoi.comparison.results import is_semantic, other_protocol, read_result, read_semantic
from diaghoi.comparison.selection import check_table_names, has_overview, selected
from diaghoi.comparison.semantic import compare_semantic
from diaghoi.comparison.study import Model, Study, check_models, read_studies
from diaghoi.data.arrays import StrArray
from diaghoi.data.joining import alike, shared_images
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.plausibility import check_plausible
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations
from diaghoi.formats.description import vocabulary as vocabulary_named
from diaghoi.statistics.significance import compare_each

Reader = Callable[[Path], dict[str, Any] | None]
KINDS = (".json", *outputs.TABLES, ".html", *outputs.FIGURES)


@options_class
class TableOptions(outputs.OutputOptions):
    """Which tables of a comparison are shown, and where they go."""

    table: list[str] | None = option(
        None,
        metavar="NAME,...",
        panel=options.FILES,
        help="Only these tables, by their headings (pairs, 'dmap (rare)'); overview; compact: for "
        "a column of a paper; NAME-by-data-set: data sets side by side. JSON holds all.",
    )
    columns: list[str] | None = option(
        None,
        metavar="NAME,...",
        panel=options.FILES,
        help="Only these columns, in this order (mAP, rare, dmap.association, pairs.recall).",
    )
    detail: options.Detail = False

    def selected(self, comparison: AnyComparison) -> AnyComparison:
        """Select the tables and columns of a comparison that are asked for; all where none is."""
        return selected(comparison, self.table or (), self.columns or ())

    def texts(self, comparison: AnyComparison) -> dict[str, outputs.Text]:
        """Make the text files of a comparison, by their suffixes."""
        from diaghoi.report.comparison import to_text
        from diaghoi.report.latex import to_latex
        from diaghoi.report.markdown import to_markdown
        from diaghoi.report.spreadsheet import to_csv

        shown = self.selected(comparison)
        return {
            **outputs.as_json(comparison.to_dict()),
            ".txt": lambda: to_text(shown),
            ".md": lambda: to_markdown(shown),
            ".tex": lambda: to_latex(shown),
            ".csv": lambda: to_csv(shown),
        }

    def show_tables(self, comparison: AnyComparison) -> None:
        """Print one screen of a comparison, or in detail all of it, or the tables asked for."""
        from diaghoi.report.comparison import print_comparison, print_overview

        overview = all(map(has_overview, comparison.parts))
        if self.detail or self.table or self.columns or not overview:
            print_comparison(self.selected(comparison), notes=False)
            outputs.print_notes([*comparison.caveats, *comparison.notes])
        else:
            print_overview(comparison)
            outputs.print_number(comparison.notes)


@options_class
class CompareOptions(TableOptions):
    """Which detectors are compared, how, and what is written."""

    models: list[Path] = argument(
        metavar="FILES...",
        help="Predictions, saved diagnoses or results of 'report --json', all of them results of "
        "'semantic --json', or one .toml file that lists them.",
    )
    labels: options.Labels = None
    stage: str | None = option(None, rare=True, help="one or two, for each model, with commas.")
    backbone: str | None = option(None, rare=True, help="Backbones, separated by commas.")
    annotations: options.Annotations = None
    pairs: str | None = option(None, panel=options.READING, help="Pair files, with commas between.")
    reading: ReadingOptions
    only_predicted_images: options.OnlyPredicted = False
    evaluation: ProtocolOptions
    also: list[str] | None = options.also(EXPLAIN)
    tests: SignificanceOptions
    page: PageOptions
    column: options.Column = "double"

    @property
    def analyses(self) -> Analyses:
        """What is asked for beyond the usual tables."""
        return Analyses(self.also, EXPLAIN)

    @property
    def follows_triplets(self) -> str:
        """The first option given that needs single predictions; empty where none is."""
        needs = {
            "--only-predicted-images takes images out": self.only_predicted_images,
            "--also explain follows single predictions": "explain" in self.analyses,
            "--significance tests predictions image by image": self.tests.significance,
            "--also slices places single predictions": "slices" in self.analyses,
        }
        return next((why for why, needed in needs.items() if needed), "")

    def check_files(self, inputs: Sequence[Path | None]) -> None:
        """Refuse files that cannot be written or read."""
        self.check(KINDS, inputs, "comparison")


@with_options
def compare(choices: CompareOptions) -> None:
    """Compare detectors: mAP, errors and their costs, pairs, negatives, actions.

    Results of 'semantic --json', and the models of a study that names tables of similarity, are
    compared by soft mAP, mF1 and miss rates.
    """
    check_table_names(choices.table or ())
    analyses = choices.analyses
    choices.check_files([*choices.models, *analyses.files, *choices.evaluation.files])
    in_file = ".html" in choices.output_files(KINDS, "comparison").values()
    choices.page.check(in_file)
    _ = analyses.tags  # refuses those that cannot be read

    @cache
    def reader(dataset: str | None) -> Reader:
        return cache(lambda path: read_result(path, dataset) or read_semantic(path))

    studies = _studies(choices, reader(choices.reading.dataset))
    if choices.page.open and len(studies) > 1:
        raise InputError(f"{choices.models[0]}: lists studies on several data sets; give one")
    semantic = [_check(choices, study, reader(study.dataset)) for study in studies]
    # Figures of several data sets are those of 'diaghoi figures'; ΔmAP has no meaning of words.
    drawn = () if len(studies) > 1 or any(semantic) else outputs.FIGURES
    kinds = [kind for kind in KINDS if kind in drawn or kind not in outputs.FIGURES]
    written = choices.output_files(kinds, "comparison")
    opens = choices.page.open
    page = ComparisonPage(wanted=opens or in_file, shown=SHOWN if opens else None)
    with progress(choices.quiet) as bar:
        parts = tuple(
            _compared(choices, study, reader(study.dataset), page, bar) for study in studies
        )
        comparison: AnyComparison = parts[0] if len(parts) == 1 else JointComparison(parts=parts)
        texts = choices.texts(comparison)  # refuses unknown tables before anything is written
        writers: dict[str, outputs.Writer] = {
            ".html": lambda path: page.write(path, comparison, choices.page.pictures)
        }
        for kind in drawn:
            writers[kind] = lambda path: outputs.draw(page.results, path, choices.column)
        remarks = choices.write(texts, writers, "comparison")
        served = None
        if opens:
            bar.start("collecting the page")
            served = page.page(comparison)
    choices.show(texts, lambda: choices.show_tables(comparison), remarks, written)
    if served is not None:
        choices.page.serve(served, choices.quiet)


def _check(choices: CompareOptions, study: Study, read: Reader) -> bool:
    """Refuse what is wrong with a study before any predictions are read; say if meaning counts."""
    evaluation = _evaluation(choices, study)
    evaluation.check(study.vocabulary)
    inputs = [path for model in study.models for path in (model.file, model.pairs)]
    inputs += [study.annotations, study.instances, study.ids, *study.tables.values()]
    choices.check_files([*inputs, *choices.analyses.files, *choices.evaluation.files])
    choices.tests.check(len(study.models))
    if "explain" in choices.analyses and len(study.models) < 2:
        raise InputError("--also explain: is between models; give at least two")
    semantic = _is_semantic(study, read)
    if semantic:
        _check_semantic(choices)
    predicted = None
    for model in study.models:
        result = read(model.file)
        if result is None:
            predicted = predicted or model.file
        elif choices.follows_triplets:
            raise InputError(
                f"{model.file}: is a saved result, but {choices.follows_triplets}; give the "
                "prediction file"
            )
        else:
            _check_saved(choices, study, model, result)
    if predicted is not None:
        check_annotations(study.annotations, study.vocabulary, predicted, **study.reading)
    return semantic


def _evaluation(choices: CompareOptions, study: Study) -> ProtocolOptions:
    """Return how the models of a study are evaluated."""
    return replace(choices.evaluation, protocol=study.protocol)


def _check_saved(
    choices: CompareOptions, study: Study, model: Model, result: Mapping[str, Any]
) -> None:
    """Refuse options that contradict a saved result."""
    if model.pairs is not None:
        raise InputError(
            f"{model.pairs}: {model.file} is a saved result, which includes its pairs; leave the "
            "pair file out"
        )
    asked = None if study.vocabulary is None else study.vocabulary.name
    if asked not in (None, result.get("dataset")):
        raise _other_choice(model.file, result, "dataset", str(asked), result.get("dataset"))
    if study.protocol is not None:
        known = study.vocabulary or vocabulary_named("hico-det")
        line = other_protocol(result, _evaluation(choices, study).made(known))
        if line:
            raise _other_choice(model.file, result, "protocol", str(study.protocol), line)
    analyses = choices.analyses
    lacking = [name for name in analyses.variants if name not in (result.get("variants") or {})]
    if "shortcuts" in analyses and "shortcuts" not in result:
        lacking.append("--also shortcuts")
    evaluation = _evaluation(choices, study)
    if evaluation.zero_shot or evaluation.groups:
        known = study.vocabulary or vocabulary_named(str(result.get("dataset")))
        groups = [group.name for group in evaluation.made(known).groups]
        if not set(groups) <= {*(result.get("map") or {})}:
            lacking.append(f"the groups {', '.join(groups)}")
    for name in lacking:
        raise InputError(
            f"{model.file}: was saved without {name}; give the predictions instead, or write it "
            "again with the same options of 'diaghoi report'"
        )


def _other_choice(
    file: Path, result: Mapping[str, Any], key: str, asked: str, saved: Any
) -> InputError:
    """Say that a result was saved under another choice than what is asked for."""
    command, instead = "report", "give the predictions instead, or "
    if is_semantic(result):
        command, instead = "semantic", ""
    return InputError(
        f"{file}: was saved under {key} {saved}, not {asked}; {instead}write it again with "
        f"'diaghoi {command} --{key} {asked}'"
    )


def _studies(choices: CompareOptions, read: Reader) -> list[Study]:
    """Read the studies, or make one from the files and the lists that describe them.

    What is given on the command line takes the place of what a study says.
    """
    files, protocol = choices.models, choices.evaluation.protocol
    given = choices.reading.of_study(annotations=choices.annotations, protocol=protocol)
    lists = {name: getattr(choices, name) for name in ("labels", "stage", "backbone", "pairs")}
    file = next((file for file in files if file.suffix == ".toml"), None)
    if file is None:
        return [replace(_study(files, lists, read), **given)]
    if len(files) > 1:
        raise InputError(f"{file}: give a study alone; list the other files in it")
    for name, value in lists.items():
        if value is not None:
            raise InputError(f"--{name}: {file} sets this for each model; change it there")
    studies = read_studies(file)
    if len(studies) > 1 and given:
        raise InputError(
            f"--{next(iter(given))}: {file} lists studies on several data sets; set this in them"
        )
    return [replace(study, **given) for study in studies]


def _study(files: Sequence[Path], lists: Mapping[str, str | None], read: Reader) -> Study:
    """Make a study from files and the lists that describe them."""
    models = []
    columns = (options.split_list(f"--{name}", each, len(files)) for name, each in lists.items())
    for file, label, stage, backbone, pairs in zip(files, *columns, strict=True):
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
    evaluated = [file for file, result in saved.items() if study.tables and result is None]
    others = [file for file in saved if file not in (*semantic, *evaluated)]
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


def _check_semantic(choices: CompareOptions) -> None:
    """Refuse what the comparison by meaning does not have."""
    if choices.table or choices.columns:
        raise InputError("--table, --columns: semantic results have one table; leave this out")
    if choices.page.open:
        raise InputError("--open: shows mAP and errors, and these models are compared by meaning")
    groups = choices.evaluation.zero_shot or choices.evaluation.groups
    if choices.analyses or choices.tests.significance or groups:
        raise InputError(
            "--also, --significance, --zero-shot, --groups: are for mAP, and semantic results have "
            "soft mAP; leave this out"
        )


def _compared(
    choices: CompareOptions, study: Study, read: Reader, page: ComparisonPage, bar: Progress
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
    analyses, tests = choices.analyses, choices.tests
    tables = tables_of_study(study)
    similarity = None if tables is None else tables.read(bar)
    for model in study.models:
        result = read(model.file)
        if result is None:
            bar.start(f"reading {model.label}")
            predictions = study.open_predictions(model)
            if whole is None:
                whole, located = _annotations(choices, study, predictions.vocabulary)
                training = analyses.training(whole.vocabulary, bar)
                only = choices.only_predicted_images
                names = _shared_names(study, whole, bar) if only else None
            predictions, notes = _plausible(choices, model, whole, predictions)
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
                made = _evaluation(choices, study).made(truth.vocabulary)
                diagnosis = diagnose(
                    truth, predictions, made, label=model.label, progress=bar.advance
                )
                bar.start(f"repairing each error of {model.label}")
                result = diagnosis.to_dict()
                sources = truth, predictions
                analyses.add_to_model(result, diagnosis, sources, training, bar)
                result |= {} if coverage is None else {"coverage": coverage}
                page.add(diagnosis, (truth, predictions.load()), result, bar)
                if choices.follows_triplets or page.wanted:
                    # Without the boxes, as all diagnoses are in memory together.
                    diagnoses.append(diagnosis.without_scenes())
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
    if truth is not None and (sliced := analyses.slices(diagnoses, truth, tests, bar)):
        comparison = comparison.with_slices(sliced)
    if tests.significance:
        first, *others = diagnoses
        tested = compare_each(first, others, **tests.settings, progress=bar.advance)
        comparison = with_tests(comparison, tested, tests, bar)
    if "explain" in analyses:
        comparison = comparison.explain(_differences(diagnoses, tests, bar))
    comparison = replace(comparison, notes=(*located, *comparison.notes))
    # The page shows single images anyway.
    page.results += results
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
    settings: dict[str, Any] = {"of_images": of_images}
    total = None
    if tests is not None and tests.significance:
        settings, total = {**tests.settings, "progress": bar.advance}, 2 * tests.resamples
    found = []
    for diagnosis in diagnoses[1:]:
        bar.start(f"explaining the difference of {diagnosis.label}", total=total)
        found.append(explained(diagnoses[0], diagnosis, **settings))
    return found


def _annotations(
    choices: CompareOptions, study: Study, vocabulary: Vocabulary
) -> tuple[Scenes, list[str]]:
    """Read the annotations, and return notes on where they were found.

    Refuses output files that would overwrite them.
    """
    given = study.annotations
    located = find_annotations(vocabulary) if given is None else in_folder(given, vocabulary)
    choices.check_files([located.path])
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
    choices: CompareOptions, model: Model, truth: Scenes, predictions: SceneSource
) -> tuple[SceneSource, list[str]]:
    """Name the images of predictions as the annotations do; refuse what cannot be evaluated."""
    wanted, read = truth.vocabulary.name, predictions.vocabulary.name
    if wanted != read:
        raise InputError(f"{model.file}: is for {read}, but the annotations are for {wanted}")
    choices.analyses.check_ranked(predictions)
    predictions = alike(truth, predictions)
    return predictions, check_plausible(truth, predictions, force=choices.reading.force)
