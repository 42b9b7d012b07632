"""``--memory`` of all commands that read predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Annotated, Any

import typer

from diaghoi.cli.options import READING
from diaghoi.data.arrays.budget import DEFAULT, MOST, VARIABLE, allowing

Memory = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST,
        metavar="MB",
        help=f"What a single image, or compressed arrays, may take of memory [{DEFAULT}; "
        f"{VARIABLE} of the environment].",
        rich_help_panel=READING,
    ),
]


def sparing(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--memory``, which holds while it runs."""

    @wraps(command)
    def run(*, memory: int | None = None, **given: Any) -> None:
        with nullcontext() if memory is None else allowing(memory):
            command(**given)

    signature = inspect.signature(command, eval_str=True)
    option = inspect.Parameter(
        "memory", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Memory
    )
    parameters = [*signature.parameters.values(), option]
    # Typer reads both.
    vars(run)["__signature__"] = signature.replace(parameters=parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
