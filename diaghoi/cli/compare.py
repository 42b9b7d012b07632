"""``diaghoi compare``: detectors side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import floor
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import Progress, progress
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.comparison import compare as compared
from diaghoi.comparison.results import read_result
from diaghoi.comparison.study import Model, Study, check_models, read_study
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.plausibility import plausibility_warnings
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats import read_annotations
from diaghoi.formats.containers.atomic import replacing
from diaghoi.report.json import to_json, write_json
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv
from diaghoi.statistics.significance import Difference, compare_pair, corrected, level_of

Reader = Callable[[Path], dict[str, Any] | None]
Run = TypeVar("Run")
FORMATS = ("text", "markdown", "latex", "csv", "json")
ENDINGS = {".txt": "text", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}

Files = Annotated[
    list[Path],
    typer.Argument(
        help="Prediction files or results of 'report --json', or one .toml file that lists them.",
        readable=False,
    ),
]
Labels = Annotated[str | None, typer.Option(help="Names, by commas [names of the files].")]
Stage = Annotated[str | None, typer.Option(help="one or two for each model, by commas.")]
Backbone = Annotated[str | None, typer.Option(help="Backbones, by commas.")]
Pairs = Annotated[
    str | None,
    typer.Option(help="Files of predicted pairs, by commas.", rich_help_panel=options.READING),
]
Protocol = Annotated[
    str | None,
    typer.Option(help="As for report [that of the data set].", rich_help_panel=options.COUNTS),
]
Format = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(FORMATS)} [by the ending of --out, or text].",
        rich_help_panel=options.FILES,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Write the tables to this file, not to stdout.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]


Significance = Annotated[
    bool,
    typer.Option(
        "--significance", help="Test each model against the first.", rich_help_panel=options.SURE
    ),
]


class Tests(NamedTuple):
    """How models are tested against the first."""

    resamples: int
    confidence: float
    seed: int


def compare(
    files: Files,
    labels: Labels = None,
    stage: Stage = None,
    backbone: Backbone = None,
    annotations: options.Annotations = None,
    pairs: Pairs = None,
    dataset: options.Dataset = None,
    protocol: Protocol = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    format: Format = None,
    out: Out = None,
    json: options.Json = None,
    significance: Significance = False,
    resamples: options.Resamples = 1000,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Compare detectors: mAP, errors and what they cost, pairs, negatives, actions."""
    kind = table_kind(format, out)
    lists = {"--labels": labels, "--stage": stage, "--backbone": backbone, "--pairs": pairs}
    read = cache(read_result)
    study = _study(files, lists, read)
    given: dict[str, Any] = {
        "annotations": annotations,
        "instances": instances,
        "ids": ids,
        "dataset": dataset,
        "protocol": protocol,
    }
    study = replace(study, **{key: value for key, value in given.items() if value is not None})
    if study.protocol is not None:
        protocol_named(study.protocol)
    inputs = [path for model in study.models for path in (model.file, model.pairs)]
    written = [out, json]
    outputs.check_files(written, [*files, *inputs, study.annotations, study.instances, study.ids])
    tests = tests_wanted(significance, resamples, confidence, seed)
    with progress(quiet) as bar:
        comparison = _comparison(study, read, bar, written, tests)
    write_comparison(comparison, kind, out, json)
    show_comparison(comparison, kind, out, json, quiet)


def tests_wanted(significance: bool, resamples: int, confidence: float, seed: int) -> Tests | None:
    """Collect how models are tested, if they are.

    Raises
    ------
    InputError
        For fewer than two resamples.
    """
    if not significance:
        return None
    if resamples < 2:
        raise InputError(f"--resamples {resamples}: give at least two resamples, usually 1000")
    return Tests(resamples, confidence, seed)


