"""Write the page: one interactive file with the results of one or more detectors."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi._version import __version__
from diaghoi.cases.similarities import Similarities
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.figures import PARTS
from diaghoi.comparison.joint import AnyComparison
from diaghoi.comparison.results import (
    CHANGED,
    by_person,
    means_found_classes,
    only_interactions,
)
from diaghoi.comparison.selection import OFFICIAL, difference_in_words, has_overview
from diaghoi.comparison.slices import Slices
from diaghoi.data.protocol import phrases_of
from diaghoi.data.scenes import Scenes
from diaghoi.data.table import Cell, Column, Row, RowGroup, Table, percent
from diaghoi.data.vocabulary import printed_name
from diaghoi.diagnosis.benchmark import headlines
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError, number_of
from diaghoi.formats.output import replacing
from diaghoi.formats.pictures import Picture, Pictures
from diaghoi.measures import MEASURES
from diaghoi.measures.measure import FULL
from diaghoi.oracles.localised import ON_FOUND_PAIRS, OWN_OBJECT
from diaghoi.report.case_pictures import FoundPictures
from diaghoi.report.extras import extra_tables
from diaghoi.report.html.cases import image_names
from diaghoi.report.html.data import page_data
from diaghoi.report.html.models import PageModel, page_model
from diaghoi.report.html.words import TABLES, order_of_cases
from diaghoi.report.pages import check_installed, jpeg_url, template
from diaghoi.report.semantic import semantic_tables, similarity_in_words, table_lines
from diaghoi.report.terminal import group_runs
from diaghoi.report.text import counts_line, heading, pairs_line, report_tables, split_columns
from diaghoi.report.verdict import verdict

MOST_CASES = 24
"""Number of cases per error that are described in a sentence, by default."""
MOST_IMAGES, FEWEST_IMAGES, MOST_PICTURED = 2000, 200, 120
"""Numbers of images on a page. Images with drawings: at most the first number divided by the number
of detectors, or the second number if that is larger. Images with pictures, 40 kB each: at most the
third number.
"""
PIXELS, QUALITY = 480, 80
SCRIPTED = ("cases", "curves", "scores")
"""Parts of the page that stay empty without scripts."""
COLOURED = 10
"""Number of models that have distinct colours."""
SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "explorer.js")
NO_DATA = {
    **dict.fromkeys(("models", "errors", "splits", "differences"), ()),
    **dict.fromkeys(("classes", "cases", "slices")),
}


class Part(NamedTuple):
    """A collapsible part of the page: its title, a few words about its content, and its state."""

    title: str
    about: str
    scope: str = ""
    open: bool = False
    scripted: bool = False


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
    slices: Slices | None = None,
) -> list[str]:
    """Write the report of a detector as a page that opens from disk.

    Parameters
    ----------
    path : path
        Path of the page; the file appears completely or not at all.
    diagnosis : Diagnosis
        What to report.
    scenes : tuple of Scenes, optional
        The diagnosed annotations and predictions, needed to draw cases. Without scenes, as for a
        sum of diagnoses, the page has no cases.
    result : mapping, optional
        A result of :meth:`diaghoi.Diagnosis.to_dict` with additions: notes, extras of ``diaghoi
        report``, or the result of a semantic evaluation as ``semantic``.
    files : sequence of path
        Input files; the page shows their names without the folders.
    top : int, optional
        Number of cases per error that are described in a sentence; by default 24.
    similarities : Similarities, optional
        Similarities of action and object errors to the annotations, for the sentences about them.
    pictures : Pictures, optional
        Pictures of the images, for drawing cases on them.
    slices : Slices, optional
        Results of the detector in slices of the annotations.

    Returns
    -------
    list of str
        Notes on the pictures.

    Raises
    ------
    InputError
        If jinja2 is missing, the diagnosis does not belong to the scenes, or the file cannot be
        written.
    """
    check_installed()
    model = page_model(
        diagnosis,
        scenes,
        result=result,
        similarities=similarities,
        top=MOST_CASES if top is None else top,
    )
    page = Page.of([model], files=files, similarities=similarities, slices=slices)
    return page.write(path, pictures)


def write_comparison_html(
    path: str | PathLike[str],
    comparison: AnyComparison,
    models: Sequence[PageModel] = (),
    *,
    files: Sequence[str | PathLike[str]] = (),
    pictures: Pictures | None = None,
) -> list[str]:
    """Write a comparison as a page that opens from disk.

    Parameters
    ----------
    path : path
        Path of the page; the file appears completely or not at all.
    comparison : Comparison or JointComparison
        What to show.
    models : sequence of PageModel
        The compared models, in order; without them, the page has only the comparison tables.
    files, pictures
        As in :func:`write_html`.

    Returns
    -------
    list of str
        Notes on the pictures.

    Raises
    ------
    InputError
        If jinja2 is missing, or the file cannot be written.
    """
    check_installed()
    page = Page.of(models, comparison, files=files)
    return page.write(path, pictures)


class Page(NamedTuple):
    """Data of a page, and further values for its template.

    Parameters
    ----------
    data : dict
        Data from :func:`diaghoi.report.html.page_data`; without models, the page has only tables.
    content : dict
        Further values for the template.
    images : tuple of str
        Names of the images with drawings, as in the files.
    """

    data: dict[str, Any]
    content: dict[str, Any]
    images: tuple[str, ...]

    @staticmethod
    def of(
        models: Sequence[PageModel],
        comparison: AnyComparison | None = None,
        *,
        files: Sequence[str | PathLike[str]] = (),
        similarities: Similarities | None = None,
        slices: Slices | None = None,
        every_image: bool = False,
    ) -> Page:
        """Collect the content of a page.

        Parameters
        ----------
        models, comparison, files, similarities, slices
            As in :func:`write_html` and :func:`write_comparison_html`; a comparison contains its
            own slices.
        every_image : bool
            Whether to draw all images, rather than only as many as keep the page small.

        Raises
        ------
        InputError
            If a saved result lacks parts of a report, or the models have different annotations.
        """
        for model in models:
            if model.diagnosis is None:
                _check_saved(model.result)
        most = max(FEWEST_IMAGES, MOST_IMAGES // max(1, len(models)))
        explained = comparison if isinstance(comparison, Comparison) else None
        data: dict[str, Any] = dict(NO_DATA)
        if explained is not None:
            slices = explained.slices
        if models:
            data = page_data(models, explained, images=None if every_image else most, slices=slices)
        elif comparison is not None:
            data["dataset"] = ", ".join(
                dict.fromkeys(printed_name(each.dataset) for each in comparison.parts)
            )
        content = _content(data, models, comparison, files)
        content["compared"] = "" if similarities is None else similarity_in_words(similarities)
        names = image_names(models, data["cases"]["images"]["image"]) if data.get("cases") else ()
        return Page(data, content, tuple(names))

    def write(self, path: str | PathLike[str], pictures: Pictures | None) -> list[str]:
        """Write the page as one file that includes its pictures; return notes on the pictures."""
        embedded, notes = self._embedded(pictures)
        page = self.html(embedded)
        with replacing(path) as temporary:
            # File names may be invalid Unicode, and notes may quote them.
            temporary.write_bytes(page.encode("utf-8", errors="replace"))
        return notes

    def html(self, pictures: Sequence[str | None] | bool = False, *, served: bool = False) -> str:
        """Write the page.

        Parameters
        ----------
        pictures : sequence of str or None, or bool
            URLs of the pictures of the first images; True if a server has all pictures.
        served : bool
            Whether a server provides the page.
        """
        from markupsafe import Markup

        folder = resources.files("diaghoi.report.html")
        scripts = [
            (folder / name).read_text(encoding="utf-8")
            for name in (SCRIPTS if self.data["models"] else ())
        ]
        text = json.dumps(self.data, separators=(",", ":"), allow_nan=False)
        packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
        # Only scripts with these hashes can run, whatever the data contain.
        hashes = (base64.b64encode(hashlib.sha256(each.encode()).digest()) for each in scripts)
        allowed = " ".join(f"'sha256-{each.decode()}'" for each in hashes)
        return template("html/explorer.html.j2").render(
            self.content,
            data=self.data,
            group_runs=group_runs,
            packed=packed,
            pictures=Markup(json.dumps(pictures)),
            pictured=bool(pictures),
            served=served,
            scripts=[Markup(each) for each in scripts],
            allowed=Markup(allowed or "'none'"),
        )

    def measure(self, pictures: Pictures) -> None:
        """Read image sizes from the pictures if the files lack them."""
        sizes = self.data["cases"]["images"]
        for place, name in enumerate(self.images):
            if not (sizes["width"][place] and sizes["height"][place]):
                shape = pictures.size(name)
                if shape is not None:
                    sizes["width"][place], sizes["height"][place] = shape

    def _embedded(self, pictures: Pictures | None) -> tuple[list[str | None], list[str]]:
        """Encode the pictures of the first images; return their URLs, and notes on the pictures."""
        if pictures is None or not self.images:
            return [], []
        self.measure(pictures)
        found = FoundPictures(pictures)
        sizes = self.data["cases"]["images"]
        urls = []
        for place, name in enumerate(self.images[:MOST_PICTURED]):
            size = sizes["width"][place], sizes["height"][place]
            jpeg = jpeg_of(found.read(name, size if all(size) else None), PIXELS)
            urls.append(None if jpeg is None else jpeg_url(jpeg))
        return urls, found.notes


def jpeg_of(picture: Picture, longest: int) -> bytes | None:
    """Encode a picture for a page as JPEG; None if the image has no picture.

    Parameters
    ----------
    picture : Picture
        As from :meth:`diaghoi.formats.pictures.Pictures.read`.
    longest : int
        Maximum length of the longer side in pixels.
    """
    if picture.image is None:
        return None
    from PIL import Image

    image = Image.fromarray(picture.image)
    image.thumbnail((longest, longest))
    stream = BytesIO()
    image.save(stream, format="jpeg", quality=QUALITY)
    return stream.getvalue()


def _content(
    data: Mapping[str, Any],
    models: Sequence[PageModel],
    comparison: AnyComparison | None,
    files: Sequence[str | PathLike[str]],
) -> dict[str, Any]:
    """Collect further values for the template."""
    from diaghoi.plots.style import COLOURS

    results = [each.result for each in models]
    result = results[0] if results else {}
    tables = [report_tables(each)[1] for each in results]
    person, changed = (bool(models) and test(result) for test in (by_person, means_found_classes))
    common = {
        "own_object": OWN_OBJECT if person else "",
        "changed_classes": CHANGED if changed else "",
        **dict.fromkeys(("caveats", "explained", "of_models", "meaning", "meaning_lines"), ()),
        "means": _means(results),
        "colours": COLOURS if models else {},
        "oracles": [each["name"] for each in data["errors"]],
        "errors": [each | _costs(each["name"], models, tables) for each in data["errors"]],
        "order": _order(models),
        "plain": _plain(data),
        "files": [Path(file).name for file in files],
        "version": __version__,
    }
    if comparison is not None:
        own = _of_comparison(models, comparison, files)
        return common | own | {"parts": _parts(data, explained=bool(own["explained"]))}
    if semantic := result.get("semantic"):
        common["meaning"] = semantic_tables(semantic)
        signature = semantic["measure"]["signature"]
        common["meaning_lines"] = [*table_lines(semantic), f"Measure: {signature}"]
    return common | {
        "heading": heading(result),
        "sentences": [verdict(result)],
        "counts": f"{counts_line(result)}. Protocol {result['protocol']['name']}.",
        "notes": _without_folders(result["notes"], files),
        "tables": list(_tables(result)),
        "lines": pairs_line(result).splitlines(),
        "protocols": [_protocol(result["protocol"]["name"], result["protocol"]["signature"])],
        "parts": _parts(data, meaning=bool(semantic)),
    }


def _of_comparison(
    models: Sequence[PageModel],
    comparison: AnyComparison,
    files: Sequence[str | PathLike[str]],
) -> dict[str, Any]:
    parts = comparison.parts
    labels = [model.label for model in parts[0].models]
    named = number_of("model", len(labels))
    if len(labels) <= 3:
        named = ", ".join(labels[:-1]) + (" and " if labels[1:] else "") + labels[-1]
    subject = " and ".join(dict.fromkeys(printed_name(part.dataset) for part in parts))
    told = [each.sentence for part in parts for each in getattr(part, "explained", ())]
    words = [difference_in_words(part) for part in parts if has_overview(part)]
    return {
        "heading": f"{named} on {subject}",
        "sentences": list(filter(None, (*words, *comparison.statements[:1]))),
        "caveats": comparison.caveats,
        "counts": f"{number_of('model', len(labels))} on {comparison.subject}.",
        "notes": [note for note in _without_folders(comparison.notes, files) if note not in told],
        "explained": told,
        "tables": [(table, "") for table in (*comparison.tables, *comparison.listings)],
        "lines": list(comparison.statements),
        "of_models": [
            (each.label, [*_tables(each.result)]) for each in models if "oracles" in each.result
        ],
        "protocols": list(
            dict.fromkeys(_protocol(part.protocol, part.signature) for part in parts)
        ),
    }


def _protocol(name: str, signature: str) -> tuple[str, tuple[str, ...]]:
    return name, tuple(phrases_of(signature))


def _tables(result: Mapping[str, Any]) -> Iterator[tuple[Table, str]]:
    """Return the tables of a report, each with a description."""
    yield from zip(report_tables(result), TABLES, strict=True)
    for table in extra_tables(result, split_columns(result)):
        yield table, ""


def _means(results: Sequence[Mapping[str, Any]]) -> Table | None:
    """Create a table of the numbers that papers report, with intervals and one row per model."""
    if not results:
        return None
    first = results[0]
    titles = {split.key: split.title for split in split_columns(first)}
    quoted = [each for each in MEASURES.values() if each.quoted and each.is_in(first)]
    official = (each for each in quoted if each.at().removeprefix("official.") in OFFICIAL)
    main = next(official, quoted[0])
    shown_of = [(main, split) for split in main.splits(titles)]
    shown_of += [(each, FULL) for each in quoted if each is not main and each.report]
    over = " (interactions)" if only_interactions(first) else ""
    columns = [
        Column(
            key=measure.at(split),
            title=titles[split]
            if measure is main and main.by_split
            else measure.named(measure.title, first).partition(":")[0],
            group=main.title + over if measure is main and main.by_split else "",
        )
        for measure, split in shown_of
    ]
    rows = []
    for place, result in enumerate(results):
        cells = []
        for measure, split in shown_of:
            value = measure.value(result, split)
            bounds = result.get("intervals", {}).get(measure.at(split))
            between = (
                "" if bounds is None else "\n" + "–".join(f"{100 * bound:.1f}" for bound in bounds)
            )
            cells.append(Cell(value=value, text=percent(value) + between))
        label = str(result.get("label") or "Predictions")
        rows.append(Row(titles=(label,), cells=tuple(cells), key=f"model-{place % COLOURED}"))
    return Table(heads=("%",), columns=tuple(columns), row_groups=(RowGroup(rows=tuple(rows)),))


def _costs(name: str, models: Sequence[PageModel], tables: Sequence[Table]) -> dict[str, Any]:
    """Find the rows of an error in the report tables, for each model."""
    found, others = [], []
    for table in tables:
        rows = list(table.rows)
        place = [row.key for row in rows].index(name)
        found.append(rows[place].cells)
        after = rows[place + 1] if place + 1 < len(rows) else rows[place]
        others.append(after.cells[2].shown if after.title == ON_FOUND_PAIRS else "")
    # Columns that are empty for all models are left out: totals have no count.
    columns = tables[0].columns
    told = [n for n in range(len(columns)) if any(cells[n].shown for cells in found)]
    heads = [" ".join(columns[n].title.split()) for n in told]
    more = [ON_FOUND_PAIRS] if any(others) else []
    return {
        "heads": heads + more,
        "rows": [
            (model.label, [*(cells[n].shown for n in told), *([other] if more else [])])
            for model, cells, other in zip(models, found, others, strict=True)
        ],
    }


def _check_saved(result: Mapping[str, Any]) -> None:
    """Reject an incomplete saved result, because a file may contain anything."""
    try:
        if lacking := [key for key in PARTS if key not in result]:
            raise KeyError(*lacking)
        list(_tables(result))
        counts_line(result)
        headlines(result["official"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"result of '{result.get('label')}': is not a complete report "
            f"({type(error).__name__}: {error}); write it again with 'diaghoi report --json'"
        ) from None


def _order(models: Sequence[PageModel]) -> str:
    known = next((each.diagnosis for each in models if each.diagnosis is not None), None)
    return "" if known is None else order_of_cases(known)


def _plain(data: Mapping[str, Any]) -> list[list[str]]:
    """Return the classes with their AP, for readers without scripts."""
    table = data["classes"]
    if table is None:
        return []
    columns = [each["ap"] for each in table["models"] if each is not None]
    return [
        [name, f"{annotated:,}", *(_hundredths(column[row]) for column in columns)]
        for row, (name, annotated) in enumerate(zip(table["name"], table["annotated"], strict=True))
    ]


def _hundredths(value: int | None) -> str:
    return percent(None if value is None else value / 1e4)


def _parts(
    data: Mapping[str, Any], *, explained: bool = False, meaning: bool = False
) -> dict[str, Part]:
    """List the collapsible parts of the page; mark parts that always show the whole data set."""
    models, rows = bool(data["models"]), data["classes"] is not None
    whole = ", whole data set" if models else ""
    every = (
        ("difference", explained, "Differences", "the parts that make up each difference", whole),
        ("errors", models, "Errors", "meaning, frequency and cost of each error", ""),
        ("cases", rows, "Cases", "predictions and annotations in their images", ""),
        ("classes", rows, "Classes", "AP and errors of each class and verb", ""),
        ("images", rows, "Images", "errors of each image", ""),
        ("curves", rows, "Precision against recall", "before and after each repair", ""),
        (
            *("scores", rows and data["thresholds"] is not None, "Score threshold"),
            *("precision, recall and F1 at each threshold", ""),
        ),
        ("slices", rows and data["slices"] is not None, "Slices", "parts of the images", whole),
        ("summary", True, "Tables", "all numbers of the report", whole),
        ("meaning", meaning, "Meaning", "how close wrong predictions are in meaning", whole),
        ("method", True, "Method", "protocol, files and definitions", ""),
    )
    return {
        key: Part(title, about, scope, open=not models, scripted=key in SCRIPTED)
        for key, there, title, about, scope in every
        if there
    }


def _without_folders(notes: Sequence[str], files: Sequence[str | PathLike[str]]) -> list[str]:
    """Remove the folders of files from notes, because they mean nothing to other readers."""
    found = list(notes)
    for file in files:
        found = [note.replace(os.fspath(file), Path(file).name) for note in found]
    return found
