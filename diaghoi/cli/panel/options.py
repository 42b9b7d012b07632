"""Options of all panels, and the pictures of their images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diaghoi.cli import outputs
from diaghoi.cli.figure_options import FORMATS
from diaghoi.cli.present import noting_letters, print_notes, print_written
from diaghoi.exceptions import InputError, close_matches

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from diaghoi.diagnosis.diagnosis import Diagnosis
    from diaghoi.formats.pictures.folder import Pictures

Out = Annotated[Path, typer.Option(help="The figure: a .pdf, .svg or .png file.", readable=False)]
Names = Annotated[
    list[str] | None,
    typer.Option("--image", metavar="NAME", help="Only this image; repeatable [all]."),
]
Columns = Annotated[
    int | None, typer.Option(min=1, max=10, help="Pictures in a row [as many as are legible].")
]


def check_figure(out: Path, inputs: Iterable[Path | None]) -> None:
    """Check that a figure can be written.

    Raises
    ------
    InputError
        For another ending, or a path that cannot be written or is an input.
    """
    if out.suffix.lower().lstrip(".") not in FORMATS:
        raise InputError(
            f"--out {out}: the name must end in {', '.join(f'.{each}' for each in FORMATS)}"
        )
    outputs.check_outputs([out], inputs)


def chosen_images(
    given: Sequence[str] | None, names: Sequence[str], pictures: Pictures
) -> tuple[list[str], list[str]]:
    """Choose the images that a panel can show: those given, or those that have a picture.

    Parameters
    ----------
    given : sequence of str or None
        Names from the command line.
    names : sequence of str
        Of all images.
    pictures : Pictures
        Where pictures are looked for.

    Returns
    -------
    images, notes
        All names where none has a picture.

    Raises
    ------
    InputError
        For a name that no image has.
    """
    known = set(names)
    for name in given or ():
        if name not in known:
            raise InputError(
                f"--image '{name}': no such image in annotations or predictions"
                f"{close_matches(name, names)}"
            )
    if given:
        return list(dict.fromkeys(given)), []
    found = [name for name in names if pictures.find(name) is not None]
    if not found or len(found) == len(names):
        return list(names), []
    note = f"{len(found):,} of {len(names):,} images have a picture in {pictures.folder}"
    return found, [f"{note}; chosen among these"]


def subject_of(diagnosis: Diagnosis) -> dict[str, object]:
    """Return what a caption needs of a diagnosis; its whole result would take all oracles."""
    protocol = diagnosis.protocol
    return {
        "label": diagnosis.label,
        "dataset": diagnosis.vocabulary.name,
        "protocol": {"name": protocol.name, "signature": protocol.signature},
    }


def write_figure(
    out: Path, draw: Callable[[], Figure], caption: str, notes: Sequence[str], quiet: bool
) -> None:
    """Draw and write a figure, and print the notes.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    from diaghoi.plots.style import paper, save

    def write() -> list[str]:
        with paper():
            save(draw(), out, caption=caption)
        return []

    letters = noting_letters(write)
    if not quiet:
        print_written([out])
        print_notes([*notes, *letters])
