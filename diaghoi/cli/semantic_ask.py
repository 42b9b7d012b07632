"""``diaghoi semantic ask``: a vision-language model names what people do with objects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diaghoi.cli import asking, options, outputs
from diaghoi.cli.asking import AskingOptions
from diaghoi.cli.options import argument, option, with_options, without
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.exceptions import some_of

if TYPE_CHECKING:
    from diaghoi.formats.pictures.asking import Unasked
    from diaghoi.semantic.ask import Estimate, Pair, PairAsker


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """Which pairs are asked about, and how."""

    pairs: Path = argument(
        help="File with the pairs to ask about: predictions, pairs or annotations."
    )
    images: options.Images
    model: asking.Model
    out: Path = option(
        help="File for the answers: JSON lines, which `semantic` reads; an interrupted run resumes "
        "from it."
    )
    coordinates: asking.Coordinates = "pixels"
    limit: int | None = option(
        None, min=1, max=options.MOST_ROWS, metavar="N", help="The first N pairs only."
    )
    asking: AskingOptions = without(AskingOptions, "asks", "ask_again")
    dataset: options.Dataset = None
    format: options.Format = None
    origin: options.Origin = None
    boxes: options.Boxes = None
    json: options.Json = None
    quiet: options.Quiet = False


@with_options
def ask(choices: AskOptions) -> None:
    """Ask a vision-language model for the verb and the object of each pair of boxes.

    The probabilities of its words are the scores, where the endpoint gives them. Answers are stored
    as they arrive: an interrupted run resumes where it stopped.
    """
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.language.answer_file import AnswerFile
    from diaghoi.language.asking import PICTURE_REFUSED
    from diaghoi.language.endpoint import read_endpoint
    from diaghoi.semantic.ask import PairAsker

    out, quiet = choices.out, choices.quiet
    endpoint = read_endpoint(choices.model, "--model")
    prices = choices.asking.prices
    unit = asking.unit_of(choices.coordinates)
    outputs.check_files([out, choices.json], [choices.pairs])
    find = Pictures(choices.images).find
    client = choices.asking.client(endpoint, single=PICTURE_REFUSED)
    listed = _pairs(choices)
    with AnswerFile(out) as answers:
        asker = PairAsker(
            pairs=listed,
            client=client,
            find=find,
            answers=answers,
            unit=unit,
            limit=choices.limit,
            workers=choices.asking.concurrent,
        )
        with progress(quiet) as bar:
            bar.start("estimating")
            cost = asker.estimate()
        spent = asking.price_of(cost.tokens_in, cost.tokens_out, prices)
        if cost.outside and not quiet:
            print_notes(
                [
                    f"{len(cost.outside)} pictures do not hold the boxes asked about: "
                    f"{some_of(cost.outside)}; are these the pictures of the file?"
                ]
            )
        if cost.pairs and not asking.goes_on(
            [_in_words(asker, cost, spent)], choices.asking.yes, quiet
        ):
            return
        with progress(quiet) as bar:
            bar.start(f"asking {endpoint.model}", total=cost.pairs)
            asker.progress = bar.advance
            unasked = asker.run()
        result = _result(asker, cost, spent, unasked)
    _present(result, choices.json, quiet)


def _pairs(choices: AskOptions) -> tuple[Pair, ...]:
    from diaghoi.formats import read
    from diaghoi.semantic.ask import pairs_of

    with progress(choices.quiet) as bar:
        bar.start("reading pairs")
        _, scenes = read(
            choices.pairs,
            dataset=choices.dataset,
            format=choices.format,
            origin=choices.origin,
            boxes=choices.boxes,
        )
    if scenes.notes and not choices.quiet:
        print_notes(list(scenes.notes))
    return pairs_of(scenes)


def _in_words(asker: PairAsker, cost: Estimate, price: float | None) -> str:
    """Say what asking takes."""
    before = f" ({len(asker.before):,} are answered)" if asker.before else ""
    return (
        f"{asker.client.endpoint.model}: {cost.pairs:,} pairs to ask about{before}, "
        f"{asking.tokens_in_words(cost.tokens_in, cost.tokens_out, price)}"
    )


def _result(
    asker: PairAsker, cost: Estimate, price: float | None, unasked: Unasked
) -> dict[str, Any]:
    return {
        "answers": str(asker.answers.path),
        **asker.recorded,
        "scores": asker.scores,
        "pairs": len(asker.asked),
        "answered": asker.answered,
        "answered_before": len(asker.before & set(asker.asked)),
        "without_interaction": asker.without_interaction,
        **asking.listed(unasked.problems, unasked.unanswered),
        "estimate": {
            "pairs": cost.pairs,
            "tokens_in": cost.tokens_in,
            "tokens_out": cost.tokens_out,
            "price": price,
        },
    }


def _present(result: dict[str, Any], json: Path | None, quiet: bool) -> None:
    from diaghoi.semantic.ask import UNSCORED

    now = result["answered"] - result["answered_before"]
    told = (
        f"{result['answers']}: {result['answered']:,} of {result['pairs']:,} pairs answered, "
        f"{now:,} now, {result['without_interaction']:,} without an interaction; {result['model']}"
    )
    notes = []
    if result["scores"] == UNSCORED:
        notes.append(
            f"{result['model']} gives no token probabilities, so that the answers have no scores: "
            "'diaghoi semantic' counts them all, and has no mAP"
        )
    asking.show_answers(result, json, quiet, told, notes)