def table_kind(format: str | None, out: Path | None) -> str:
    """Choose how the tables are written: one of :data:`FORMATS`.

    Raises
    ------
    InputError
        For an unknown format or ending.
    """
    if format is None:
        if out is None or not out.suffix:
            return "text"
        if out.suffix.lower() not in ENDINGS:
            raise InputError(
                f"{out}: the ending {out.suffix} is not known; give one of {', '.join(ENDINGS)}, "
                "or --format"
            )
        return ENDINGS[out.suffix.lower()]
    if format not in FORMATS:
        raise InputError(
            f"--format '{format}'{close_matches(format, FORMATS)}: give one of {', '.join(FORMATS)}"
        )
    return format


def _study(files: Sequence[Path], lists: Mapping[str, str | None], read: Reader) -> Study:
    """Read the study, or make one of the files and what is given for each by commas."""
    study = next((file for file in files if file.suffix == ".toml"), None)
    if study is not None:
        if len(files) > 1:
            raise InputError(f"{study}: a study stands alone; name the other files in it")
        for option, value in lists.items():
            if value is not None:
                raise InputError(f"{option}: {study} tells that of each model; change it there")
        return read_study(study)
    given = {option: listed(option, value, len(files)) for option, value in lists.items()}
    models = []
    for number, file in enumerate(files):
        label, stage, backbone, pairs = (values[number] for values in given.values())
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


def listed(option: str, value: str | None, number: int) -> list[str]:
    """Split what is given for the models; empty where nothing is."""
    if value is None:
        return [""] * number
    values = [each.strip() for each in value.split(",")]
    if len(values) != number:
        raise InputError(
            f"{option} {value}: tells of {len(values)} models, and there are {number}; give "
            f"{number}, with commas between (nothing between two commas leaves one out)"
        )
    return values


def _comparison(
    study: Study,
    read: Reader,
    bar: Progress,
    written: Sequence[Path | None],
    tests: Tests | None,
) -> Comparison:
    """Diagnose the models of a study, take those that are saved, and compare."""
    truth: Scenes | None = None
    diagnoses: list[Diagnosis] = []
    results: list[dict[str, Any]] = []
    located: list[str] = []
    for model in study.models:
        result = read(model.file)
        if result is None:
            bar.start(f"reading {model.label}")
            predictions = study.open_predictions(model)
            if truth is None:
                truth, located = _annotations(study, predictions.vocabulary, written)
            diagnosis, result = _diagnosed(study, model, truth, predictions, bar)
            if tests is not None:
                diagnoses.append(diagnosis)
            del predictions, diagnosis  # before the next ones are read
        elif tests is not None:
            raise InputError(
                f"{model.file}: is a saved result; --significance tests predictions, image by "
                "image: give the prediction file"
            )
        else:
            _check_saved(study, model, result)
        results.append(result)
    comparison = compared(study.models, results)
    if tests is not None:
        comparison = with_tests(comparison, diagnoses, compare_pair, tests, bar)
    return replace(comparison, notes=(*located, *comparison.notes))


def with_tests(
    comparison: Comparison,
    runs: Sequence[Run],
    compare: Callable[..., list[Difference]],
    tests: Tests,
    bar: Progress,
) -> Comparison:
    """Test each model against the first, all together, and add what is found.

    Parameters
    ----------
    comparison : Comparison
        Of the models.
    runs : sequence
        What each model did.
    compare : callable
        Tests two of them, as :func:`diaghoi.statistics.significance.compare_pair` does diagnoses.
    tests : Tests
        The choices.
    bar : Progress
        Tells what is being done.
    """
    if len(runs) < 2:
        raise InputError("--significance: compares models, and there is one; give at least two")
    found: list[Difference] = []
    for model, run in zip(comparison.models[1:], runs[1:], strict=True):
        bar.start(f"testing {model.label}", total=2 * tests.resamples)
        found += compare(
            runs[0],
            run,
            tests.resamples,
            seed=tests.seed,
            confidence=tests.confidence,
            progress=bar.advance,
        )
    differences = corrected(found, tests.confidence)
    tested = comparison.with_differences(differences, level_of(tests.confidence))
    return replace(tested, notes=(*_too_few(len(differences), tests), *comparison.notes))


