"""``diaghoi compare``: comparison of detectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from diaghoi.cli import options, outputs
from diaghoi.cli.analyses import ModelAnalyses, SignificanceOptions, with_tests
from diaghoi.cli.locate import find_annotations
from diaghoi.cli.options import argument, option, options_class, with_options
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import Inputs, ProtocolOptions, ReadingOptions, check_annotations
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
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.plausibility import check_plausible
from diaghoi.exceptions import InputError, printable
from diaghoi.formats import read_annotations
from diaghoi.formats.description import vocabulary as vocabulary_named
from diaghoi.statistics.significance import compare_each

if TYPE_CHECKING:
    from diaghoi.report.html import PageModel

KINDS = (".json", *outputs.TABLES, ".html", *outputs.FIGURES)


@options_class
class TableOptions(outputs.ScreenOptions):
    """Options for the tables of a comparison and their outputs."""

    table: list[str] | None = option(
        None,
        metavar="NAME,...",
        panel=options.FILES,
        help="Only these tables: a heading (pairs, 'dmap (rare)'), overview, compact (for a "
        "paper's column) or NAME-by-data-set (side by side). JSON has all tables.",
    )
    columns: list[str] | None = option(
        None,
        metavar="NAME,...",
        panel=options.FILES,
        help="Only these columns, in this order (mAP, rare, dmap.association, pairs.recall).",
    )

    def selected(self, comparison: AnyComparison) -> AnyComparison:
        """Select the requested tables and columns of a comparison, by default all."""
        return selected(comparison, self.table or (), self.columns or ())

    def texts(self, comparison: AnyComparison) -> dict[str, outputs.Text]:
        """Create the text files of a comparison, by suffix."""
        from diaghoi.report.comparison import to_text
        from diaghoi.report.latex import to_latex
        from diaghoi.report.markdown import to_markdown
        from diaghoi.report.spreadsheet import to_csv

        shown = self.selected(comparison)
        return {
            ".json": lambda: outputs.as_json(comparison.to_dict())[".json"](),
            ".txt": lambda: to_text(shown),
            ".md": lambda: to_markdown(shown),
            ".tex": lambda: to_latex(shown),
            ".csv": lambda: to_csv(shown),
        }

    def show_tables(self, comparison: AnyComparison) -> None:
        """Print one screen of a comparison, or all tables in detail, or the requested tables."""
        from diaghoi.report.comparison import print_comparison, print_overview

        overview = all(map(has_overview, comparison.parts))
        if self.detail or self.table or self.columns or not overview:
            shown = self.selected(comparison)
            print_comparison(shown, notes=False)
            outputs.print_notes([*comparison.caveats, *shown.notes])
        else:
            print_overview(comparison)
            outputs.print_number(comparison.notes)


@options_class
class CompareOptions(TableOptions):
    """Options for comparing detectors, and for outputs."""

    models: list[Path] = argument(
        metavar="FILES...",
        help="Predictions, saved diagnoses or results of 'report --json'; or only results of "
        "'semantic --json'; or one .toml file that lists them.",
    )
    labels: options.Labels = None
    stage: str | None = option(
        None, rare=True, help="Stage of each model, 'one' or 'two', separated by commas."
    )
    backbone: str | None = option(None, rare=True, help="Backbones, separated by commas.")
    annotations: options.Annotations = None
    pairs: str | None = option(None, panel=options.READING, help="Pair files, separated by commas.")
    reading: ReadingOptions
    only_predicted_images: options.OnlyPredicted = False
    evaluation: ProtocolOptions
    analyses: ModelAnalyses
    tests: SignificanceOptions
    page: outputs.PageOptions
    column: options.Column = "double"

    @cached_property
    def saved(self) -> Callable[[Path, str | None], dict[str, Any] | None]:
        """Function that reads a saved result once per file and data set; None for other files."""
        return cache(lambda file, dataset: read_result(file, dataset) or read_semantic(file))

    @property
    def follows_triplets(self) -> str:
        """The first requested option that needs individual predictions; empty if there is none."""
        needs = {
            "--only-predicted-images leaves out images": self.only_predicted_images,
            "--also explain compares single predictions": "explain" in self.analyses,
            "--significance tests predictions image by image": self.tests.significance,
            "--also slices assigns single predictions to slices": "slices" in self.analyses,
        }
        return next((why for why, needed in needs.items() if needed), "")

    def check_files(self, inputs: Iterable[Path | None]) -> None:
        """Reject files that cannot be written or read."""
        self.check(KINDS, [*inputs, *self.analyses.files, *self.evaluation.files], "comparison")

    def of_study(self, study: Study) -> ProtocolOptions:
        """Return the evaluation options for the models of a study."""
        return replace(self.evaluation, protocol=study.protocol)


class Compared(NamedTuple):
    """The compared models of a study.

    Parameters
    ----------
    comparison : Comparison
        Comparison of the models.
    results : list of dict
        Results of the models.
    diagnoses : list of Diagnosis
        Diagnoses of the models whose predictions were read; empty if no output needs diagnoses.
    models : list of PageModel
        Page content of each model, if there is a page.
    """

    comparison: Comparison
    results: list[dict[str, Any]]
    diagnoses: list[Diagnosis]
    models: list[PageModel]


@with_options
def compare(choices: CompareOptions) -> None:
    """Compare detectors: mAP, errors and their costs, pairs, negatives, actions.

    Results of 'semantic --json', and the models of a study that names tables of similarity, are
    compared by soft mAP, mF1 and miss rates.
    """
    check_table_names(choices.table or ())
    choices.check_files(choices.models)
    in_file = ".html" in choices.output_files(KINDS, "comparison").values()
    choices.page.check(in_file)
    _ = choices.analyses.tags  # refuses unreadable files
    studies = _studies(choices)
    opens, several = choices.page.open, len(studies) > 1
    if opens and several:
        raise InputError(f"{choices.models[0]}: lists studies on several data sets; give one study")
    semantic = [_check(choices, study) for study in studies]
    # The figure shows ΔmAP on one data set; ΔmAP does not use the meaning of words.
    drawn = () if several or any(semantic) else outputs.FIGURES
    kinds = [kind for kind in KINDS if kind in drawn or kind not in outputs.FIGURES]
    written = choices.output_files(kinds, "comparison")
    # Models of several data sets cannot share a page.
    page_of = (
        None if several or not (opens or in_file) else {"shown": outputs.SHOWN} if opens else {}
    )
    with progress(choices.quiet) as bar:
        runs = [_compared(choices, study, page_of, bar) for study in studies]
        first, *others = parts = tuple(run.comparison for run in runs)
        comparison: AnyComparison = JointComparison(parts=parts) if others else first
        texts = choices.texts(comparison)  # refuses unknown tables before anything is written
        models, explained = ([], comparison) if others else _explained(runs[0], bar)
        files = [file for study in studies for file in _files(study) if file is not None]

        def page(path: Path) -> list[str]:
            from diaghoi.report.html import write_comparison_html

            pictures = choices.page.pictures
            return write_comparison_html(path, explained, models, files=files, pictures=pictures)

        writers: dict[str, outputs.Writer] = {".html": page}
        for kind in drawn:
            writers[kind] = lambda path: outputs.draw(runs[0].results, path, choices.column)
        remarks = choices.write(texts, writers, "comparison")
        served = None
        if opens:
            from diaghoi.report.html import Page

            bar.start("collecting the page")
            alone = None if len(models) == 1 else explained
            served = Page.of(models, alone, files=files, every_image=True)
    choices.show(texts, lambda: choices.show_tables(comparison), remarks, written)
    if served is not None:
        choices.page.serve(served, choices.quiet)


def _files(study: Study) -> list[Path | None]:
    """List the annotation file of a study, and the prediction and pair files of the models."""
    return [study.annotations, *(path for m in study.models for path in (m.file, m.pairs))]


def _check(choices: CompareOptions, study: Study) -> bool:
    """Reject an invalid study before reading predictions; return whether to compare by meaning."""
    choices.of_study(study).check(study.vocabulary)
    choices.check_files([*_files(study), study.instances, study.ids, *study.tables])
    choices.tests.check(len(study.models))
    if "explain" in choices.analyses and len(study.models) < 2:
        raise InputError("--also explain: compares models; give at least two")
    saved = {model.file: choices.saved(model.file, study.dataset) for model in study.models}
    semantic = _is_semantic(choices, study, saved)
    predicted = [file for file, result in saved.items() if result is None]
    for model in study.models:
        result = saved[model.file]
        for why in () if result is None else _contradictions(choices, study, model, result):
            command = "semantic" if is_semantic(result) else "report"
            instead = "" if is_semantic(result) else "give the predictions instead, or "
            raise InputError(
                f"{model.file}: {why}; {instead}write the file again with the options of this "
                f"comparison, by 'diaghoi {command}'"
            )
    if predicted:
        check_annotations(study.annotations, study.vocabulary, predicted[0], **study.reading)
    return semantic


def _contradictions(
    choices: CompareOptions, study: Study, model: Model, result: Mapping[str, Any]
) -> Iterator[str]:
    """Describe how a saved result differs from what is requested."""
    evaluation, words = choices.of_study(study), study.vocabulary
    if choices.follows_triplets:
        yield f"is a saved result, but {choices.follows_triplets}"
    if model.pairs is not None:
        yield f"is a saved result, which includes its pairs, but {model.pairs} is given"
    if words is not None and words.name != result.get("dataset"):
        yield f"was saved under --dataset {result.get('dataset')}, not {words.name}"
    if study.protocol is not None:
        made = evaluation.made(words or vocabulary_named("hico-det"))
        if line := other_protocol(result, made):
            yield f"was saved under --protocol {line}, not {study.protocol}"
    lacking = {name: name in (result.get("variants") or {}) for name in choices.analyses.variants}
    if "shortcuts" in choices.analyses:
        lacking["--also shortcuts"] = "shortcuts" in result
    if evaluation.zero_shot or evaluation.groups:
        made = evaluation.made(words or vocabulary_named(str(result.get("dataset"))))
        groups = [group.name for group in made.groups]
        lacking[f"the groups {', '.join(groups)}"] = {*groups} <= {*(result.get("map") or {})}
    yield from (f"was saved without {name}" for name, has in lacking.items() if not has)


def _studies(choices: CompareOptions) -> list[Study]:
    """Read the studies, or create one from the files and options.

    Options override the study.
    """
    files, protocol = choices.models, choices.evaluation.protocol
    given = choices.reading.of_study(annotations=choices.annotations, protocol=protocol)
    lists = {name: getattr(choices, name) for name in ("labels", "stage", "backbone", "pairs")}
    file = next((file for file in files if file.suffix == ".toml"), None)
    if file is None:
        split = (options.split_list(f"--{key}", each, len(files)) for key, each in lists.items())
        models = [
            Model(
                label=label
                or str(
                    (choices.saved(file, choices.reading.dataset) or {}).get("label")
                    or printable(file.stem)
                ),
                file=file,
                pairs=Path(pairs) if pairs else None,
                stage=stage,
                backbone=backbone,
            )
            for file, label, stage, backbone, pairs in zip(files, *split, strict=True)
        ]
        return [Study(models=check_models(models), **given)]
    if len(files) > 1:
        raise InputError(
            f"{file}: a study must be the only file; list the other files in the study"
        )
    for name, value in lists.items():
        if value is not None:
            raise InputError(
                f"--{name}: {file} sets the value for each model; change the value in the file"
            )
    studies = read_studies(file)
    if len(studies) > 1 and given:
        raise InputError(
            f"--{next(iter(given))}: {file} lists studies on several data sets; set the value in "
            "each study"
        )
    return [replace(study, **given) for study in studies]


def _is_semantic(
    choices: CompareOptions, study: Study, saved: Mapping[Path, Mapping[str, Any] | None]
) -> bool:
    """Return whether to compare models by meaning, and reject unsuitable inputs and options."""
    semantic = [file for file, result in saved.items() if is_semantic(result)]
    evaluated = [file for file, result in saved.items() if study.similarity and result is None]
    if not (study.similarity or semantic):
        return False
    for file in saved:
        if file not in (*semantic, *evaluated):
            by = study.source if study.similarity else semantic[0]
            raise InputError(
                f"{file}: is compared by mAP, but {by} is compared by meaning; give predictions "
                "with a study that names tables of similarity, or only results of 'diaghoi "
                "semantic --json'"
            )
    evaluation, tests = choices.evaluation, choices.tests
    given = {
        "--table, --columns": choices.table or choices.columns,
        "--open": choices.page.open,
        "--also": choices.analyses.values,
        "--significance": tests.significance,
        "--zero-shot, --groups": evaluation.zero_shot or evaluation.groups,
    }
    for words in (words for words, value in given.items() if value):
        raise InputError(
            f"{words}: applies to mAP, but the models are compared by meaning; leave the option out"
        )
    return True


def _compared(
    choices: CompareOptions, study: Study, page_of: dict[str, Any] | None, bar: Progress
) -> Compared:
    """Evaluate the models of a study, or read their saved results, and compare them.

    ``page_of`` contains the keyword arguments for the page content of a model; None without a page.
    """
    from diaghoi.semantic.run_evaluation import evaluate
    from diaghoi.semantic.tables.senses import read_tables

    whole: Scenes | None = None
    truth: SceneSource | None = None
    names: StrArray | None = None
    training: Scenes | None = None
    diagnoses: list[Diagnosis] = []
    models: list[PageModel] = []
    results: list[dict[str, Any]] = []
    located: list[str] = []
    analyses, tests = choices.analyses, choices.tests
    similarity = None
    if study.similarity is not None:  # the models are compared by meaning
        bar.start("reading tables of similarity")
        similarity = read_tables(study.similarity, study.synsets)
    for model in study.models:
        result = choices.saved(model.file, study.dataset)
        if result is None:
            bar.start(f"reading {model.label}")
            predictions = study.open_predictions(model)
            if whole is None:
                path, located = find_annotations(predictions.vocabulary, study.annotations)
                choices.check_files([path])
                whole = read_annotations(
                    path,
                    dataset=predictions.vocabulary,
                    instances=study.instances,
                    ids=study.ids,
                )
                training = analyses.training(whole.vocabulary, bar)
                only = choices.only_predicted_images
                names = _shared_names(study, whole, bar) if only else None
            read = _plausible(choices, model, whole, predictions)
            if names is not None:
                read = read.only(names)
            truth, predictions = read.annotations, read.predictions
            bar.start(f"matching {model.label}", total=len(truth))
            how: dict[str, Any] = {"label": model.label, "progress": bar.advance}
            if similarity is not None:
                how |= {"protocol": study.protocol, **similarity}
                result = evaluate(*read.scenes, **how).to_dict()
            else:
                made = choices.of_study(study).made(truth.vocabulary)
                diagnosis = diagnose(truth, predictions, made, **how)
                bar.start(f"repairing each error of {model.label}")
                result = diagnosis.to_dict()
                analyses.add_to_model(result, diagnosis, (truth, predictions), training, bar)
                if read.coverage is not None:
                    result["coverage"] = read.coverage
                # Boxes are freed, because all diagnoses are in memory at once.
                without = diagnosis.without_scenes()
                if page_of is not None:
                    from diaghoi.report.html import page_model

                    bar.start(f"collecting the cases of {model.label}")
                    page = page_model(diagnosis, read.scenes, result=result, **page_of)
                    models.append(replace(page, diagnosis=without))
                if choices.follows_triplets or page_of is not None:
                    diagnoses.append(without)
                del diagnosis
            result["notes"] = [*read.notes, *result["notes"]]
            del read, predictions  # free memory before the next file is read
        elif page_of is not None and not is_semantic(result):
            from diaghoi.report.html import PageModel

            models.append(PageModel(result=result | {"label": model.label}))
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
    return Compared(comparison, results, diagnoses, models)


def _explained(part: Compared, bar: Progress) -> tuple[list[PageModel], Comparison]:
    """Explain the differences between the models on a page, but not by image."""
    from diaghoi.report.html import PageModel

    comparison, models = part.comparison, part.models
    if len(part.diagnoses) == len(models) > 1 and not comparison.explained:
        try:
            differences = _differences(part.diagnoses, None, bar, of_images=False)
            return models, comparison.explain(differences)
        except InputError as error:
            # If the models have different images, the page shows only the means of each model, with
            # a note.
            models = [PageModel(result=each.result) for each in models]
            return models, replace(comparison, notes=(str(error), *comparison.notes))
    return models, comparison


def _differences(
    diagnoses: Sequence[Diagnosis],
    tests: SignificanceOptions | None,
    bar: Progress,
    *,
    of_images: bool = True,
) -> list[ExplainedDifference]:
    """Explain the difference between each model and the first, with tests if requested."""
    settings: dict[str, Any] = {"of_images": of_images}
    total = None
    if tests is not None and tests.significance:
        settings, total = {**tests.settings, "progress": bar.advance}, 2 * tests.resamples
    found = []
    for diagnosis in diagnoses[1:]:
        bar.start(f"explaining the difference of {diagnosis.label}", total=total)
        found.append(explained(diagnoses[0], diagnosis, **settings))
    return found


def _shared_names(study: Study, truth: Scenes, bar: Progress) -> StrArray:
    """Return the names of the images that are in the annotations and in all prediction files."""
    opened = []
    for model in study.models:
        bar.start(f"reading the images of {model.label}")
        opened.append(alike(truth, study.open_predictions(model)).names)
    return shared_images(truth.names, *opened)


def _plausible(
    choices: CompareOptions, model: Model, truth: Scenes, predictions: SceneSource
) -> Inputs:
    """Rename the images of predictions as in the annotations; reject unusable predictions."""
    wanted, read = truth.vocabulary.name, predictions.vocabulary.name
    if wanted != read:
        raise InputError(f"{model.file}: is for {read}, but the annotations are for {wanted}")
    choices.analyses.check_ranked(predictions)
    predictions = alike(truth, predictions)
    notes = check_plausible(truth, predictions, force=choices.reading.force)
    return Inputs(truth, predictions, [], notes)
