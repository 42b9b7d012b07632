"""``diaghoi choice ask``: a vision-language model answers the questions of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import asking, options, outputs
from diaghoi.cli.asking import AskingOptions
from diaghoi.cli.options import option, options_class, with_options, without
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.exceptions import InputError, some_of

if TYPE_CHECKING:
    from diaghoi.choice.ask.ask import Asker, Estimate, RunResult
    from diaghoi.choice.ask.boxes_first import Detections
    from diaghoi.choice.ask.settings import Settings
    from diaghoi.choice.questions import Questions
    from diaghoi.language.asking import Client


QuestionFile = Annotated[
    Path, typer.Argument(help="Questions, as the benchmark publishes them.", readable=False)
]


@options_class
class AskOptions(outputs.ResultOptions):
    """Which questions are asked, and how."""

    questions: QuestionFile
    images: options.Images
    model: asking.Model
    out: Path = option(
        help="File for the answers: JSON lines, which `choice score` reads; an interrupted run "
        "resumes from it."
    )
    setting: int | None = option(
        None,
        help="1: the whole picture; 2: a given person; 3: a person who is detected first [2 if the "
        "questions have boxes of people, else 1; 3 with --detections].",
    )
    detections: Path | None = option(
        None,
        help="People found by a detector instead of the model: JSON of boxes by image, or a "
        "prediction file.",
    )
    object_box: bool = option(False, help="Also give the box of the object in setting 2.")
    instruction: Path | None = option(
        None,
        metavar="FILE",
        help="A text that tells the model how to answer [the instruction that the paper prints].",
    )
    coordinates: asking.Coordinates = "pixels"
    dataset: options.Dataset = None
    seed: int = option(0, min=0, max=options.LARGEST_SEED, help="Seed of the order of the options.")
    limit: int | None = option(
        None, min=1, max=options.MOST_ROWS, metavar="N", help="Ask the first N questions only."
    )
    asking: AskingOptions = without(AskingOptions, "asks", "ask_again")


@with_options
def ask(choices: AskOptions) -> None:
    """Ask a vision-language model behind any OpenAI-compatible endpoint.

    Answers are stored as they arrive: an interrupted run resumes where it stopped.
    """
    from diaghoi.choice.ask.ask import Asker
    from diaghoi.choice.ask.settings import read_instruction
    from diaghoi.choice.questions import read_questions
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.language.answer_file import AnswerFile
    from diaghoi.language.asking import PICTURE_REFUSED
    from diaghoi.language.endpoint import read_endpoint

    out, detections, instruction = choices.out, choices.detections, choices.instruction
    endpoint = read_endpoint(choices.model, "--model")
    prices = choices.asking.prices
    found_in = out.with_name(f"{out.stem}.people.jsonl")
    outputs.check_files([out, found_in, choices.json], [choices.questions, detections, instruction])
    find = Pictures(choices.images).find
    client = choices.asking.client(endpoint, single=PICTURE_REFUSED)
    with progress(choices.quiet) as bar:
        bar.start("reading questions")
        asked = read_questions(choices.questions, dataset=choices.dataset)
        people = _detections(detections, asked, choices.setting)
        settings = _settings(client, asked, choices, people)
        if instruction is not None:
            settings = replace(settings, instruction=read_instruction(instruction))
    with ExitStack() as stack:
        asker = Asker(
            questions=asked,
            settings=settings,
            client=client,
            find=find,
            answers=stack.enter_context(AnswerFile(out)),
            people=stack.enter_context(AnswerFile(found_in)) if settings.finds else None,
            detections=people,
            limit=choices.limit,
            workers=choices.asking.concurrent,
        )
        result = _run(asker, prices, choices.asking.yes, choices.quiet)
    if result is not None:
        _present(result, choices)


def _detections(path: Path | None, asked: Questions, setting: int | None) -> Detections | None:
    from diaghoi.choice.ask.boxes_first import read_detections

    if path is None:
        return None
    if setting not in (None, 3):
        raise InputError(
            f"--detections: people are found first in setting 3, and this is setting {setting}; "
            "leave one of the two out"
        )
    return read_detections(path, asked)


def _settings(
    client: Client, asked: Questions, choices: AskOptions, people: Detections | None
) -> Settings:
    from diaghoi.choice.ask.settings import BY_MODEL, Settings, setting_of

    setting = 3 if people is not None else choices.setting
    chosen = setting_of(asked, setting, object_box=choices.object_box)
    finder = (BY_MODEL if people is None else people.name) if chosen == 3 else ""
    return Settings(
        model=client.endpoint.model,
        setting=chosen,
        seed=choices.seed,
        object_box=choices.object_box,
        unit=asking.unit_of(choices.coordinates),
        people=finder,
    )


def _run(
    asker: Asker, prices: Sequence[tuple[float, float]], yes: bool, quiet: bool
) -> dict[str, Any] | None:
    """Estimate, and ask where that is wanted; None if it is not."""
    with progress(quiet) as bar:
        bar.start("estimating")
        cost = asker.estimate()
    price = asking.price_of(cost.tokens_in, cost.tokens_out, prices)
    if not quiet:
        print_notes(_beforehand(asker, cost))
    if cost.questions and not asking.goes_on([_in_words(asker, cost, price)], yes, quiet):
        return None
    with progress(quiet) as bar:
        bar.start(f"asking {asker.settings.model}", total=cost.questions)
        asker.progress = bar.advance
        done = asker.run()
    return _result(asker, cost, price, done)


def _beforehand(asker: Asker, cost: Estimate) -> list[str]:
    """State what to know before anything is asked."""
    notes = list(asker.detections.notes) if asker.detections is not None else []
    if cost.outside:
        notes.append(
            f"{len(cost.outside)} pictures do not hold the boxes of the people asked about: "
            f"{some_of(cost.outside)}; are these the pictures that were annotated?"
        )
    both = all(each.object is not None for each in asker.asked)
    if asker.settings.setting == 2 and both and not asker.settings.object_box:
        notes.append(
            f"{asker.questions.file}: the questions have boxes of objects, too, which are not "
            "sent; --object-box sends them"
        )
    return notes


def _in_words(asker: Asker, cost: Estimate, price: float | None) -> str:
    """Say what asking takes."""
    before = f" ({len(asker.before):,} are answered)" if asker.before else ""
    return (
        f"{asker.settings.model}: {cost.questions:,} questions to ask in {cost.requests:,} "
        f"requests{before}, {asking.tokens_in_words(cost.tokens_in, cost.tokens_out, price)}"
    )


def _result(asker: Asker, cost: Estimate, price: float | None, done: RunResult) -> dict[str, Any]:
    return {
        "answers": str(asker.answers.path),
        **asker.settings.recorded,
        "questions": done.questions,
        "answered": done.before + done.answered,
        "answered_before": done.before,
        "without_person": done.without_person if asker.settings.setting == 3 else None,
        "unread_people": list(done.unread),
        **asking.listed(done.problems, done.unanswered),
        "estimate": {
            "questions": cost.questions,
            "requests": cost.requests,
            "tokens_in": cost.tokens_in,
            "tokens_out": cost.tokens_out,
            "price": price,
        },
    }


def _present(result: dict[str, Any], choices: AskOptions) -> None:
    now = result["answered"] - result["answered_before"]
    told = (
        f"{result['answers']}: {result['answered']:,} of {result['questions']:,} questions "
        f"answered, {now:,} now; {result['model']}, setting {result['setting']}, seed "
        f"{result['seed']}"
    )
    asking.show_answers(result, choices, told, _afterwards(result))


def _afterwards(result: dict[str, Any]) -> list[str]:
    """State what was not asked or answered."""
    notes = []
    if result["without_person"]:
        notes.append(
            f"in {result['without_person']:,} questions the person was not found; nothing is "
            "picked there"
        )
    unread = result["unread_people"]
    if unread:
        notes.append(
            f"{len(unread)} replies about people hold no boxes that can be read: {some_of(unread)}"
        )
    return notes
