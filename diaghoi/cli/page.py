"""Pages: what they need of each model, and the server of ``--open``."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import options
from diaghoi.cli.options import option, options_class
from diaghoi.cli.outputs import check_page
from diaghoi.cli.progress import Progress
from diaghoi.cli.stopping import wait_for_signal
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.explained import ExplainedDifference
from diaghoi.comparison.joint import AnyComparison
from diaghoi.comparison.study import Study
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.formats.pictures import Pictures

if TYPE_CHECKING:
    from diaghoi.report.html import Page, PageModel

SHOWN = 40
"""Predictions of an image that a server draws: twice as many as in a page that is a file."""
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


@options_class
class PageOptions:
    """How a page is shown."""

    images: options.PageImages = None
    open: bool = option(
        False, panel=options.FILES, help="Explore the models in a browser, until Ctrl-C."
    )
    port: int = option(
        0, min=0, max=65535, panel=options.FILES, rare=True, help="Port of --open [any free one]."
    )

    @property
    def pictures(self) -> Pictures | None:
        """The folder of pictures, where it is given."""
        return None if self.images is None else Pictures(self.images)

    def check(self, written: bool) -> None:
        """Check what a page needs before the work begins.

        Parameters
        ----------
        written : bool
            Whether a page is also written to a file.

        Raises
        ------
        InputError
            Where jinja2 is missing, for a port that is taken, and a port or pictures that no page
            uses.
        """
        if self.open:
            import socket

            from diaghoi.report.html.server import HOST

            check_page()
            try:
                socket.create_server((HOST, self.port)).close()
            except OSError as error:
                reason = os.strerror(error.errno or 0)
                raise InputError(
                    f"--port {self.port}: cannot be used ({reason}); give another"
                ) from None
        elif self.port:
            raise InputError("--port: is for --open; add it or leave this out")
        if self.images is not None:
            if not (self.open or written):
                raise InputError(
                    "--images: draws the cases of a page on pictures; add --open or --out FILE.html"
                )
            Pictures(self.images)

    def serve(self, page: Page, quiet: bool) -> None:
        """Show a page at an address that nobody else on this machine can guess, until Ctrl-C."""
        from diaghoi.report.html.server import PageServer

        with PageServer(page, self.pictures, self.port) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            typer.echo(server.address)
            if not quiet:
                typer.echo("Open this address in a browser here; Ctrl-C ends.", err=True)
            sys.stdout.flush()
            # Without a window, a browser of text would take the terminal over.
            windows = sys.platform in ("darwin", "win32") or any(map(os.environ.get, SCREENS))
            if sys.stdout.isatty() and windows:
                webbrowser.open(server.address)
            wait_for_signal()
            server.shutdown()


@dataclass(kw_only=True)
class ComparisonPage:
    """Collects the models of a page while their predictions are in memory, one after the other.

    Parameters
    ----------
    wanted : bool
        Whether there is a page at all; else nothing is collected.
    shown : int or None
        Predictions of an image that can be drawn; None for the number of a page that is a file.
    models : list of PageModel
        What was collected.
    files : list of pathlib.Path
        What was read.
    explained : list of Comparison
        The comparison of each study, with what the differences are made of where that is known.
    results : list of dict
        Those of the models, for figures.
    """

    wanted: bool
    shown: int | None = None
    models: list[PageModel] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    explained: list[Comparison] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self,
        diagnosis: Diagnosis,
        scenes: tuple[Scenes, Scenes],
        result: Mapping[str, Any],
        bar: Progress,
    ) -> None:
        """Collect a model."""
        if not self.wanted:
            return
        from diaghoi.report.html import page_model
        from diaghoi.report.html.models import SHOWN

        bar.start(f"collecting the cases of {diagnosis.label}")
        model = page_model(diagnosis, scenes, result=result, shown=self.shown or SHOWN)
        # Without the boxes, as all models are in memory together.
        self.models.append(replace(model, diagnosis=diagnosis.without_scenes()))

    def add_saved(self, label: str, result: Mapping[str, Any]) -> None:
        """Collect a saved result, without single predictions."""
        from diaghoi.comparison.results import is_semantic

        if self.wanted and not is_semantic(result):
            from diaghoi.report.html import saved_model

            self.models.append(saved_model({**result, "label": label}))

    def explain(
        self,
        study: Study,
        comparison: Comparison,
        differences: Callable[[], Sequence[ExplainedDifference]],
    ) -> None:
        """Keep the comparison of a study, with what its differences are made of.

        Parameters
        ----------
        study : Study
            What was compared.
        comparison : Comparison
            Its models.
        differences : callable
            Explains them, where that has not been done.
        """
        if not self.wanted:
            return
        inputs = [path for model in study.models for path in (model.file, model.pairs)]
        self.files += [path for path in (study.annotations, *inputs) if path is not None]
        found = [each for each in self.models if each.diagnosis is not None]
        if len(found) == len(study.models) > 1 and not comparison.explained:
            try:
                comparison = comparison.explain(differences())
            except InputError as error:
                # On other images: the page shows the means of each, and says why no more.
                from diaghoi.report.html import saved_model

                self.models = [saved_model(each.result) for each in self.models]
                comparison = replace(comparison, notes=(str(error), *comparison.notes))
        self.explained.append(comparison)

    def page(self, comparison: AnyComparison) -> Page:
        """Collect what a server shows: all images, and the report of a model that is alone."""
        from diaghoi.report.html import Page

        models = self.shown_models()
        shown = None if len(models) == 1 else self._explained(comparison)
        return Page.of(models, shown, files=self.files, every_image=True)

    def _explained(self, comparison: AnyComparison) -> AnyComparison:
        return self.explained[0] if len(self.explained) == 1 else comparison

    def shown_models(self) -> list[PageModel]:
        """Return the models, where one page can explore them together: those of one study."""
        return self.models if len(self.explained) == 1 else []

    def write(self, path: Path, comparison: AnyComparison, pictures: Pictures | None) -> list[str]:
        """Write the page to a file; return notes on the pictures."""
        from diaghoi.report.html import write_comparison_html

        shown, models = self._explained(comparison), self.shown_models()
        return write_comparison_html(path, shown, models, files=self.files, pictures=pictures)
