"""Pages: what they need of each model, and the server of ``--open``."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from diaghoi.cli import options
from diaghoi.cli.options import option, options_class
from diaghoi.cli.outputs import check_page
from diaghoi.cli.stopping import wait_for_signal
from diaghoi.exceptions import InputError
from diaghoi.formats.pictures import Pictures

if TYPE_CHECKING:
    from diaghoi.report.html import Page

SHOWN = 40
"""Predictions of an image that a server draws: twice as many as in a page that is a file."""
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


@options_class
class PageOptions:
    """How a page is shown."""

    images: Path | None = option(
        None, panel=options.FILES, help="Folder with the pictures, to draw cases on."
    )
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
