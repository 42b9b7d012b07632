"""Draw the worst cases of each error on pictures, in a folder with an index or on a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from diaghoi._version import __version__
from diaghoi.cases.cases import Case, rows_with, worst_cases
from diaghoi.cases.similarities import KINDS, Similarities
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import printed_name
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.formats.output import replacing
from diaghoi.formats.pictures import Pictures
from diaghoi.oracles import error_title
from diaghoi.report.case_pictures import CasePicture, CasePictures, FoundPictures, words_for
from diaghoi.report.html.words import definition_of, meaning_of, order_of_cases
from diaghoi.report.json import write_json
from diaghoi.report.pages import template
from diaghoi.report.semantic import similarity_in_words
from diaghoi.report.spreadsheet import CsvValue, csv_text

INDEX = "index"
CORNERS = ("left", "top", "right", "bottom")
BOXES = ("human", "object", "annotated_human", "annotated_object")


class ErrorCases(NamedTuple):
    """The worst cases of an error or label, and the number of all matching cases."""

    error: str
    total: int
    cases: tuple[Case, ...]


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Cases of several errors of one detector.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis of the detector.
    hoi : str
        HOI class of all cases; empty for any class.
    kinds : tuple of str
        The :data:`diaghoi.cases.similarities.KINDS` of all cases; empty for any kind.
    images : tuple of str
        The images of all cases; empty for any image.
    similarities : Similarities or None
        Similarities of action and object errors to the annotations; None if not computed.
    sections : tuple of ErrorCases
        Cases in the order of the requested errors.
    """

    diagnosis: Diagnosis
    hoi: str
    sections: tuple[ErrorCases, ...]
    kinds: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    similarities: Similarities | None = None

    @property
    def cases(self) -> list[Case]:
        """All cases."""
        return [case for section in self.sections for case in section.cases]


def gallery_of(
    diagnosis: Diagnosis,
    annotations: Scenes,
    predictions: Scenes,
    errors: Sequence[str],
    *,
    hoi: int | None = None,
    top: int = 24,
    similarities: Similarities | None = None,
    kinds: Sequence[str] = (),
    images: Sequence[str] = (),
) -> Gallery:
    """Choose the cases of a gallery.

    Parameters
    ----------
    diagnosis, annotations, predictions, hoi, top, similarities, kinds, images
        As for :func:`diaghoi.cases.cases.worst_cases`.
    errors : sequence of str
        Errors to show, in order.

    Raises
    ------
    InputError
        As for :func:`diaghoi.cases.cases.worst_cases`.
    """
    chosen: dict[str, Any] = {"hoi": hoi, "similarities": similarities, "kinds": kinds}
    of = diagnosis, annotations, predictions
    on = np.isin(diagnosis.names, list(images)) if images else None
    return Gallery(
        diagnosis=diagnosis,
        hoi="" if hoi is None else diagnosis.vocabulary.class_name(hoi),
        kinds=tuple(kinds),
        images=tuple(images),
        similarities=similarities,
        sections=tuple(
            ErrorCases(
                error=error,
                total=int(rows_with(diagnosis.ledger, error, images=on, **chosen).sum()),
                cases=tuple(worst_cases(*of, error, top=top, images=images, **chosen)),
            )
            for error in errors
        ),
    )


