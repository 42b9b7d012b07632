"""Options of commands that ask language models, and the user's confirmation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli.options import option, options_class
from diaghoi.cli.outputs import OutputOptions, as_json
from diaghoi.exceptions import InputError, close_matches, some_of

if TYPE_CHECKING:
    from diaghoi.formats.pictures.asking import Unit
    from diaghoi.language.answer_store import AnswerStore
    from diaghoi.language.asking import Client
    from diaghoi.language.endpoint import Endpoint

Model = Annotated[
    str,
    typer.Option(
        metavar="URL,MODEL[,VARIABLE]",
        help="An OpenAI-compatible endpoint, the name of the model there, and the environment "
        "variable with its API key [DIAGHOI_API_KEY].",
    ),
]
Coordinates = Annotated[
    str, typer.Option(help="How the model writes boxes: pixels, or thousandths of the sides.")
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Start after the estimate, without asking for confirmation.")
]
Concurrent = Annotated[
    int, typer.Option(min=1, max=256, metavar="N", help="Concurrent requests.", hidden=True)
]


@options_class
class AskingOptions:
    """How language models are asked."""

    concurrent: Concurrent = 8
    yes: Yes = False
    price: list[str] | None = option(
        None,
        metavar="IN,OUT",
        rare=True,
        help="Price of a million tokens in and out: one for all models, or one for each.",
    )
    tries: int = option(6, min=1, max=1000, rare=True, help="Attempts per request.")
    asks: int = option(
        3, min=1, max=1000, rare=True, help="How often to ask a question until a reply is valid."
    )
    timeout: float = option(
        300.0, min=0.1, max=86_400.0, rare=True, help="Seconds for a request and its reply."
    )
    pause: float = option(
        1.0, min=0.0, max=600.0, rare=True, help="Seconds before the second attempt, then doubled."
    )
    max_tokens: int = option(
        1024, min=0, max=10_000_000, rare=True, help="Longest reply, with reasoning; 0: no limit."
    )
    temperature: float = option(
        0.0, max=10.0, rare=True, help="Sampling temperature; if negative, the server's default."
    )
    ask_again: bool = option(
        False, help="Repeat the questions without a valid reply in earlier runs."
    )

    @property
    def prices(self) -> list[tuple[float, float]]:
        """The price of a million tokens in and out of one model; empty if it is not given."""
        return self.prices_of(1)

    def prices_of(self, models: int) -> list[tuple[float, float]]:
        """Read the prices of a million tokens in and out; empty if none is given."""
        from diaghoi.language.endpoint import read_prices

        return read_prices(self.price or [], models)

    def client(self, endpoint: Endpoint, **more: Any) -> Client:
        """Make the client of a model."""
        from diaghoi.language.asking import Client
        from diaghoi.language.endpoint import RetryPolicy

        limits: dict[str, Any] = {} if self.temperature < 0 else {"temperature": self.temperature}
        return Client(
            endpoint=endpoint,
            policy=RetryPolicy(tries=self.tries, timeout=self.timeout, pause=self.pause),
            options=limits | ({"max_tokens": self.max_tokens} if self.max_tokens else {}),
            leaving=_leaving,
            **more,
        )

    def answer_store(self, path: Path) -> AnswerStore:
        """Open the file with the answers so far, if so asked without those not to be read."""
        from diaghoi.language.answer_store import AnswerStore

        store = AnswerStore(path)
        if self.ask_again:
            store.forget_unread()
        return store


def goes_on(estimate: Iterable[str], yes: bool, quiet: bool) -> bool:
    """Show the estimate on stderr, and ask for confirmation unless ``yes`` is set.

    Parameters
    ----------
    estimate : iterable of str
        The lines to show, unless both ``quiet`` and ``yes`` are set.
    yes, quiet : bool
        The options.
    """
    if not (quiet and yes):
        for line in estimate:
            typer.echo(line, err=True)
    if yes:
        return True
    if sys.stdin is not None and sys.stdin.isatty():
        return typer.confirm("Start?", err=True)
    typer.echo("Nothing was asked yet; add --yes to start.", err=True)
    return False


def unit_of(coordinates: str) -> Unit:
    """Check the unit of boxes that the user names."""
    from diaghoi.formats.pictures.asking import UNITS

    if coordinates not in UNITS:
        raise InputError(
            f"--coordinates {coordinates!r}{close_matches(coordinates, UNITS)}: give one of "
            f"{', '.join(UNITS)}"
        )
    return "thousandths" if coordinates == "thousandths" else "pixels"


def price_of(
    tokens_in: int, tokens_out: int, prices: Sequence[tuple[float, float]]
) -> float | None:
    """Price of a run with one model; None where no price is given."""
    return (tokens_in * prices[0][0] + tokens_out * prices[0][1]) / 1e6 if prices else None


def tokens_in_words(tokens_in: int, tokens_out: int, price: float | None) -> str:
    """Say how many tokens a run takes, and what they cost."""
    spent = "" if price is None else f", {price:,.2f} by the price given"
    return (
        f"about {tokens_in:,} tokens in and {tokens_out:,} out (models count pictures in their own "
        f"ways, and some think aloud){spent}"
    )


Rows = Sequence[tuple[str, str]]


def listed(problems: Rows, unanswered: Rows) -> dict[str, list[dict[str, str]]]:
    """List images without answers for a result."""
    return {
        key: [{"image": image, "why": why} for image, why in rows]
        for key, rows in (("pictures", problems), ("unanswered", unanswered))
    }


def without_answers(result: Mapping[str, Any]) -> list[str]:
    """State which images of a result have no answers."""
    notes = []
    for key, what in (
        ("pictures", "pictures are missing or cannot be read; nothing was asked about them"),
        ("unanswered", "images had no reply; the same command asks again"),
    ):
        rows = [f"{row['image']} ({row['why']:.160})" for row in result[key]]
        if rows:
            notes.append(f"{len(rows)} {what}: {some_of(rows)}")
    return notes


def show_answers(
    result: Mapping[str, Any], choices: OutputOptions, told: str, notes: Sequence[str]
) -> None:
    """Deliver the result of a run, else print a line, and notes."""
    notes = [*notes, *without_answers(result)]
    choices.deliver(as_json(result), lambda: typer.echo(told), notes)


def _leaving(requests: int) -> None:
    typer.echo(
        f"waiting for {requests} pending requests, whose answers are stored, too; interrupt again "
        "to exit at once",
        err=True,
    )
