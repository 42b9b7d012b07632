"""Pictures of the worst cases of each error, as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from diaghoi._version import __version__
from diaghoi.cases.cases import Case
from diaghoi.cases.similarities import KINDS
from diaghoi.data.vocabulary import printed_name
from diaghoi.formats.output import replacing
from diaghoi.formats.pictures import Pictures
from diaghoi.oracles import error_title
from diaghoi.report.case_pictures import CasePicture, CasePictures
from diaghoi.report.gallery import Gallery
from diaghoi.report.html.words import definition_of, meaning_of
from diaghoi.report.pages import template
from diaghoi.report.semantic import similarity_in_words


def write_page(
    path: Path,
    gallery: Gallery,
    pictures: Pictures,
    *,
    progress: Callable[[int], Any] | None = None,
) -> list[str]:
    """Write a page with all pictures in it; the file appears whole or not at all.

    Parameters
    ----------
    path : pathlib.Path
        Where to write.
    gallery, pictures, progress
        As for :func:`diaghoi.report.gallery.write_folder`.

    Returns
    -------
    list of str
        Notes on the pictures.

    Raises
    ------
    InputError
        Where jinja2 is missing, or the file cannot be written.
    """
    from diaghoi.plots.style import COLOURS, OTHER_COLOUR

    drawn = CasePictures(pictures)

    def draw(case: Case) -> CasePicture:
        drawing = drawn.draw(case)
        if progress is not None:
            progress(1)
        return drawing

    similar = gallery.similarities
    # Part by part, so that the pictures are not all in memory.
    page = template("gallery.html.j2").stream(
        title=f"{gallery.label or 'Predictions'} on {printed_name(gallery.dataset)}: "
        "cases of each error",
        gallery=gallery,
        kinds=[KINDS[kind] for kind in gallery.kinds],
        compared="" if similar is None else similarity_in_words(similar),
        draw=draw,
        error_title=error_title,
        colour_of=lambda error: COLOURS.get(error, OTHER_COLOUR),
        meaning_of=meaning_of,
        definition_of=definition_of,
        version=__version__,
    )
    with replacing(path) as temporary, temporary.open("wb") as stream:
        page.dump(stream, encoding="utf-8")
    return drawn.notes
