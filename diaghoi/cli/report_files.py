"""The files that ``diaghoi report`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diaghoi.cli import outputs
from diaghoi.cli.present import (
    attribution_figure,
    draw_all,
    figures_of,
    noting_letters,
    write_text,
)
from diaghoi.cli.reading import Inputs
from diaghoi.comparison.slices import Slices
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.tables import CLASS_COLUMNS, IMAGE_COLUMNS, Columns
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.pictures.folder import Pictures
from diaghoi.report.json import write_json

PAGES = (".html", ".htm")


def check_page(path: Path) -> None:
    """Refuse a page that could not be written.

    Raises
    ------
    InputError
        For the name of another file, and where jinja2 is missing.
    """
    from diaghoi.report.pages import check_installed

    if path.suffix.lower() not in PAGES:
        raise InputError(f"--html {path}: give a file that ends with {PAGES[0]}")
    check_installed()


@dataclass(frozen=True, kw_only=True)
class ReportFiles:
    """The output files of a report.

    Parameters
    ----------
    label : str
        Name of the detector, and of the files in the folder.
    json, figure, html, class_table, image_table : pathlib.Path or None
        Single files.
    images : pathlib.Path or None
        A folder of pictures to draw the cases of the page on.
    out : pathlib.Path or None
        A folder for text, JSON and figure.
    column : {"single", "double"}
        Width of the figures.
    sort : str or None
        Column by which the tables are sorted, with a leading ``-`` the lowest first.
    """

    label: str
    json: Path | None
    figure: Path | None
    out: Path | None
    html: Path | None
    images: Path | None
    class_table: Path | None
    image_table: Path | None
    column: str
    sort: str | None

    @property
    def in_folder(self) -> tuple[Path, Path, Path] | None:
        """Text, JSON and figure in the folder."""
        if self.out is None:
            return None
        stem = self.label or "report"
        return self.out / f"{stem}.txt", self.out / f"{stem}.json", self.out / f"{stem}.pdf"

    @property
    def tables(self) -> list[Path]:
        """The table files to write."""
        return [path for path in (self.class_table, self.image_table) if path is not None]

    @property
    def of_boxes(self) -> dict[str, bool]:
        """By option, whether a file that needs the boxes of all images is asked for."""
        return {"--html": self.html is not None}

    def written(self, result: dict[str, Any]) -> list[Path]:
        """Name the files that :meth:`write` writes."""
        files = [] if self.json in (None, outputs.STDOUT) else [self.json]
        files += [] if self.figure is None else figures_of(result, self.figure)
        files += [path for path in (self.html, *self.tables) if path is not None]
        if self.in_folder is not None:
            text, json, figure = self.in_folder
            files += [text, json, *figures_of(result, figure)]
        return files

    def check(self, inputs: Sequence[Path | None]) -> None:
        """Check all files before the work begins.

        Raises
        ------
        InputError
            With what is wrong.
        """
        if self.out is not None and not outputs.is_name(self.label or "report"):
            raise InputError(
                f"--label '{self.label}': names the files in --out, so it must be a name without "
                "'/'; give another label, or --json and --figure instead of --out"
            )
        outputs.check_folder(self.out)
        inside = self.in_folder if self.out is not None and self.out.exists() else None
        single = [self.json, self.html, self.class_table, self.image_table]
        if self.figure is not None:
            single += [self.figure, attribution_figure(self.figure)]
        outputs.check_outputs([*single, *(inside or ())], inputs)
        if self.figure is not None:
            from diaghoi.plots.style import check_suffix

            check_suffix(self.figure)
        elif self.column != "double" and self.out is None:
            raise InputError("--column: is the width of a figure; add --figure or --out")
        if self.html is not None:
            check_page(self.html)
        if self.images is not None:
            if self.html is None:
                raise InputError(
                    "--images: draws the cases of a page on their pictures; add --html"
                )
            Pictures(self.images)
        for path in self.tables:
            from diaghoi.report.columns import check_table_file

            check_table_file(path)
        self._check_sort()
        outputs.check_inputs(inputs)

    def write(
        self,
        result: dict[str, Any],
        diagnosis: Diagnosis,
        read: Inputs,
        slices: Slices | None = None,
    ) -> list[str]:
        """Write all of them; return notes on the figures.

        Parameters
        ----------
        result : dict
            The report.
        diagnosis : Diagnosis
            The diagnosis behind it.
        read : Inputs
            The data diagnosed.
        slices : Slices, optional
            What the page filters by.
        """
        notes = self._write_tables(diagnosis)
        if self.json not in (None, outputs.STDOUT):
            write_json(self.json, result)
        if self.figure is not None:
            notes += draw_all(result, self.figure, self.column)
        if self.html is not None:
            notes += self._write_page(self.html, result, diagnosis, read, slices)
        if self.in_folder is not None:
            text, json, figure = self.in_folder
            text.parent.mkdir(parents=True, exist_ok=True)
            write_text(text, result)
            write_json(json, result)
            notes += draw_all(result, figure, self.column)
        return notes

    def _write_page(
        self,
        path: Path,
        result: dict[str, Any],
        diagnosis: Diagnosis,
        read: Inputs,
        slices: Slices | None,
    ) -> list[str]:
        from diaghoi.report.html import write_html

        pictures = None if self.images is None else Pictures(self.images)
        return noting_letters(
            lambda: write_html(
                path,
                diagnosis,
                read.scenes,
                result=result,
                files=read.files,
                pictures=pictures,
                slices=slices,
            )
        )

    def _tables_of(self, diagnosis: Diagnosis) -> list[tuple[Path, Columns]]:
        # Computing a table is expensive: make only those to be written.
        kinds = ((self.class_table, "classes"), (self.image_table, "images"))
        return [(path, getattr(diagnosis, kind)) for path, kind in kinds if path is not None]

    def _check_sort(self) -> None:
        """Refuse a column that none of the tables has."""
        if self.sort is None:
            return
        if not self.tables:
            raise InputError("--sort: applies to --class-table and --image-table; give one of them")
        column = self.sort.removeprefix("-")
        of_classes = () if self.class_table is None else CLASS_COLUMNS
        of_images = () if self.image_table is None else IMAGE_COLUMNS
        known = dict.fromkeys((*of_classes, *of_images))
        if column not in known:
            raise InputError(
                f"--sort: unknown column '{column}'{close_matches(column, known)}; known: "
                f"{', '.join(known)}"
            )

    def _write_tables(self, diagnosis: Diagnosis) -> list[str]:
        from diaghoi.report.columns import write_table

        notes = []
        column = None if self.sort is None else self.sort.removeprefix("-")
        for path, table in self._tables_of(diagnosis):
            sort = column if column in table else None
            write_table(path, table, sort=sort, descending=column == self.sort)
            if sort != column:
                notes.append(f"{path}: has no column '{column}' and is not sorted")
        return notes
