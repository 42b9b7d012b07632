"""The page itself: what it holds, and writing it as one file."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi._version import __version__
from diaghoi.cases.cases import ERRORS, Case, worst_cases
from diaghoi.cases.sentences import shown_score
from diaghoi.cases.similarities import Similarities
from diaghoi.data.protocol import phrases_of
from diaghoi.data.scenes import Scenes
from diaghoi.data.table import Table
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.formats.containers.atomic import replacing
from diaghoi.formats.pictures.folder import Pictures
from diaghoi.oracles import error_title
from diaghoi.report.case_pictures import CasePicture, CasePictures
from diaghoi.report.extras import extra_tables
from diaghoi.report.html.sketches import Sketch, sketch
from diaghoi.report.html.sortable import sortable_classes, sortable_images
from diaghoi.report.html.words import FIGURES, TABLES, definition_of, meaning_of, order_of_cases
from diaghoi.report.pages import check_installed, template
from diaghoi.report.semantic import semantic_tables, similarity_in_words, table_lines
from diaghoi.report.text import counts_line, heading, pairs_line, report_tables, split_titles
from diaghoi.report.verdict import headline, verdict

FIRST_CASES = 4
"""Cases of each error that are shown at once; the others are a click away."""
MOST_CASES, MOST_PICTURED = 24, 12
"""Cases of each error by default, without and with pictures, of which each takes some 50 kB."""


class DrawnCase(NamedTuple):
    """A case and its drawing.

    Parameters
    ----------
    case : Case
        What is drawn.
    sketch : Sketch or None
        Its boxes in an empty frame, without pictures.
    picture : CasePicture or None
        Its boxes on their picture.
    line : str
        The image, and how much it is enlarged.
    """

    case: Case
    sketch: Sketch | None
    picture: CasePicture | None
    line: str


class ErrorPart(NamedTuple):
    """What the page says of one error.

    Parameters
    ----------
    error : str
        The oracle.
    title, meaning, definition : str
        Its name, what the error is, and what the oracle repairs.
    figures : tuple of (str, str)
        Count, share and ΔmAP, each with its name.
    cases : tuple of DrawnCase
        The worst first.
    """

    error: str
    title: str
    meaning: str
    definition: str
    figures: tuple[tuple[str, str], ...]
    cases: tuple[DrawnCase, ...]


def write_html(
    path: str | PathLike[str],
    diagnosis: Diagnosis,
    scenes: tuple[Scenes, Scenes] | None = None,
    *,
    result: Mapping[str, Any] | None = None,
    files: Sequence[str | PathLike[str]] = (),
    top: int | None = None,
    similarities: Similarities | None = None,
    pictures: Pictures | None = None,
) -> list[str]:
    """Write the report of a detector as one page that opens from disk.

    Parameters
    ----------
    path : path
        Where to; the file appears whole or not at all.
    diagnosis : Diagnosis
        What to report.
    scenes : tuple of Scenes, optional
        The annotations and predictions that were diagnosed, for drawings of the worst cases.
        Without them, as for a sum of diagnoses, the page has none.
    result : mapping, optional
        As from :meth:`diaghoi.Diagnosis.to_dict`, where more has been added to it: notes, what
        ``diaghoi report`` adds, or the result of a semantic evaluation as ``semantic``.
    files : sequence of path
        What was read; the page tells their names, without folders.
    top : int, optional
        Cases of each error; by default 24, and 12 with pictures.
    similarities : Similarities, optional
        How similar action and object errors are to what is annotated, for their drawings.
    pictures : Pictures, optional
        The pictures of the images, to draw the cases on.

    Returns
    -------
    list of str
        Notes on the pictures.

    Raises
    ------
    InputError
        Where jinja2 is missing, the scenes are not those of the diagnosis, or the file cannot be
        written.
    """
    check_installed()
    result = diagnosis.to_dict() if result is None else result
    drawn = None if pictures is None else CasePictures(pictures, pixels=480, inches=2.2)
    if top is None:
        top = MOST_CASES if drawn is None else MOST_PICTURED
    cases: dict[str, list[DrawnCase]] = {}
    if scenes is not None:
        for error in ERRORS:
            found = worst_cases(diagnosis, *scenes, error, top=top, similarities=similarities)
            cases[error] = [_drawn(case, drawn) for case in found]
    content = _content(diagnosis, scenes, result, files, cases)
    content["pictured"] = drawn is not None
    if similarities is not None:
        content["compared"] = similarity_in_words(similarities)
    page = _render(content)
    with replacing(path) as temporary:
        # Names of files need not be Unicode, and figures may quote them.
        temporary.write_bytes(page.encode("utf-8", errors="replace"))
    return [] if drawn is None else drawn.notes


def _drawn(case: Case, pictures: CasePictures | None) -> DrawnCase:
    from diaghoi.plots.figures.picture import enlarged_words

    if pictures is not None:
        picture = pictures.draw(case)
        return DrawnCase(case, None, picture, picture.line)
    boxes = sketch(case)
    line = ". ".join(filter(None, (case.image, enlarged_words(boxes.enlarged))))
    return DrawnCase(case, boxes, None, line)


def _content(
    diagnosis: Diagnosis,
    scenes: tuple[Scenes, Scenes] | None,
    result: Mapping[str, Any],
    files: Sequence[str | PathLike[str]],
    cases: Mapping[str, list[DrawnCase]],
) -> dict[str, Any]:
    """Collect what the template shows."""
    from diaghoi.plots.figure import Source
    from diaghoi.plots.style import COLOURS
    from diaghoi.report.html.figures import SEMANTIC, dark_colours, drawings

    source = Source(result=result, diagnosis=None if scenes is None else diagnosis)
    tables = report_tables(result)
    figures = drawings(source, str(result["label"] or "Predictions"))
    return {
        "heading": heading(result),
        "verdict": f"{headline(result)} {verdict(result)}",
        "counts": counts_line(result),
        "result": result,
        "notes": [_without_folders(note, files) for note in result["notes"]],
        "tables": tables,
        "table_meanings": TABLES,
        "extras": list(extra_tables(result, split_titles(result))),
        "pairs": pairs_line(result),
        "meaning": semantic_tables(result["semantic"]) if "semantic" in result else [],
        "meaning_lines": _meaning_lines(result),
        "compared": "",
        "drawings": figures,
        "dark_colours": dark_colours(figure.svg for figure in figures),
        "words_of_figures": FIGURES,
        "semantic_figures": SEMANTIC,
        "sections": list(_sections(diagnosis, result, tables[1], cases)),
        "filters": [(error, error_title(error)) for error in ERRORS],
        "drawn": scenes is not None,
        "first": FIRST_CASES,
        "order": order_of_cases(diagnosis),
        "shown_score": shown_score,
        "classes": sortable_classes(diagnosis),
        "plain": ("name", "annotated", "ap", "max_recall", "costliest", "cost"),
        "images": sortable_images(diagnosis),
        "choices": phrases_of(result["protocol"]["signature"]),
        "files": [Path(file).name for file in files],
        "version": __version__,
        "colours": COLOURS,
    }


def _meaning_lines(result: Mapping[str, Any]) -> list[str]:
    """Say what the semantic evaluation goes by, if there is one."""
    if "semantic" not in result:
        return []
    semantic = result["semantic"]
    return [*table_lines(semantic), f"Measure: {semantic['measure']['signature']}"]


def _without_folders(note: str, files: Sequence[str | PathLike[str]]) -> str:
    """Name files without their folders, which mean nothing to those who read the page elsewhere."""
    for file in files:
        note = note.replace(os.fspath(file), Path(file).name)
    return note


def _sections(
    diagnosis: Diagnosis,
    result: Mapping[str, Any],
    errors: Table,
    cases: Mapping[str, list[DrawnCase]],
) -> Iterator[ErrorPart]:
    categories_count = diagnosis.protocol.categories_count
    cells_of = {row.key: [cell.shown for cell in row.cells] for row in errors.rows}
    heads = [" ".join(column.title.split()) for column in errors.columns]
    for name in result["oracles"]:
        cells = cells_of[name]
        yield ErrorPart(
            error=name,
            title=error_title(name),
            meaning=meaning_of(name, categories_count=categories_count),
            definition=definition_of(name),
            figures=tuple((head, cell) for head, cell in zip(heads, cells, strict=True) if cell),
            cases=tuple(cases.get(name, ())),
        )


def _render(content: Mapping[str, Any]) -> str:
    from markupsafe import Markup

    script = (resources.files("diaghoi.report.html") / "script.js").read_text(encoding="utf-8")
    # No script but this one runs, whatever the data hold.
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = template("html/template.html.j2")
    return page.render(content, script=Markup(script), allowed=f"sha256-{allowed}")
