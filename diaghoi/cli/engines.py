"""Where a command does its work: the options, and the engine that they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from diaghoi.cli.progress import Progress
from diaghoi.data.arrays.threads import cores
from diaghoi.exceptions import InputError, close_matches

if TYPE_CHECKING:
    from diaghoi.engines.engine import Engine

ENGINES = ("local", "dask")

EngineName = Annotated[
    str, typer.Option("--engine", help="local: processes on this machine; dask: a Dask cluster.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="A running Dask scheduler [start a cluster on this machine]."
    ),
]


def check_engine(engine: str, scheduler: str | None) -> None:
    """Refuse an unknown engine, and a scheduler of another.

    Raises
    ------
    InputError
        With the option.
    """
    if engine not in ENGINES:
        raise InputError(
            f"--engine '{engine}'{close_matches(engine, ENGINES)}: give one of {', '.join(ENGINES)}"
        )
    if scheduler is not None and engine != "dask":
        raise InputError("--scheduler: is for a Dask cluster; add --engine dask")


@contextmanager
def started(
    name: str, scheduler: str | None, workers: int | None, bar: Progress
) -> Iterator[Engine]:
    """Start the workers, and end them.

    Parameters
    ----------
    name, scheduler, workers
        The options.
    bar : Progress
        Shows what is waited for.
    """
    number = workers or cores()
    if name == "local":
        from diaghoi.engines.engine import LocalEngine

        with LocalEngine(number) as local:
            yield local
        return
    from diaghoi.engines.cluster import DaskEngine

    bar.start("starting the cluster" if scheduler is None else f"connecting to {scheduler}")
    with DaskEngine(scheduler, number) as cluster:
        yield cluster
