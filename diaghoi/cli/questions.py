"""``diaghoi choice ask`` and ``choice build``: ask a model questions, and build questions."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import typer

from diaghoi.choice.ask import Asker, read_instruction, setting_of
from diaghoi.choice.build import build_benchmark, drawn_targets
from diaghoi.choice.candidates import targets_in_images
from diaghoi.choice.judges import judge_files, read_judges, read_models
from diaghoi.choice.model_judge import ModelJudge, PeopleCounter
from diaghoi.choice.people import Detections, read_detections
from diaghoi.choice.questions import Questions, read_questions
from diaghoi.cli import options, outputs
from diaghoi.cli.asking import AskingOptions, PictureOptions
from diaghoi.cli.options import argument, option, options_class, with_options, without
from diaghoi.cli.progress import progress
from diaghoi.diagnosis.inputs import check_readable
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations
from diaghoi.formats.pictures import Pictures
from diaghoi.language.answers import AnswerFile
from diaghoi.language.asking import PICTURE_REFUSED, read_endpoint
from diaghoi.report.benchmark_files import FILES, benchmark_lines, left_out, write_benchmark
from diaghoi.report.quality_sheet import write_quality_sheet

SHEET = "quality_sheet.html"
"""Name of the quality sheet in a benchmark folder."""


@options_class
class AskOptions(PictureOptions):
    """Options for asking questions."""

    questions: Path = argument(help="Questions in the benchmark's published format.")
    setting: int | None = option(
        None,
        help="What to ask about: 1, the picture; 2, a given person; 3, a person found beforehand "
        "[2 if the questions have boxes, else 1].",
    )
    detections: Path | None = option(
        None,
        help="People found by a detector: JSON with boxes by image, or a prediction file.",
    )
    object_box: bool = option(False, help="In setting 2, also give the object box.")
    instruction: Path | None = option(
        None,
        metavar="FILE",
        help="Text that tells the model how to answer [the instruction printed in the paper].",
    )
    dataset: options.Dataset = None
    seed: int = option(0, min=0, max=options.LARGEST_SEED, help="Seed of the order of the options.")

    def people(self, asked: Questions) -> Detections | None:
        """Read the people found by a detector."""
        if self.detections is None:
            return None
        if self.setting not in (None, 3):
            raise InputError(
                "--detections: applies to setting 3, where people are found beforehand; leave "
                f"out --detections or --setting {self.setting}"
            )
        return read_detections(self.detections, asked)


@with_options
def ask(choices: AskOptions) -> None:
    """Ask a vision-language model behind any OpenAI-compatible endpoint.

    Answers are stored as they arrive: an interrupted run resumes where it stopped.
    """
    out = choices.out
    found_in = out.with_name(f"{out.stem}.people.jsonl")
    inputs = [choices.questions, choices.detections, choices.instruction]
    how = choices.settings(inputs, found_in)
    with progress(choices.results.quiet) as bar:
        bar.start("reading questions")
        asked = read_questions(choices.questions, dataset=choices.dataset)
        people = choices.people(asked)
        setting = 3 if people is not None else choices.setting
        setting = setting_of(asked, setting, object_box=choices.object_box)
        if choices.instruction is not None:
            how["instruction"] = read_instruction(choices.instruction)
    with ExitStack() as stack:
        finds = setting == 3 and people is None
        choices.ask(
            Asker(
                questions=asked,
                asked=asked.questions[: choices.limit],
                answers=stack.enter_context(AnswerFile(out)),
                setting=setting,
                people=stack.enter_context(AnswerFile(found_in)) if finds else None,
                detections=people,
                seed=choices.seed,
                object_box=choices.object_box,
                **how,
            )
        )


@options_class
class BuildOptions:
    """Options for building questions, and for judges."""

    annotations: Path = argument(help="Annotations in any known format.")
    out: Path = option(help="Folder to write to.")
    judge: list[str] | None = option(
        None,
        metavar="JUDGE",
        help="Judge of what an image does not show: URL,MODEL[,VARIABLE] of a vision-language "
        "model and the environment variable with its API key; a file of verdicts; "
        "similarity:TABLE[,THRESHOLD]; time-sensitive. The first model or file groups "
        "candidates, the second confirms candidates, and the third decides on the rest; all other "
        "judges reject candidates beforehand.",
    )
    images: Path | None = option(
        None, help="Folder with the pictures, for models and the quality sheet."
    )
    check_people: str | None = option(
        None,
        metavar="URL,MODEL[,VARIABLE]",
        help="Model that checks whether images with one annotated person show more people [none].",
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
        help="Write a page with N random questions and their pictures, for manual checking.",
    )
    seed: int = option(0, min=0, max=options.LARGEST_SEED, help="Seed of random choices.")
    store: Path | None = option(
        None,
        rare=True,
        help="File that stores the verdicts of models [the name of --out with .answers.jsonl].",
    )
    asking: AskingOptions = without(AskingOptions, "price", "temperature")
    results: outputs.OutputOptions = without(outputs.OutputOptions, "out")

    @property
    def answers(self) -> Path:
        """File that stores the verdicts of the models."""
        return self.store or self.out.with_name(f"{self.out.name}.answers.jsonl")

    @property
    def drawn(self) -> dict[str, Any]:
        """Return keyword arguments that select the people to ask about."""
        return {"seed": self.seed, "all_people": self.all_people}

    def check(self, models: Collection[str], *, asks: bool) -> None:
        """Reject unusable paths, except paths of judge files, which are read immediately."""
        outputs.check_folder(self.out)
        names = (*FILES, SHEET) if self.out.is_dir() else ()
        written = [*(self.out / name for name in names), self.results.json]
        written += [self.answers] if asks else []
        outputs.check_outputs(written, [self.annotations, *judge_files(self.judge or (), models)])
        check_readable([self.annotations])
        if self.quality_sheet is not None:
            outputs.check_page()
        if self.images is None and asks:
            raise InputError("models judge pictures; give the folder of the pictures with --images")


@with_options
def build(choices: BuildOptions) -> None:
    """Build multiple-choice questions from annotations, with negatives that judges confirm.

    Verdicts of models are stored as they arrive: an interrupted run resumes where it stopped.
    """
    texts, results = choices.judge or [], choices.results
    endpoints = read_models(texts)
    checking = choices.check_people
    asked = None if checking is None else read_endpoint(checking, "--check-people")
    choices.check(endpoints, asks=bool(endpoints) or asked is not None)
    pictures = None if choices.images is None else Pictures(choices.images)
    models: dict[str, ModelJudge] = {}
    people: PeopleCounter | None = None
    with ExitStack() as stack:
        with progress(results.quiet) as bar:
            bar.start("reading annotations")
            scenes = read_annotations(choices.annotations, dataset=choices.dataset)
            image_targets = targets_in_images(scenes)
            if pictures is not None and (endpoints or asked is not None):
                store = stack.enter_context(choices.asking.answer_store(choices.answers))
                how: dict[str, Any] = {
                    "find": pictures.find,
                    "store": store,
                    "workers": choices.asking.concurrent,
                }
                for text, endpoint in endpoints.items():
                    client = choices.asking.client(endpoint, single=PICTURE_REFUSED)
                    models[text] = ModelJudge(client=client, asks=choices.asking.asks, **how)
                if asked is not None:
                    client = choices.asking.client(asked, single=PICTURE_REFUSED)
                    people = PeopleCounter(client=client, **how)
            judges = read_judges(texts, image_targets, scenes.vocabulary, models)
        requests: dict[str, int] = {}
        if models:
            drawn = drawn_targets(image_targets, **choices.drawn).values()
            targets = [target for of_image in drawn for target in of_image]
            requests = {model.name: len(model.left(targets)) for model in models.values()}
        if people is not None:
            left = len(people.left(image_targets))
            requests[people.model] = requests.get(people.model, 0) + left
        said = [
            f"{name}: at most {n:,} requests, each with a picture" for name, n in requests.items()
        ]
        if any(requests.values()) and not choices.asking.goes_on(said, results.quiet):
            return
        with progress(results.quiet) as bar:
            for model in models.values():
                model.progress = bar.advance
            benchmark = build_benchmark(
                *(scenes, image_targets, judges),
                **choices.drawn,
                progress=lambda judge, number: bar.start(f"asking {judge}", total=number),
            )
            if people is not None:
                people.progress = bar.advance
                left = len(people.left(benchmark.image_targets))
                bar.start(f"asking {people.model} about people", total=left)
                benchmark = people.check(benchmark)
            bar.start("writing")
            files, notes = write_benchmark(choices.out, benchmark), []
            if choices.quality_sheet is not None:
                bar.start("drawing", total=choices.quality_sheet)
                files.append(choices.out / SHEET)
                notes = write_quality_sheet(
                    files[-1], benchmark, pictures, choices.quality_sheet, progress=bar.advance
                )
    result = benchmark.to_dict()
    result["files"] = [str(path) for path in files]
    result["notes"] += notes
    results.deliver(
        outputs.as_json(result),
        lambda: typer.echo("\n".join(benchmark_lines(result))),
        [*left_out(result), *result["notes"]],
    )