def _too_few(comparisons: int, tests: Tests) -> list[str]:
    """Tell where no model could be told apart, however much it differs."""
    level = level_of(tests.confidence)
    # The smallest p-value is 1 / (1 + resamples).
    needed = floor(comparisons / level + 1e-6)
    if tests.resamples >= needed:
        return []
    return [
        f"{tests.resamples:,} exchanges are too few to tell models apart: corrected for "
        f"{comparisons} comparisons, no p-value can be below {level:g}; give "
        f"--resamples {needed} or more"
    ]


def _annotations(
    study: Study, vocabulary: Vocabulary, written: Sequence[Path | None]
) -> tuple[Scenes, list[str]]:
    """Read the annotations, which must not be what is written; also tell where they were found."""
    given = study.annotations
    located = find_annotations(vocabulary) if given is None else in_folder(given, vocabulary)
    outputs.check_files(written, [located.path])
    truth = read_annotations(
        located.path, dataset=vocabulary, instances=study.instances, ids=study.ids
    )
    return truth, located.notes


def _diagnosed(
    study: Study, model: Model, truth: Scenes, predictions: SceneSource, bar: Progress
) -> tuple[Diagnosis, dict[str, Any]]:
    expected, other = truth.vocabulary.name, predictions.vocabulary.name
    if expected != other:
        raise InputError(f"{model.file}: is of {other}, and the annotations are of {expected}")
    bar.start(f"matching {model.label}", total=len(truth))
    suspicions = plausibility_warnings(truth, predictions)
    diagnosis = diagnose(
        truth, predictions, study.protocol, label=model.label, progress=bar.advance
    )
    bar.start(f"repairing each error of {model.label}")
    result = diagnosis.to_dict()
    return diagnosis, result | {"notes": [*suspicions, *result["notes"]]}


def _check_saved(study: Study, model: Model, result: Mapping[str, Any]) -> None:
    """Refuse what is asked for, where a saved result says something else."""
    if model.pairs is not None:
        raise InputError(
            f"{model.pairs}: {model.file} is a saved result, which has its pairs already; leave "
            "them out"
        )
    saved = {"dataset": result.get("dataset"), "protocol": _name(result.get("protocol"))}
    asked = {
        "dataset": None if study.vocabulary is None else study.vocabulary.name,
        "protocol": study.protocol,
    }
    for key, value in asked.items():
        if value is not None and value != saved[key]:
            raise InputError(
                f"{model.file}: was saved under {key} {saved[key]}, not {value}; give the "
                f"predictions instead, or write it again with 'diaghoi report --{key} {value}'"
            )


def _name(protocol: Any) -> Any:
    return protocol.get("name") if isinstance(protocol, Mapping) else protocol


def written_as(comparison: Comparison, kind: str) -> str:
    """Write the tables of a comparison in one of :data:`FORMATS`."""
    if kind == "json":
        return to_json(comparison.to_dict()) + "\n"
    from diaghoi.report.comparison import to_text

    writers: dict[str, Callable[[Comparison], str]] = {
        "text": to_text,
        "markdown": to_markdown,
        "latex": to_latex,
        "csv": to_csv,
    }
    return writers[kind](comparison)


def write_comparison(
    comparison: Comparison, kind: str, out: Path | None, json: Path | None
) -> None:
    """Write the files that are asked for."""
    if json not in (None, outputs.STDOUT):
        write_json(json, comparison.to_dict())
    if out not in (None, outputs.STDOUT):
        with replacing(out) as temporary:
            # Names need not be Unicode.
            temporary.write_bytes(written_as(comparison, kind).encode("utf-8", errors="replace"))


def show_comparison(
    comparison: Comparison, kind: str, out: Path | None, json: Path | None, quiet: bool
) -> None:
    """Print the tables, unless they are in a file, and what a reader has to know."""
    if json == outputs.STDOUT:
        typer.echo(to_json(comparison.to_dict()))
    elif out in (None, outputs.STDOUT):
        if kind != "text":
            typer.echo(written_as(comparison, kind), nl=False)
        elif not quiet:
            from diaghoi.report.comparison import print_comparison

            print_comparison(comparison, notes=False)
    if quiet:
        return
    print_notes([*comparison.caveats, *comparison.notes])
