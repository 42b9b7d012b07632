"""Pictures of the worst cases of each error, as one page that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi._version import __version__
from diaghoi.cases.cases import Case
from diaghoi.cases.similarities import KINDS
from diaghoi.formats.containers.atomic import replacing
from diaghoi.formats.pictures.folder import Picture, Pictures
from diaghoi.oracles import error_title
from diaghoi.report.gallery import Gallery, Section, picture_notes, words_for
from diaghoi.report.html.words import definition_of, meaning_of
from diaghoi.report.semantic import similarity_in_words

WIDTH = 640
"""Width in pixels of the widest picture of a page."""
QUALITY = 82

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --raised: #f4f5f7; --ink: #1b1d21;
  --faint: #565b66; --rule: #d3d6dc; --accent: #0b57a4; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15171b; --raised: #1f2228; --ink: #e7e9ee; --faint: #a6acb8;
    --rule: #3a3f49; --accent: #8ab8f5; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 90rem; padding: 0 1.25rem 4rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, "Segoe UI", Roboto, Arial, sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
h1 { margin: 1.5rem 0 .25rem; font-size: 1.75rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2.5rem 0 .25rem; font-size: 1.35rem; }
h2 small { color: var(--faint); font-size: .9rem; font-weight: 400; }
p { max-width: 48rem; margin: .5rem 0; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .75rem; }
.faint { color: var(--faint); font-size: .9rem; }
.swatch { display: inline-block; width: .8em; height: .8em; margin-right: .35em;
  border: 1px solid var(--ink); }
.cases { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr));
  gap: 1.5rem 1.25rem; margin: .75rem 0; align-items: start; }
figure { margin: 0; font-size: .875rem; line-height: 1.4; }
img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
.frame { background: var(--raised); }
figcaption p { margin: .2rem 0; }
figcaption .faint { font-size: inherit; }
figcaption strong { font-size: 1rem; overflow-wrap: anywhere; }
.score { float: right; padding-left: .75rem; font-variant-numeric: tabular-nums; }
@media print {
  :root { --ground: #fff; --raised: #fff; --ink: #000; --faint: #444; --accent: #000; }
  html { font-size: 9pt; }
  body { max-width: none; padding: 0; print-color-adjust: exact;
    -webkit-print-color-adjust: exact; }
  nav { display: none; }
  .cases { grid-template-columns: repeat(3, 1fr); }
  figure { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


class Drawn(NamedTuple):
    """A case drawn over its picture.

    Parameters
    ----------
    jpeg : bytes
        The drawing.
    width, height : int
        Of the drawing in pixels.
    """

    jpeg: bytes
    width: int
    height: int


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
        Where the file cannot be written.
    """
    found: dict[str, Picture] = {}
    with replacing(path) as temporary, temporary.open("wb") as stream:
        for part in _page(gallery, pictures, found, progress):
            stream.write(part.encode())
    return picture_notes(found, pictures.folder)


def _page(
    gallery: Gallery,
    pictures: Pictures,
    found: dict[str, Picture],
    progress: Callable[[int], Any] | None,
) -> Iterator[str]:
    """Give the page part by part; what is found of each picture is noted in ``found``."""
    yield from _head(gallery)
    for section in gallery.sections:
        yield from _section_head(section, gallery.categories_count)
        for case in section.cases:
            picture = found[case.image] = pictures.read(case.image, case.size)
            yield _figure(case, picture, _drawn(case, picture))
            if progress is not None:
                progress(1)
        yield "</div>\n</section>\n"
    yield f'<footer class="faint"><p>diaghoi {__version__}</p></footer>\n</body>\n</html>\n'


def _head(gallery: Gallery) -> Iterator[str]:
    detector = gallery.label or "Predictions"
    title = f"{detector} on {gallery.dataset}: cases of each error"
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{in_html(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{in_html(title)}</h1>\n"
    )
    if gallery.hoi:
        yield f"<p>Only the class <strong>{in_html(gallery.hoi)}</strong>.</p>\n"
    if gallery.kinds:
        kinds = ", ".join(KINDS[kind] for kind in gallery.kinds)
        yield f"<p>Only errors of these kinds: {in_html(kinds)}.</p>\n"
    if gallery.similarities is not None:
        yield f"<p>{in_html(similarity_in_words(gallery.similarities))}</p>\n"
    yield (
        "<p>Solid lines in the colour of the error: the prediction. Dashes in black and white: the "
        "annotation. The line between two boxes leads from the person (dot) to the object "
        "(square).</p>\n<p>The predictions with the highest scores come first, and missed triplets "
        "of the classes with the highest AP; of one image there are two cases at most.</p>\n"
        f'<p class="faint">Protocol {in_html(gallery.protocol)}: {in_html(gallery.signature)}</p>\n'
        '<nav aria-label="Errors">\n'
    )
    for section in gallery.sections:
        yield f'<a href="#{in_html(section.error)}">{in_html(error_title(section.error))}</a>\n'
    yield "</nav>\n"


def _section_head(section: Section, categories_count: bool) -> Iterator[str]:
    from diaghoi.plots.style import COLOURS, OTHER_COLOUR

    colour = COLOURS.get(section.error, OTHER_COLOUR)
    shown = f"{len(section.cases):,} of {section.total:,}" if section.total else "none"
    yield (
        f'<section id="{in_html(section.error)}">\n'
        f'<h2><span class="swatch" style="background:{colour}"></span>'
        f"{in_html(error_title(section.error))} <small>{shown}</small></h2>\n"
    )
    meaning = meaning_of(section.error, categories_count=categories_count)
    oracle = definition_of(section.error)
    if meaning:
        yield f"<p>{in_html(meaning)}</p>\n"
    if oracle:
        yield f'<p class="faint">Its oracle: {in_html(oracle)}</p>\n'
    yield '<div class="cases">\n'


def _figure(case: Case, picture: Picture, drawn: Drawn) -> str:
    data = base64.b64encode(drawn.jpeg).decode()
    score = "" if case.score is None else f'<span class="score">{case.score:.3f}</span>'
    name = case.annotated if case.name is None else case.name
    seen = "missed" if case.name is None else "predicted"
    image = f"{case.image or 'no name'}: {picture.reason}" if picture.problem else case.image
    return (
        f'<figure>\n<div class="frame"><img src="data:image/jpeg;base64,{data}" '
        f'width="{drawn.width}" height="{drawn.height}" '
        f'alt="{in_html(f"{seen} {name} in {case.image}")}"></div>\n'
        f"<figcaption>\n<p>{score}<strong>{in_html(name or '')}</strong></p>\n"
        f"<p>{in_html(case.sentence)}</p>\n<p>Under its oracle it {in_html(case.repair)}.</p>\n"
        f'<p class="faint">{in_html(image)}</p>\n</figcaption>\n</figure>\n'
    )


def _drawn(case: Case, picture: Picture) -> Drawn:
    from diaghoi.plots.picture import card
    from diaghoi.plots.style import SINGLE_COLUMN

    figure = card(case, picture.image, missing=words_for(picture), words=False)
    dots = WIDTH / SINGLE_COLUMN
    stream = BytesIO()
    figure.savefig(stream, format="jpeg", dpi=dots, pil_kwargs={"quality": QUALITY})
    width, height = (int(side * dots) for side in figure.get_size_inches())
    return Drawn(stream.getvalue(), width, height)


def in_html(words: str) -> str:
    """Return words as they may stand in HTML, also in attributes; control characters replaced."""
    shown = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words
    )
    return escape(shown)
