"""Check the paths of a command before any work, and deliver its result."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import options
from diaghoi.cli.options import option, options_class
from diaghoi.cli.stopping import wait_for_signal
from diaghoi.diagnosis.inputs import check_readable
from diaghoi.exceptions import InputError, number_of, printable
from diaghoi.formats.output import (
    check_link,
    leftovers_of,
    remove_leftovers,
    replacing,
)
from diaghoi.formats.pictures import Pictures
from diaghoi.report.json import to_json

if TYPE_CHECKING:
    from diaghoi.report.html import Page

SHOWN = 40
"""Number of predictions per image that a served page draws: twice as many as a page file."""
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
STDOUT = "-"
FIGURES = (".pdf", ".svg", ".png")
TABLES = (".csv", ".md", ".tex", ".txt")
Text = Callable[[], str]
"""Function that creates the content of a text file."""
Writer = Callable[[Path], Sequence[str]]
"""Function that writes a file, and returns notes on the file."""


@options_class
class OutputOptions:
    """Options for the outputs of a command."""

    out: list[Path] | None = option(
        None,
        metavar="PATH",
        panel=options.FILES,
        help="File to write, such as a .csv; its suffix decides the type. A folder gets all files; "
        "-.csv prints to stdout. Repeatable.",
    )
    json: Path | None = option(
        None, panel=options.FILES, help="Write all results to this JSON file; - for stdout."
    )
    quiet: options.Quiet = False

    def output_files(self, kinds: Collection[str], stem: str = "") -> dict[Path, str]:
        """Return all files with the suffixes that determine their content; ``-`` means stdout.

        Parameters
        ----------
        kinds : collection of str
            Endings of the file names that the command writes: ``.csv``, ``classes.csv``.
        stem : str
            Stem of the file names in a folder.

        Raises
        ------
        InputError
            If a suffix is unknown, a file is named twice, or a type cannot be printed.
        """
        files = [] if self.json is None else [(self.json, ".json")]
        for path in self.out or ():
            kind = _kind(path, kinds)
            printed = str(path).lower() == f"{STDOUT}{kind}"
            if printed and (kind in ("", ".html", *FIGURES)):
                texts = [f"{STDOUT}{text}" for text in kinds if text not in (".html", *FIGURES)]
                raise InputError(
                    f"--out {path}: cannot be printed; give the name of a file, or one of "
                    f"{', '.join(texts)}"
                )
            if not kind and not _is_folder(path):
                raise InputError(
                    f"--out {path}: unknown suffix {path.suffix}; give one of {', '.join(kinds)}, "
                    "or a folder"
                )
            if _is_folder(path) and not printed:
                files += _in_folder(path, kinds, stem)
            else:
                files.append((Path(STDOUT) if printed else path, kind))
        paths = [path for path, _ in files]
        if twice := next((path for path in paths if paths.count(path) > 1), None):
            raise InputError(f"{twice}: would be written twice; give two names")
        return dict(files)

    def printed(self, kinds: Iterable[str]) -> str:
        """Return the type of text printed on stdout, such as ``.csv``; empty for the screen."""
        names = [str(path).lower() for path in self.out or ()]
        names += [f"{self.json}.json"]
        return next((kind for kind in kinds if f"{STDOUT}{kind}" in names), "")

    def check(self, kinds: Collection[str], inputs: Iterable[Path | None], stem: str = "") -> None:
        """Before any work starts, reject files that cannot be written or read.

        Raises
        ------
        InputError
            If the path is unusable; the message says why.
        """
        inputs = list(inputs)
        files = self.output_files(kinds, stem)
        folders = set(filter(_is_folder, self.out or ()))
        for folder in folders:
            if stem in (".", "..") or set(stem) & set("/\\\0"):
                raise InputError(
                    f"--label '{stem}': names the files in --out, so it must be a name without "
                    "'/'; give another label"
                )
            check_folder(folder)
        new = {folder for folder in folders if not folder.is_dir()}
        check_outputs([path for path in files if path.parent not in new], inputs)
        if ".html" in files.values():
            check_page()
        check_readable(inputs)

    def write(
        self,
        texts: Mapping[str, Text],
        writers: Mapping[str, Writer] | None = None,
        stem: str = "",
    ) -> list[str]:
        """Write all files, and return notes on them.

        Parameters
        ----------
        texts : mapping
            Functions that create the text of a file, by suffix.
        writers : mapping, optional
            Functions that write other files, by suffix.
        stem : str
            As for :meth:`check`.
        """
        writers = writers or {}
        notes: list[str] = []
        files = self.output_files([*texts, *writers], stem).items()
        # Texts come first, so that a failing figure or page does not affect them.
        for path, kind in sorted(files, key=lambda file: file[1] not in texts):
            if str(path) == STDOUT:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind in texts:
                write_text(path, texts[kind]())
            else:
                notes += writers[kind](path)
        return notes

    def show(
        self,
        texts: Mapping[str, Text],
        show: Callable[[], None],
        notes: Iterable[str] = (),
        files: Iterable[Path] = (),
    ) -> None:
        """Print a result, or the text requested in its place, on stdout, and notes on stderr.

        Parameters
        ----------
        texts : mapping
            As for :meth:`write`.
        show : callable
            Function that prints the usual screen.
        notes : iterable of str
            Always printed, except with ``--quiet``.
        files : iterable of Path
            Files to name on stderr if they exist.
        """
        if kind := self.printed(texts):
            typer.echo(texts[kind]().removesuffix("\n"))
        elif not self.quiet:
            show()
        if self.quiet:
            return
        print_notes(notes)
        written = [str(path) for path in files if path.exists()]
        if written:
            typer.echo(f"Wrote {printable(', '.join(written))}", err=True)

    def deliver(
        self,
        texts: Mapping[str, Text],
        show: Callable[[], None],
        notes: Iterable[str] = (),
        writers: Mapping[str, Writer] | None = None,
        stem: str = "",
    ) -> None:
        """Write all files of a result, and print it: :meth:`write`, then :meth:`show`."""
        remarks = self.write(texts, writers, stem)
        files = self.output_files([*texts, *(writers or ())], stem)
        self.show(texts, show, [*notes, *remarks], files)


@options_class
class ScreenOptions(OutputOptions):
    """Options for the outputs of a result with a one-screen and a detailed form."""

    detail: options.Detail = False

    def present(
        self, notes: Sequence[str], screen: Callable[[], object], everything: Callable[[], object]
    ) -> None:
        """Print one screen and the number of notes; with ``--detail``, the report and all notes."""
        if self.detail:
            everything()
            print_notes(notes)
        else:
            screen()
            print_number(notes)


@options_class
class PageOptions:
    """Options for showing a page."""

    images: Path | None = option(
        None, panel=options.FILES, help="Folder with the pictures, to draw single errors on them."
    )
    open: bool = option(
        False, panel=options.FILES, help="Explore the models in a browser until Ctrl-C."
    )
    port: int = option(
        0, min=0, max=65535, panel=options.FILES, rare=True, help="Port of --open [any free one]."
    )

    @property
    def pictures(self) -> Pictures | None:
        """The folder with the pictures, if the user names one."""
        return None if self.images is None else Pictures(self.images)

    def check(self, written: bool) -> None:
        """Check the inputs of a page before any work starts.

        Parameters
        ----------
        written : bool
            Whether a page is also written to a file.

        Raises
        ------
        InputError
            If jinja2 is missing, the port is taken, or a port or pictures are given without a page.
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
                    f"--port {self.port}: cannot be used ({reason}); give another port"
                ) from None
        elif self.port:
            raise InputError("--port: applies to --open; add --open, or leave out --port")
        if self.images is not None:
            if not (self.open or written):
                raise InputError(
                    "--images: applies to pages, which draw cases on pictures; add --open or "
                    "--out FILE.html"
                )
            Pictures(self.images)

    def serve(self, page: Page, quiet: bool) -> None:
        """Serve a page at an unguessable local URL until Ctrl-C."""
        import webbrowser

        from diaghoi.report.html.server import PageServer

        with PageServer(page, self.pictures, self.port) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            typer.echo(server.address)
            if not quiet:
                typer.echo(
                    "Open this address in a browser on this machine; Ctrl-C stops the server.",
                    err=True,
                )
            sys.stdout.flush()
            # Without a window system, a text-mode browser might start in this terminal.
            windows = sys.platform in ("darwin", "win32") or any(map(os.environ.get, SCREENS))
            if sys.stdout.isatty() and windows:
                webbrowser.open(server.address)
            wait_for_signal()
            server.shutdown()


