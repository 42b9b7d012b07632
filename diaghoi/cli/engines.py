"""Where a command does its work: in processes on this machine, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from diaghoi.cli import options
from diaghoi.cli.options import option, options_class
from diaghoi.cli.progress import Progress
from diaghoi.data.memory import cores
from diaghoi.exceptions import InputError

if TYPE_CHECKING:
    from diaghoi.engines.engine import Engine


@options_class
class EngineOptions:
    """Where the work is done."""

    engine: str | None = option(
        None,
        panel=options.SHARDS,
        rare=True,
        among=("local", "dask"),
        help="local: processes on this machine [the default]; dask: a Dask cluster.",
    )
    scheduler: str | None = option(
        None,
        metavar="ADDRESS",
        panel=options.SHARDS,
        rare=True,
        help="A running Dask scheduler [start a cluster on this machine].",
    )
    workers: options.Workers = None

    @property
    def asked(self) -> bool:
        """Whether the user says anything about the work."""
        return any(value is not None for value in vars(self).values())

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.engine != "dask":
            raise InputError("--scheduler: is for a Dask cluster; add --engine dask")

    @contextmanager
    def started(self, bar: Progress) -> Iterator[Engine]:
        """Start the workers, and end them; the bar shows what is waited for."""
        number = self.workers or cores()
        if self.engine in (None, "local"):
            from diaghoi.engines.engine import LocalEngine

            with LocalEngine(number) as local:
                yield local
            return
        from diaghoi.engines.cluster import DaskEngine

        address = self.scheduler
        bar.start("starting the cluster" if address is None else f"connecting to {address}")
        with DaskEngine(address, number) as cluster:
            yield cluster
