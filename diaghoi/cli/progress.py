"""Progress on stderr for tasks that take longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from diaghoi.exceptions import printable


class Progress:
    """The current task with its progress.

    The bar appears after a second, so that quick commands neither flicker nor import rich.
    """

    def __init__(self) -> None:
        self.task = "starting"
        self.done = 0
        self.total: int | None = None
        self._bar: Any = None
        self._logs = False

    def start(self, task: str, total: int | None = None) -> None:
        """Start a task, with the number of steps if it is known."""
        self.task, self.done, self.total = task, 0, total
        self._update()

    def start_slow(self, task: str, total: int, *, twice: bool = False) -> None:
        """Start a task that may take long, and announce it if stderr is a log file.

        Parameters
        ----------
        task : str
            What is done.
        total : int
            Resamples to come.
        twice : bool
            Whether each resample counts as two steps.
        """
        self.start(task, 2 * total if twice else total)
        if self._logs:
            line = f"{task[:1].upper()}{task[1:]}: {total:,} resamples ..."
            typer.echo(printable(line), err=True)

    def advance(self, steps: int) -> None:
        """Count steps as done."""
        self.done += steps
        self._update()

    def _update(self) -> None:
        if self._bar is not None:
            self._bar.update(0, description=self.task, completed=self.done, total=self.total)

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        if not console.is_interactive:
            return  # a bar in a log file is only noise
        bar = Bar(console=console, transient=True)
        bar.add_task(self.task, completed=self.done, total=self.total)
        bar.start()
        self._bar = bar

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Show the bar if the block runs longer than a second."""
        self._logs = not sys.stderr.isatty()
        timer = threading.Timer(1.0, self._appear)
        timer.daemon = True
        timer.start()
        try:
            yield self
        finally:
            timer.cancel()
            timer.join()
            if self._bar is not None:
                self._bar.stop()


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """Yield a progress display, silent if ``quiet``."""
    if quiet:
        yield Progress()
    else:
        with Progress().shown() as shown:
            yield shown
