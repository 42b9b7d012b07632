"""``diaghoi choice build``: multiple-choice questions from annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.asking import AskingOptions, goes_on
from diaghoi.cli.options import argument, option, options_class, with_options, without
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import Progress, progress
from diaghoi.exceptions import InputError
from diaghoi.report.pages import check_installed

if TYPE_CHECKING:
    from diaghoi.choice.build.build import ChoiceBenchmark
    from diaghoi.choice.build.candidates import ImageTargets
    from diaghoi.choice.build.judges import Judge
    from diaghoi.choice.build.model_judge import ModelJudge
    from diaghoi.choice.build.people_check import PeopleCheck
    from diaghoi.data.scenes import Scenes
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.language.answer_store import AnswerStore
    from diaghoi.language.asking import Client

SHEET = "quality_sheet.html"
"""Name of the page in the folder."""


@options_class
class BuildOptions(outputs.ResultOptions):
    """Which questions are made, and who judges."""

    annotations: Path = argument(help="Annotations in any known format.")
    out: Path = option(help="The folder to write.")
    judge: list[str] | None = option(
        None,
        metavar="JUDGE",
        help="Who decides what an image does not show: URL,MODEL[,VARIABLE] of a vision-language "
        "model and the environment variable with its API key; a file of verdicts; "
        "similarity:TABLE[,THRESHOLD]; time-sensitive. Of the models and files, the first groups, "
        "the second confirms, and the third decides where the second does not confirm; the other "
        "judges reject candidates before.",
    )
    images: Path | None = option(
        None, help="Folder of the pictures, for models and the quality sheet."
    )
    check_people: str | None = option(
        None,
        metavar="URL,MODEL[,VARIABLE]",
        help="A vision-language model that is asked, as in the paper, whether images with one "
        "annotated person show more people [annotations alone].",
    )
    dataset: options.Dataset = None
    all_people: bool = option(
        False, help="In settings 2 and 3, ask about every annotated person instead of one."
    )
    quality_sheet: int | None = option(
        None,
        metavar="N",
        min=1,
        max=1_000_000,
        help="Write a page with N random questions and their pictures for a person to check.",
    )
    seed: options.Seed = 0
    store: Path | None = option(
        None,
        help="File that stores the verdicts of models as JSON lines [the name of --out with "
        ".answers.jsonl].",
    )
    asking: AskingOptions = without(AskingOptions, "price", "temperature")


@with_options
def build(choices: BuildOptions) -> None:
    """Build multiple-choice questions from annotations, with negatives that judges confirm.

    Verdicts of models are stored as they arrive: an interrupted run resumes where it stopped.
    """
    from diaghoi.choice.build.candidates import targets_in_images
    from diaghoi.choice.build.judge_options import judge_files, read_models
    from diaghoi.formats import read_annotations
    from diaghoi.language.asking import PICTURE_REFUSED
    from diaghoi.language.endpoint import read_endpoint

    out, check_people, concurrent = choices.out, choices.check_people, choices.asking.concurrent
    texts = choices.judge or []
    endpoints = read_models(texts)
    asked = None if check_people is None else read_endpoint(check_people, "--check-people")
    asks_models = bool(endpoints) or asked is not None
    store = choices.store or out.with_name(f"{out.name}.answers.jsonl")
    kept = store if asks_models else None
    _check(out, [choices.json, kept], choices.annotations, judge_files(texts))
    if choices.quality_sheet is not None:
        check_installed()
    pictures = _pictures(choices.images, asks_models)
    with ExitStack() as stack:
        with progress(choices.quiet) as bar:
            bar.start("reading annotations")
            scenes = read_annotations(choices.annotations, dataset=choices.dataset)
            image_targets = targets_in_images(scenes)
            models: dict[str, ModelJudge] = {}
            people: PeopleCheck | None = None
            if asks_models and pictures is not None:
                answers = stack.enter_context(choices.asking.answer_store(store))
                for text, endpoint in endpoints.items():
                    client = choices.asking.client(endpoint, single=PICTURE_REFUSED)
                    asks = choices.asking.asks
                    models[text] = _model(client, pictures, answers, concurrent, asks)
                if asked is not None:
                    client = choices.asking.client(asked, single=PICTURE_REFUSED)
                    people = _people(client, pictures, answers, concurrent)
            judges = _judges(texts, scenes, image_targets, models)
        drawn = (choices.seed, choices.all_people)
        requests = _requests(models.values(), image_targets, drawn) if models else {}
        if people is not None:
            more = len(people.left(image_targets))
            requests[people.name] = requests.get(people.name, 0) + more
        if any(requests.values()) and not goes_on(
            _in_words(requests), choices.asking.yes, choices.quiet
        ):
            return
        with progress(choices.quiet) as bar:
            for model in models.values():
                model.progress = bar.advance
            benchmark = _benchmark(scenes, image_targets, judges, drawn, people, bar)
            files, notes = _written(out, benchmark, pictures, choices.quality_sheet, bar)
    result = benchmark.to_dict()
    result["files"] = [str(path) for path in files]
    result["notes"] += notes
    _present(result, choices)


def _check(
    out: Path, written: Sequence[Path | None], annotations: Path, judges: Sequence[Path]
) -> None:
    """Check all files but those of judges, which are read at once, before the work begins."""
    from diaghoi.report.benchmark_files import FILES

    outputs.check_folder(out)
    inside = [out / name for name in (*FILES, SHEET)] if out.is_dir() else []
    outputs.check_outputs([*inside, *written], [annotations, *judges])
    outputs.check_inputs([annotations])


def _pictures(images: Path | None, needed: bool) -> Pictures | None:
    from diaghoi.formats.pictures.folder import Pictures

    if images is None and needed:
        raise InputError("models judge pictures; give the folder that holds them with --images")
    return None if images is None else Pictures(images)


def _model(
    client: Client, pictures: Pictures, store: AnswerStore, workers: int, asks: int
) -> ModelJudge:
    from diaghoi.choice.build.model_judge import ModelJudge

    return ModelJudge(client=client, find=pictures.find, store=store, workers=workers, asks=asks)


def _people(client: Client, pictures: Pictures, store: AnswerStore, workers: int) -> PeopleCheck:
    from diaghoi.choice.build.people_check import PeopleCheck

    return PeopleCheck(client=client, find=pictures.find, store=store, workers=workers)


def _judges(
    texts: Sequence[str],
    scenes: Scenes,
    image_targets: Sequence[ImageTargets],
    models: Mapping[str, ModelJudge],
) -> list[Judge]:
    from diaghoi.choice.build.build import origin_of
    from diaghoi.choice.build.judge_options import read_judges
    from diaghoi.choice.build.screening import check_judges

    origin = origin_of(scenes.vocabulary)
    judges = read_judges(texts, image_targets, scenes.vocabulary, models, origin=origin)
    check_judges(judges)
    return judges


def _requests(
    models: Iterable[ModelJudge], image_targets: Sequence[ImageTargets], drawn: tuple[int, bool]
) -> dict[str, int]:
    """Count how often each model is asked at most."""
    from diaghoi.choice.build.build import drawn_targets
    from diaghoi.choice.build.judges import JudgeRequest

    seed, all_people = drawn
    targets = drawn_targets(image_targets, seed=seed, all_people=all_people)
    asked = [JudgeRequest(one, one.candidates) for found in targets.values() for one in found]
    return {model.name: model.requests(asked) for model in models}


def _in_words(requests: Mapping[str, int]) -> Iterator[str]:
    for name, number in requests.items():
        yield f"{name}: at most {number:,} requests, each with a picture"


def _benchmark(
    scenes: Scenes,
    image_targets: Sequence[ImageTargets],
    judges: Sequence[Judge],
    drawn: tuple[int, bool],
    people: PeopleCheck | None,
    bar: Progress,
) -> ChoiceBenchmark:
    from diaghoi.choice.build.build import build_benchmark

    def show(judge: str, candidates: int) -> None:
        bar.start(f"asking {judge}", total=candidates)

    seed, all_people = drawn
    benchmark = build_benchmark(
        scenes, image_targets, judges, seed=seed, all_people=all_people, progress=show
    )
    if people is None:
        return benchmark
    people.progress = bar.advance
    left = len(people.left(benchmark.image_targets))
    bar.start(f"asking {people.name} about people", total=left)
    return people.check(benchmark)


def _written(
    out: Path,
    benchmark: ChoiceBenchmark,
    pictures: Pictures | None,
    sheet: int | None,
    bar: Progress,
) -> tuple[list[Path], list[str]]:
    """Write all files; also return notes on pictures."""
    from diaghoi.report.benchmark_files import write_benchmark

    bar.start("writing")
    files = write_benchmark(out, benchmark)
    if sheet is None:
        return files, []
    from diaghoi.report.quality_sheet import write_quality_sheet

    bar.start("drawing", total=sheet)
    notes = write_quality_sheet(out / SHEET, benchmark, pictures, sheet, progress=bar.advance)
    return [*files, out / SHEET], notes


def _present(result: dict[str, Any], choices: BuildOptions) -> None:
    choices.deliver(result, lambda: typer.echo("\n".join(_lines(result))))
    if choices.quiet:
        return
    from diaghoi.choice.build.build import REASONS

    left_out = [
        f"{found['images']:,} images with {REASONS[reason]}, such as {found['first'][0]}"
        for reason, found in result["left_out"].items()
        if found["images"]
    ]
    if result["people_left_out"]:
        left_out.append(f"{result['people_left_out']:,} people with too few negatives")
    if left_out:
        print_notes([f"left out: {'; '.join(left_out)}"])
    print_notes(result["notes"])


def _lines(result: dict[str, Any]) -> Iterator[str]:
    """Describe what was made."""
    yield (
        f"{result['dataset']}: questions on {result['images']:,} images, {result['single']:,} with "
        f"one person and {result['multi']:,} with several, by {result['people_by']}"
    )
    for setting, number in result["questions"].items():
        right = result["right_options"][setting]
        shares = ", ".join(f"{right[key]:,} with {key}" for key in right)
        yield f"{setting.replace('_', ' ')}: {number:,} questions; right options: {shares}"
    for each in result["judges"]:
        yield (
            f"{each['judge']} {each['part']}: {each['asked']:,} candidates, "
            f"{each['inconsistent']:,} negative, {each['consistent']:,} positive, "
            f"{each['silent']:,} without verdict"
        )