def write_folder(
    folder: Path,
    gallery: Gallery,
    pictures: Pictures,
    *,
    captions: bool = True,
    progress: Callable[[int], Any] | None = None,
) -> list[str]:
    """Write one PNG per case, and an index as ``index.json`` and ``index.csv``.

    Files are named after the error, rank and image: ``association-001-HICO_00000007.png``. Other
    files in the folder are not touched.

    Parameters
    ----------
    folder : pathlib.Path
        The folder, which is created if missing.
    gallery : Gallery
        What to draw.
    pictures : Pictures
        The pictures of the images.
    captions : bool
        Whether to describe the error and its repair below the pictures.
    progress : callable, optional
        Called with the number of cases done since the last call.

    Returns
    -------
    list of str
        Notes on the pictures.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    from diaghoi.plots.figures.picture import card, case_title
    from diaghoi.plots.style import paper, save

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be created: {error.strerror or error}") from None
    rows: list[dict[str, Any]] = []
    drawn = FoundPictures(pictures)
    for section in gallery.sections:
        for rank, case in enumerate(section.cases, start=1):
            picture = drawn.read(case.image, case.size)
            name = f"{case.error.replace('_', '-')}-{rank:03d}{_slug(case.image)}.png"
            with paper():
                save(
                    card(case, picture.image, missing=words_for(picture), words=captions),
                    folder / name,
                    caption=f"{case.error}: {case_title(case)}",
                )
            rows.append({"file": name, "picture": picture.problem or "found"} | asdict(case))
            if progress is not None:
                progress(1)
    _write_index(folder, gallery, rows)
    return drawn.notes


def write_page(
    path: Path,
    gallery: Gallery,
    pictures: Pictures,
    *,
    progress: Callable[[int], Any] | None = None,
) -> list[str]:
    """Write a page that contains all pictures; the file appears completely or not at all.

    Parameters
    ----------
    path : pathlib.Path
        Where to write.
    gallery, pictures, progress
        As in :func:`write_folder`.

    Returns
    -------
    list of str
        Notes on the pictures.

    Raises
    ------
    InputError
        If jinja2 is missing, or the file cannot be written.
    """
    from diaghoi.plots.style import COLOURS, OTHER_COLOUR

    drawn = CasePictures(pictures)

    def draw(case: Case) -> CasePicture:
        drawing = drawn.draw(case)
        if progress is not None:
            progress(1)
        return drawing

    similar, diagnosis = gallery.similarities, gallery.diagnosis
    # The page is written part by part, so that not all pictures are in memory.
    page = template("gallery.html.j2").stream(
        title=f"{diagnosis.label or 'Predictions'} on {printed_name(diagnosis.vocabulary.name)}: "
        "cases of each error",
        gallery=gallery,
        protocol=diagnosis.protocol,
        order=order_of_cases(diagnosis),
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


def _slug(image: str) -> str:
    """Convert an image name to a part of a file name that is safe on any system."""
    stem = re.sub(r"[^A-Za-z0-9]+", "_", PurePath(image).stem).strip("_")
    return f"-{stem[:60]}" if stem else ""


def _write_index(folder: Path, gallery: Gallery, rows: list[dict[str, Any]]) -> None:
    similar, diagnosis = gallery.similarities, gallery.diagnosis
    write_json(
        folder / f"{INDEX}.json",
        {
            "diaghoi": __version__,
            "dataset": diagnosis.vocabulary.name,
            "label": diagnosis.label,
            "protocol": {
                "name": diagnosis.protocol.name,
                "signature": diagnosis.protocol.signature,
            },
            "similarity": None
            if similar is None
            else {"sigma": similar.sigma, **{k: dict(v) for k, v in similar.tables.items()}},
            "class": gallery.hoi or None,
            "kinds": list(gallery.kinds) or None,
            "images": list(gallery.images) or None,
            "errors": {section.error: section.total for section in gallery.sections},
            "cases": rows,
        },
    )
    text = csv_text(
        list(dict(_cells(_NO_CASE))), [list(dict(_cells(row)).values()) for row in rows]
    )
    with replacing(folder / f"{INDEX}.csv") as temporary:
        temporary.write_bytes(text.encode("utf-8", errors="replace"))


_NO_CASE: dict[str, Any] = dict.fromkeys(("file", "picture", *Case.__dataclass_fields__))


def _cells(row: dict[str, Any]) -> Iterator[tuple[str, CsvValue]]:
    """Yield the cells of a row of the index; each number of a size or box gets its own cell."""
    for name, value in row.items():
        if name == "size":
            yield from zip(("width", "height"), value or (None, None), strict=True)
        elif name in BOXES:
            columns = (f"{name}_{corner}" for corner in CORNERS)
            yield from zip(columns, value or (None,) * len(CORNERS), strict=True)
        else:
            yield name, value
