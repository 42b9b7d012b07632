"""``diaghoi semantic ask``: a vision-language model names what people do with objects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import asking, options, outputs
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.exceptions import some_of

if TYPE_CHECKING:
    from diaghoi.formats.pictures.asking import Unasked
    from diaghoi.semantic.ask import Estimate, Pair, PairAsker

PairFile = Annotated[
    Path,
    typer.Argument(
        help="File with the pairs to ask about: predictions, pairs or annotations.", readable=False
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        help="File for the answers: JSON lines, which `semantic` reads; an interrupted run resumes "
        "from it.",
        readable=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(min=1, max=options.MOST_ROWS, metavar="N", help="The first N pairs only."),
]


def ask(
    pairs: PairFile,
    images: options.Images,
    model: asking.Model,
    out: Out,
    coordinates: asking.Coordinates = "pixels",
    limit: Limit = None,
    concurrent: asking.Concurrent = 8,
    yes: asking.Yes = False,
    price: asking.Price = None,
    tries: asking.Tries = 6,
    timeout: asking.Timeout = 300.0,
    pause: asking.Pause = 1.0,
    max_tokens: asking.MaxTokens = 1024,
    temperature: asking.Temperature = 0.0,
    dataset: options.Dataset = None,
    format: options.Format = None,
    origin: options.Origin = None,
    boxes: options.Boxes = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Ask a vision-language model for the verb and the object of each pair of boxes.

    The probabilities of its words are the scores, where the endpoint gives them. Answers are stored
    as they arrive: an interrupted run resumes where it stopped.
    """
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.language.answer_file import AnswerFile
    from diaghoi.language.asking import PICTURE_REFUSED, Client
    from diaghoi.language.endpoint import read_endpoint, read_prices
    from diaghoi.semantic.ask import PairAsker

    endpoint = read_endpoint(model, "--model")
    prices = read_prices([] if price is None else [price], 1)
    unit = asking.unit_of(coordinates)
    outputs.check_files([out, json], [pairs])
    find = Pictures(images).find
    client = Client(
        endpoint=endpoint,
        single=PICTURE_REFUSED,
        **asking.client_choices(tries, timeout, pause, max_tokens, temperature),
    )
    reading = {"dataset": dataset, "format": format, "origin": origin, "boxes": boxes}
    listed = _pairs(pairs, reading, quiet)
    with AnswerFile(out) as answers:
        asker = PairAsker(
            pairs=listed,
            client=client,
            find=find,
            answers=answers,
            unit=unit,
            limit=limit,
            workers=concurrent,
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
        if cost.pairs and not asking.goes_on([_in_words(asker, cost, spent)], yes, quiet):
            return
        with progress(quiet) as bar:
            bar.start(f"asking {endpoint.model}", total=cost.pairs)
            asker.progress = bar.advance
            unasked = asker.run()
        result = _result(asker, cost, spent, unasked)
    _present(result, json, quiet)


def _pairs(path: Path, reading: Any, quiet: bool) -> tuple[Pair, ...]:
    from diaghoi.formats import read
    from diaghoi.semantic.ask import pairs_of

    with progress(quiet) as bar:
        bar.start("reading pairs")
        _, scenes = read(path, **reading)
    if scenes.notes and not quiet:
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
