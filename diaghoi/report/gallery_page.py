"""Pictures of the worst cases of each error, as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi._version import __version__
from diaghoi.cases.cases import Case
from diaghoi.cases.similarities import KINDS
from diaghoi.formats.containers.atomic import replacing
from diaghoi.formats.pictures.folder import Picture, Pictures
from diaghoi.oracles import error_title
from diaghoi.report.gallery import Gallery, picture_notes, words_for
from diaghoi.report.html.words import definition_of, meaning_of
from diaghoi.report.pages import jpeg_url, template
from diaghoi.report.semantic import similarity_in_words

WIDTH = 640
"""Width in pixels of the widest picture of a page."""
QUALITY = 82


class GalleryPicture(NamedTuple):
    """A case drawn over its picture.

    Parameters
    ----------
    url : str
        The drawing itself, as an address.
    width, height : int
        Of the drawing in pixels.
    problem : str
        What is wrong with the picture, in words; empty where nothing is.
    """

    url: str
    width: int
    height: int
    problem: str


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

    found: dict[str, Picture] = {}

    def draw(case: Case) -> GalleryPicture:
        picture = found[case.image] = pictures.read(case.image, case.size)
        drawing = _drawn(case, picture)
        if progress is not None:
            progress(1)
        return drawing

    similar = gallery.similarities
    # Part by part, so that the pictures are not all in memory.
    page = template("gallery.html.j2").stream(
        title=f"{gallery.label or 'Predictions'} on {gallery.dataset}: cases of each error",
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
    return picture_notes(found, pictures.folder)


def _drawn(case: Case, picture: Picture) -> GalleryPicture:
    from diaghoi.plots.figures.picture import card
    from diaghoi.plots.style import SINGLE_COLUMN

    figure = card(case, picture.image, missing=words_for(picture), words=False)
    dots = WIDTH / SINGLE_COLUMN
    stream = BytesIO()
    figure.savefig(stream, format="jpeg", dpi=dots, pil_kwargs={"quality": QUALITY})
    width, height = (int(side * dots) for side in figure.get_size_inches())
    problem = picture.reason if picture.problem else ""
    return GalleryPicture(jpeg_url(stream.getvalue()), width, height, problem)
