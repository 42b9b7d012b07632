"""Options of commands that ask language models, and the user's confirmation."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from diaghoi.language.answer_store import AnswerStore

Yes = Annotated[
    bool, typer.Option("--yes", help="Start after the estimate, without asking for confirmation.")
]
Tries = Annotated[int, typer.Option(min=1, max=1000, help="Attempts per request.")]
Asks = Annotated[
    int, typer.Option(min=1, max=1000, help="How often to ask a question until a reply is valid.")
]
Timeout = Annotated[
    float,
    typer.Option(
        min=0.1, max=86_400.0, help="Seconds that a request may take in total, with its reply."
    ),
]
Pause = Annotated[
    float,
    typer.Option(
        min=0.0, max=600.0, help="Seconds before the second attempt, doubled with each further one."
    ),
]
MaxTokens = Annotated[
    int,
    typer.Option(
        min=0, max=10_000_000, help="Longest reply in tokens, reasoning included; 0: no limit."
    ),
]
Concurrent = Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Concurrent requests.")]
AskAgain = Annotated[
    bool,
    typer.Option("--ask-again", help="Repeat the questions without a valid reply in earlier runs."),
]


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


def client_choices(
    tries: int, timeout: float, pause: float, max_tokens: int, temperature: float = 0.0
) -> dict[str, Any]:
    """Collect the arguments of :class:`diaghoi.language.asking.Client` besides the endpoint."""
    from diaghoi.language.endpoint import RetryPolicy

    limits: dict[str, Any] = {} if temperature < 0 else {"temperature": temperature}
    return {
        "policy": RetryPolicy(tries=tries, timeout=timeout, pause=pause),
        "options": limits | ({"max_tokens": max_tokens} if max_tokens else {}),
        "leaving": _leaving,
    }


def _leaving(requests: int) -> None:
    typer.echo(
        f"waiting for {requests} pending requests, whose answers are stored, too; interrupt again "
        "to exit at once",
        err=True,
    )


def answer_store(path: Path, ask_again: bool) -> AnswerStore:
    """Open the file with the answers so far, optionally without those that could not be read."""
    from diaghoi.language.answer_store import AnswerStore

    store = AnswerStore(path)
    if ask_again:
        store.forget_unread()
    return store
