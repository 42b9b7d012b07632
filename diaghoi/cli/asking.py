"""Options for commands that ask language models, and the user's confirmation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.options import option, options_class, without
from diaghoi.cli.progress import progress
from diaghoi.exceptions import some_of
from diaghoi.formats.pictures import UNITS, FileAsker, Pictures

if TYPE_CHECKING:
    from diaghoi.language.answers import AnswerStore
    from diaghoi.language.asking import Client, Endpoint


@options_class
class AskingOptions:
    """Options for asking language models."""

    concurrent: int = option(8, min=1, max=256, metavar="N", rare=True, help="Concurrent requests.")
    yes: bool = option(False, help="Start after the estimate, without asking for confirmation.")
    price: list[str] | None = option(
        None,
        metavar="IN,OUT",
        rare=True,
        help="Price of a million input and output tokens: one for all models, or one for each.",
    )
    tries: int = option(6, min=1, max=1000, rare=True, help="Attempts per request.")
    asks: int = option(
        3,
        min=1,
        max=1000,
        rare=True,
        help="Maximum attempts for a question until a reply is valid.",
    )
    timeout: float = option(
        300.0, min=0.1, max=86_400.0, rare=True, help="Seconds to wait for a reply."
    )
    pause: float = option(
        1.0,
        min=0.0,
        max=600.0,
        rare=True,
        help="Seconds to wait before the second attempt; the wait doubles after each attempt, up "
        "to 60.",
    )
    max_tokens: int = option(
        1024,
        min=0,
        max=10_000_000,
        rare=True,
        help="Maximum length of a reply in tokens, including reasoning; 0 for no limit.",
    )
    temperature: float = option(
        0.0, max=10.0, rare=True, help="Sampling temperature; if negative, the server's default."
    )
    ask_again: bool = option(
        False, help="Repeat questions that had no valid reply in earlier runs."
    )

    def prices(self, models: int) -> list[tuple[float, float]]:
        """Read the prices per million input and output tokens; empty if no price is given."""
        from diaghoi.language.asking import read_prices

        return read_prices(self.price or [], models)

    def client(self, endpoint: Endpoint, **more: Any) -> Client:
        """Create the client of a model."""
        from diaghoi.language.asking import Client

        limits: dict[str, Any] = {} if self.temperature < 0 else {"temperature": self.temperature}
        return Client(
            endpoint=endpoint,
            tries=self.tries,
            timeout=self.timeout,
            pause=self.pause,
            options=limits | ({"max_tokens": self.max_tokens} if self.max_tokens else {}),
            leaving=_leaving,
            **more,
        )

    def answer_store(self, path: Path) -> AnswerStore:
        """Open the file with earlier answers, optionally dropping replies that cannot be read."""
        from diaghoi.language.answers import AnswerStore

        store = AnswerStore(path)
        if self.ask_again:
            store.forget_unread()
        return store

    def goes_on(self, estimate: Iterable[str], quiet: bool) -> bool:
        """Print the estimate on stderr, and ask for confirmation unless ``--yes`` is given."""
        if not (quiet and self.yes):
            for line in estimate:
                typer.echo(line, err=True)
        if self.yes:
            return True
        if sys.stdin is not None and sys.stdin.isatty():
            return typer.confirm("Start?", err=True)
        typer.echo("Nothing has been asked yet; add --yes to start.", err=True)
        return False


@options_class
class PictureOptions:
    """Options for asking a model about pictures."""

    images: options.Images
    model: str = option(
        metavar="URL,MODEL[,VARIABLE]",
        help="An OpenAI-compatible endpoint, the name of the model there, and the environment "
        "variable with its API key [DIAGHOI_API_KEY].",
    )
    out: Path = option(help="JSON Lines file for the answers; an interrupted run resumes from it.")
    coordinates: str = option(
        "pixels",
        among=UNITS,
        help="Unit of the model's boxes: pixels, or thousandths of the picture's sides.",
    )
    limit: int | None = option(
        None,
        min=1,
        max=options.MOST_ROWS,
        metavar="N",
        help="Ask only about the first N pairs or questions.",
    )
    asking: AskingOptions = without(AskingOptions, "asks", "ask_again")
    results: outputs.OutputOptions = without(outputs.OutputOptions, "out")

    def settings(self, inputs: Sequence[Path | None], *files: Path) -> dict[str, Any]:
        """Check the files and further outputs; return the keyword arguments for asking."""
        from diaghoi.language.asking import PICTURE_REFUSED, read_endpoint

        endpoint = read_endpoint(self.model, "--model")
        self.asking.prices(1)
        outputs.check_files([self.out, *files, self.results.json], inputs)
        return {
            "find": Pictures(self.images).find,
            "client": self.asking.client(endpoint, single=PICTURE_REFUSED),
            "unit": self.coordinates,
            "workers": self.asking.concurrent,
        }

    def ask(self, asker: FileAsker, notes: Iterable[str] = ()) -> None:
        """Ask the model once the user has confirmed the estimate, and deliver the result.

        Parameters
        ----------
        asker : FileAsker
            Runner that estimates the cost and asks the questions.
        notes : iterable of str
            Notes on the input.
        """
        quiet = self.results.quiet
        with progress(quiet) as bar:
            bar.start("estimating")
            cost = asker.estimate()
        if not quiet:
            outputs.print_notes([*notes, *asker.remarks(cost)])
        price = None
        for price_in, price_out in self.asking.prices(1):
            price = (cost.tokens_in * price_in + cost.tokens_out * price_out) / 1e6
        answered = f" ({len(asker.before):,} are answered)" if asker.before else ""
        asked = f"{cost.questions:,} {asker.noun} to ask in {cost.requests:,} requests"
        about = "models count picture tokens differently, and some reason at length"
        line = estimate_line(f"{asker.model}: {asked}{answered}", cost, about, price)
        if cost.questions and not self.asking.goes_on([line], quiet):
            return
        with progress(quiet) as bar:
            bar.start(f"asking {asker.model}", total=cost.questions)
            asker.progress = bar.advance
            done = asker.run()
        more, told, said = asker.outcome()
        before = len(asker.before.intersection(asker.asked))
        result = {
            "answers": str(asker.answers.path),
            **asker.recorded,
            asker.noun: len(asker.asked),
            "answered": asker.answered,
            "answered_before": before,
            **more,
            "estimate": {
                asker.noun: cost.questions,
                "requests": cost.requests,
                "tokens_in": cost.tokens_in,
                "tokens_out": cost.tokens_out,
                "price": price,
            },
        }
        missing = "pictures are missing or cannot be read; nothing was asked about them"
        silent = "images had no reply; run the same command again to retry them"
        for key, images, what in (
            ("pictures", done.problems, missing),
            ("unanswered", done.unanswered, silent),
        ):
            result[key] = [{"image": image, "why": why} for image, why in images]
            if images:
                named = some_of([f"{image} ({why:.160})" for image, why in images])
                said.append(f"{len(images)} {what}: {named}")
        told = (
            f"{result['answers']}: {result['answered']:,} of {len(asker.asked):,} {asker.noun} "
            f"answered, {result['answered'] - before:,} now{told}"
        )
        self.results.deliver(outputs.as_json(result), lambda: typer.echo(told), said)


def estimate_line(what: str, cost: Any, about: str, price: float | None) -> str:
    """Describe the cost of asking a model, given the estimated requests and tokens."""
    spent = "" if price is None else f", {price:,.2f} at the given price"
    return (
        f"{what}, about {cost.tokens_in:,} tokens in and {cost.tokens_out:,} out ({about}){spent}"
    )


def _leaving(requests: int) -> None:
    typer.echo(
        f"waiting for {requests} pending requests, whose answers will also be stored; interrupt "
        "again to exit at once",
        err=True,
    )
