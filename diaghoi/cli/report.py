"""``diaghoi report``: the diagnosis of one detector."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi.cli import options, outputs
from diaghoi.cli.analyses import AnalysisOptions
from diaghoi.cli.engines import EngineOptions
from diaghoi.cli.locate import image_labels
from diaghoi.cli.options import argument, option, options_class, with_options
from diaghoi.cli.page import SHOWN, PageOptions
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import InputFiles, Inputs, ProtocolOptions, ReadingOptions
from diaghoi.cli.shards import Shards
from diaghoi.comparison.comparison import compare
from diaghoi.comparison.slices import Slices
from diaghoi.diagnosis import diagnose as diagnosing
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.tables import CLASS_COLUMNS, IMAGE_COLUMNS
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.hico_mat import ImageLabels
from diaghoi.formats.locations import is_remote

TABLES = {"classes": CLASS_COLUMNS, "images": IMAGE_COLUMNS}
OF_ROWS = [f"{table}{kind}" for kind in (".csv", ".json") for table in TABLES]
KINDS = (".json", ".txt", *outputs.FIGURES, ".csv", ".md", ".tex", *OF_ROWS)


@options_class
class ReportOptions(outputs.OutputOptions):
    """Which predictions are diagnosed, how, and what is written."""

    predictions: str = argument(
        help="Prediction file (or folder of .mat files); in quotes, a pattern of several."
    )
    annotations: options.Annotations = None
    pairs: options.Pairs = None
    reading: ReadingOptions
    only_predicted_images: options.OnlyPredicted = False
    protocol: ProtocolOptions
    image_labels: Path | None = option(
        None, panel=options.COUNTS, help="HICO's anno.mat, for the Known Object setting."
    )
    extras: AnalysisOptions
    label: options.Label = None
    page: PageOptions
    column: options.Column = "double"
    sort: str | None = option(
        None,
        metavar="COLUMN",
        panel=options.FILES,
        rare=True,
        help="Sort classes.csv and images.csv by a column, highest first; -COLUMN: lowest first.",
    )
    detail: options.Detail = False
    engines: EngineOptions

    @property
    def shards(self) -> Shards:
        """The prediction files, where there are several."""
        return Shards(predictions=self.predictions, engines=self.engines)

    @property
    def stem(self) -> str:
        """The name of the detector, and of files in a folder."""
        return self.shards.label if self.label is None else self.label

    @property
    def kinds(self) -> tuple[str, ...]:
        """How the names of files end that can be written."""
        attributed = "attribution" in self.extras.analyses
        more = [f"attribution{kind}" for kind in outputs.FIGURES if attributed]
        return (*KINDS, *more) if self.shards.asked else (".html", *KINDS, *more)

    @property
    def files(self) -> InputFiles:
        """The input files, and how they are read."""
        only = self.only_predicted_images
        files = self.reading.files(
            Path(self.predictions), self.annotations, self.pairs, only_predicted=only
        )
        top = self.protocol.top(files.vocabulary)
        return files if top is None else replace(files, reading={**files.reading, "top": top})

    def of_boxes(self) -> list[str]:
        """List the options given that need the boxes of all images."""
        given = {"--pairs": self.pairs, "--open": self.page.open}
        given |= {f"--out {path}": path.suffix.lower() == ".html" for path in self.out or ()}
        return [*(name for name, value in given.items() if value), *self.extras.analyses.of_boxes]

    @property
    def written(self) -> dict[Path, str]:
        """The files to write."""
        return self.output_files(self.kinds, self.stem)

    def check_files(self, inputs: list[Path | None]) -> None:
        """Refuse files that cannot be written or read, before the work begins."""
        self.check(self.kinds, inputs, self.stem)
        self.page.check(".html" in self.written.values())
        if self.sort is None:
            return
        kinds = (*self.written.values(), self.printed(self.kinds))
        tables = [name for name in TABLES if any(kind.startswith(name) for kind in kinds)]
        if not tables:
            raise InputError("--sort: is for classes.csv and images.csv; add --out classes.csv")
        column = self.sort.removeprefix("-")
        columns = dict.fromkeys(name for table in tables for name in TABLES[table])
        if column not in columns:
            raise InputError(
                f"--sort: unknown column '{column}'{close_matches(column, columns)}; known: "
                f"{', '.join(columns)}"
            )


class Diagnosed(NamedTuple):
    """A diagnosis, what was read for it, and what to know of its image labels."""

    diagnosis: Diagnosis
    read: Inputs
    labels: ImageLabels | None
    notes: list[str]


@with_options
def report(choices: ReportOptions) -> None:
    """Diagnose a detector: mAP, errors and what each error costs."""
    files, extras = choices.files, choices.extras
    choices.protocol.check(files.vocabulary if files.dataset else None)
    extras.check(files)
    beside = [choices.image_labels, *choices.protocol.files, *extras.analyses.files]
    with progress(choices.quiet) as bar:
        if choices.shards.asked:
            several = choices.shards.check(choices.of_boxes())
            local = [Path(name) for name in several if not is_remote(name)]
            choices.check_files([*files.beside, *local, *beside])
            diagnosed = _of_several(choices, several, bar)
        else:
            choices.check_files([*files.inputs, *beside])
            diagnosed = _of_one(choices, bar)
        diagnosis, read, labels, notes = diagnosed
        bar.start("repairing each error")
        result = diagnosis.to_dict()
        if read.coverage is not None:
            result["coverage"] = read.coverage
        result["notes"] = [*read.notes, *notes, *result["notes"]]
        sliced = extras.add(result, diagnosis, read, labels, bar)
        bar.start("writing" if choices.page.images is None else "drawing the worst cases")
        texts = _texts(choices, result, diagnosis)
        remarks = choices.write(texts, _writers(choices, result, diagnosed, sliced), choices.stem)
        page = None
        if choices.page.open:
            from diaghoi.report.html import Page, page_model

            model = page_model(diagnosis, read.scenes, result=result, shown=SHOWN)
            page = Page.of([model], files=read.files, slices=sliced, every_image=True)
    choices.show(texts, lambda: _show(choices, result), remarks, choices.written)
    if page is not None:
        choices.page.serve(page, choices.quiet)


def _of_one(choices: ReportOptions, bar: Progress) -> Diagnosed:
    """Read and diagnose a prediction file."""
    read = choices.files.read(bar, choices.check_files)
    chosen = choices.protocol.made(read.vocabulary)
    labels, notes = _labels(choices, read)
    bar.start("matching", total=len(read.annotations))
    diagnosis = diagnosing.diagnose(
        read.annotations,
        read.predictions,
        chosen,
        label=choices.stem,
        image_labels=labels,
        also=choices.extras.families(read.vocabulary),
        progress=bar.advance,
    )
    return Diagnosed(diagnosis, read, labels, notes)


def _of_several(choices: ReportOptions, files: list[str], bar: Progress) -> Diagnosed:
    """Diagnose prediction files of different images."""
    families = choices.extras.families
    read, diagnosis = choices.shards.diagnose(
        files, choices.files, choices.protocol.made, families, choices.stem, bar
    )
    labels, notes = _labels(choices, read)
    if labels is not None:
        diagnosis = replace(
            diagnosis,
            known_objects=labels.objects(read.predictions),
            known_object_source="image labels",
        )
    return Diagnosed(diagnosis, read, labels, notes)


def _labels(choices: ReportOptions, read: Inputs) -> tuple[ImageLabels | None, list[str]]:
    """Read the image labels, with notes on these and on groups of classes."""
    top = choices.protocol.top(read.vocabulary)
    choices.extras.analyses.check_ranked(read.predictions, top)
    labels, notes = image_labels(choices.image_labels, read.annotations, read.predictions)
    return labels, [*notes, *choices.protocol.notes(read.vocabulary)]


def _show(choices: ReportOptions, result: dict[str, Any]) -> None:
    """Print one screen of a report, or in detail all of it and its notes."""
    from diaghoi.report.text import print_report, print_screen

    if choices.detail:
        print_report(result, notes=False)
        outputs.print_notes(result["notes"])
    else:
        print_screen(result)
        outputs.print_number(result["notes"])


def _texts(
    choices: ReportOptions, result: dict[str, Any], diagnosis: Diagnosis
) -> dict[str, outputs.Text]:
    """Make the text files of a report: tables for papers are those of a comparison of one."""
    from diaghoi.report.columns import table_text
    from diaghoi.report.latex import to_latex
    from diaghoi.report.markdown import to_markdown
    from diaghoi.report.spreadsheet import to_csv
    from diaghoi.report.text import print_report

    def rows(kind: str) -> str:
        table, suffix = kind.split(".")
        columns = getattr(diagnosis, table)
        sort = None if choices.sort is None else choices.sort.removeprefix("-")
        sort = sort if sort in columns else None
        return table_text(columns, suffix, sort=sort, descending=sort == choices.sort)

    return {
        **outputs.as_json(result),
        ".txt": lambda: outputs.plain_text(lambda console: print_report(result, console)),
        ".csv": lambda: to_csv(compare(result)),
        ".md": lambda: to_markdown(compare(result)),
        ".tex": lambda: to_latex(compare(result)),
        **{kind: partial(rows, kind) for kind in OF_ROWS},
    }


def _writers(
    choices: ReportOptions, result: dict[str, Any], diagnosed: Diagnosed, slices: Slices | None
) -> dict[str, outputs.Writer]:
    """Make the page and the figures of a report."""
    from diaghoi.report.html import write_html

    def page(path: Path) -> list[str]:
        diagnosis, read, *_ = diagnosed
        pictures = choices.page.pictures
        more: dict[str, Any] = {"files": read.files, "pictures": pictures, "slices": slices}
        return outputs.noting_letters(
            lambda: write_html(path, diagnosis, read.scenes, result=result, **more)
        )

    def drawing(kind: str) -> outputs.Writer:
        name = "waterfall" if kind.startswith("attribution") else "delta_map"
        return lambda path: outputs.draw([result], path, choices.column, name)

    drawn = [kind for kind in choices.kinds if kind.endswith(outputs.FIGURES)]
    page_writer = {".html": page} if ".html" in choices.kinds else {}
    return page_writer | {kind: drawing(kind) for kind in drawn}
