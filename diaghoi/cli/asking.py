"""Options of commands that ask language models, and their consent."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from diaghoi.language.answer_store import AnswerStore

Yes = Annotated[bool, typer.Option("--yes", help="Start without asking, after the estimate.")]
Tries = Annotated[int, typer.Option(min=1, help="Tries of a request that fails.")]
Asks = Annotated[int, typer.Option(min=1, help="Times a question is put until a reply is valid.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds to wait for a reply.")]
Pause = Annotated[float, typer.Option(min=0.0, help="Seconds before the second try; they double.")]
MaxTokens = Annotated[
    int, typer.Option(min=0, help="Longest reply, which thinking counts for; 0 leaves it open.")
]
Concurrent = Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Requests at a time.")]
AskAgain = Annotated[
    bool, typer.Option("--ask-again", help="Ask again what had no valid reply in earlier runs.")
]


def goes_on(estimate: Iterable[str], yes: bool, quiet: bool) -> bool:
    """Show on stderr what is to be asked, and ask where nobody said yes.

    Parameters
    ----------
    estimate : iterable of str
        The lines to show, unless the command is quiet and yes was said.
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
    """Collect what :class:`diaghoi.language.asking.Client` takes besides the endpoint."""
    from diaghoi.language.endpoint import RetryPolicy

    limits: dict[str, Any] = {} if temperature < 0 else {"temperature": temperature}
    return {
        "policy": RetryPolicy(tries=tries, timeout=timeout, pause=pause),
        "options": limits | ({"max_tokens": max_tokens} if max_tokens else {}),
        "leaving": _leaving,
    }


def _leaving(requests: int) -> None:
    typer.echo(
        f"waiting for {requests} requests under way, whose answers are kept, too; interrupt again "
        "to end at once",
        err=True,
    )


def answer_store(path: Path, ask_again: bool) -> AnswerStore:
    """Open the file with the answers so far; without those that could not be read, on demand."""
    from diaghoi.language.answer_store import AnswerStore

    store = AnswerStore(path)
    if ask_again:
        store.forget_unread()
    return store