def as_json(result: Mapping[str, Any]) -> dict[str, Text]:
    """Return the JSON text for :meth:`OutputOptions.deliver`."""
    return {".json": lambda: to_json(result) + "\n"}


def _is_folder(path: Path) -> bool:
    return path.is_dir() or not path.suffix


def _kind(path: Path, kinds: Iterable[str]) -> str:
    """Return the longest matching ending of a name; empty if none matches."""
    return max((kind for kind in kinds if path.name.lower().endswith(kind)), key=len, default="")


def _in_folder(folder: Path, kinds: Iterable[str], stem: str) -> Iterator[tuple[Path, str]]:
    """Name the files that a folder gets; without jinja2, there is no page."""
    for kind in kinds:
        if kind == ".html":
            try:
                check_page()
            except InputError:
                continue
        yield folder / f"{stem or 'report'}{'' if kind.startswith('.') else '_'}{kind}", kind


def check_page() -> None:
    """Raise an error if jinja2, which every page needs, is missing."""
    from diaghoi.report.pages import check_installed

    check_installed()


def write_text(path: Path, text: str) -> None:
    """Write a text file; it appears completely or not at all."""
    with replacing(path) as temporary:
        # Names in results are not always valid Unicode.
        temporary.write_bytes(text.encode("utf-8", errors="replace"))


def plain_text(show: Callable[[Any], object]) -> str:
    """Print to an uncoloured console of 80 columns, and return the text."""
    from diaghoi.report.terminal import captured

    return captured(show, 80)


def print_number(notes: Sequence[str]) -> None:
    """Print on stderr how many notes there are."""
    if notes:
        typer.echo(f"{number_of('note', len(notes))}: --detail", err=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        typer.echo(f"Note: {printable(note)}", err=True)


def show_tables(tables: Iterable[Any], console: Any = None) -> None:
    """Print tables on stdout, or on another console."""
    from rich.console import Console

    from diaghoi.report.terminal import print_table

    console = console or Console(highlight=False)
    for row, table in enumerate(tables):
        if row:
            console.print()
        print_table(console, table)


def width_of(column: str) -> float:
    """Return the width in inches of a ``single`` or ``double`` column."""
    from diaghoi import plots

    return plots.SINGLE_COLUMN if column == "single" else plots.DOUBLE_COLUMN


def draw(
    results: Sequence[Mapping[str, Any]],
    path: Path,
    column: str = "double",
    name: str = "delta_map",
) -> list[str]:
    """Draw a figure of results as ``diaghoi figures`` does, and return notes."""
    from diaghoi import plots

    figure = partial(plots.figure_of, plots.FIGURES[name], results, width_of(column))
    return save_figure(figure, path, plots.caption(results), str(path))


def save_figure(figure: Callable[[], Any], path: Path, caption: str, name: str = "") -> list[str]:
    """Draw and write a figure; return notes, which name the figure if it cannot be drawn."""
    from diaghoi import plots

    def drawn() -> list[str]:
        try:
            plots.save(figure(), path, caption=caption)
        except plots.NotApplicable as reason:
            return [f"{name}: not drawn: {reason}"]
        return []

    return noting_letters(drawn)


def noting_letters(draw: Callable[[], list[str]]) -> list[str]:
    """Draw a figure and return the notes, including one on characters that the font lacks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes = draw()
    if any("missing from font" in str(warning.message) for warning in caught):
        notes.append(
            "the font lacks some letters of the names; the figure shows placeholders for these "
            "letters"
        )
    return notes


def check_files(files: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Reject unusable files; see :func:`check_outputs` and :func:`check_readable`.

    Raises
    ------
    InputError
        If the path is unusable; the message says why.
    """
    inputs = list(inputs)
    check_outputs(files, inputs)
    check_readable(inputs)


def check_outputs(files: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Reject output files that cannot be written, or that are also inputs.

    Temporary files of killed runs are removed.

    Parameters
    ----------
    files : iterable of path or None
        Output files; ``-`` means stdout, and None means no file.
    inputs : iterable of path or None
        Files that are read.

    Raises
    ------
    InputError
        If the path is in a missing folder, or is a folder, a device, or one of the inputs.
    """
    read = {os.path.realpath(path) for path in inputs if path is not None}
    written: set[str] = set()
    for path in files:
        if path is None or str(path) == STDOUT:
            continue
        target = os.path.realpath(path)
        if target in read:
            raise InputError(f"{path}: would overwrite an input file; give another name")
        if target in written:
            raise InputError(f"{path}: would be written twice; give two names")
        written.add(target)
        check_link(path)
        if path.is_dir():
            raise InputError(f"{path}: cannot be written: it is a folder; give the name of a file")
        if path.exists() and not path.is_file():
            raise InputError(
                f"{path}: cannot be written: it is not a regular file; for stdout give "
                "-.csv, -.json and so on"
            )
        folder = Path(target).parent if path.is_symlink() else path.parent
        if not folder.is_dir():
            why = f"the folder {folder} does not exist; create it first"
            if folder.exists():
                why = f"{folder} is a file, not a folder; give another path"
            raise InputError(f"{path}: cannot be written: {why}")
        _check_writable(path, folder)
        remove_leftovers(leftovers_of(path))


def check_folder(folder: Path | None) -> None:
    """Reject an output folder that cannot be created or written to.

    Raises
    ------
    InputError
        If the path, or its first existing parent, is not a writable folder.
    """
    if folder is None:
        return
    check_link(folder)
    parts = (folder, *folder.absolute().parents)
    existing = next(path for path in parts if os.path.lexists(path))
    if not existing.is_dir():
        what = "a file" if existing.exists() else "a symbolic link to nothing"
        raise InputError(f"{folder}: cannot be the output folder: {existing} is {what}")
    _check_writable(folder, existing)


def _check_writable(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{path}: cannot be written: no permission to write to {folder.resolve()}; give "
            "another path"
        )
