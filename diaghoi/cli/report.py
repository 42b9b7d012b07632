"""``diaghoi report``: the diagnosis of one detector."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi.cases.similarities import Similarities
from diaghoi.cli import options, outputs
from diaghoi.cli.analyses import Analyses
from diaghoi.cli.compare import TableOptions
from diaghoi.cli.locate import find_annotations, image_labels
from diaghoi.cli.options import EngineOptions, argument, option, options_class, with_options
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import DetectorOptions, Inputs
from diaghoi.comparison.comparison import compare
from diaghoi.comparison.slices import Slices
from diaghoi.diagnosis import diagnose as diagnosing
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.tables import CLASS_COLUMNS, IMAGE_COLUMNS
from diaghoi.exceptions import InputError, printable
from diaghoi.formats.hico_mat import ImageLabels
from diaghoi.formats.locations import is_remote, matching

TABLES = {"classes": CLASS_COLUMNS, "images": IMAGE_COLUMNS}
OF_ROWS = [f"{table}{kind}" for kind in (".csv", ".json") for table in TABLES]
KINDS = (".json", ".txt", *outputs.FIGURES, ".csv", ".md", ".tex", *OF_ROWS)
WILDCARDS = frozenset("*?[")


@options_class
class ReportOptions(outputs.ScreenOptions):
    """Options for diagnosing predictions, and for outputs."""

    predictions: str = argument(
        help="Prediction file (or folder of .mat files), or a quoted pattern for several files."
    )
    detector: DetectorOptions
    image_labels: Path | None = option(
        None, panel=options.COUNTS, help="HICO's anno.mat, for the Known Object setting."
    )
    analyses: Analyses
    label: options.Label = None
    page: outputs.PageOptions
    column: options.Column = "double"
    sort: str | None = option(
        None,
        metavar="COLUMN",
        panel=options.FILES,
        rare=True,
        help="Sort classes.csv and images.csv by a column, highest first; -COLUMN: lowest first.",
    )
    engines: EngineOptions

    @property
    def is_pattern(self) -> bool:
        """Whether ``predictions`` is a pattern of file names."""
        return not WILDCARDS.isdisjoint(self.predictions) and not Path(self.predictions).exists()

    @property
    def several(self) -> bool:
        """Whether there may be several prediction files with different images."""
        return self.engines.asked or is_remote(self.predictions) or self.is_pattern

    @property
    def stem(self) -> str:
        """Name of the detector, and of its files in a folder; by default the input's name."""
        path = Path(self.predictions)
        return self.label or (path.parent.name if self.is_pattern else path.stem)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Endings of the file names that can be written."""
        attributed = "attribution" in self.analyses
        more = [f"attribution{kind}" for kind in outputs.FIGURES if attributed]
        return (*KINDS, *more) if self.several else (".html", *KINDS, *more)

    def shards(self) -> list[str]:
        """List the prediction files; reject options that need the boxes of all images at once."""
        refused = ["--pairs"] * bool(self.detector.pairs) + ["--open"] * self.page.open
        refused += [f"--out {path}" for path in self.out or () if path.suffix.lower() == ".html"]
        for words in (*refused, *self.analyses.of_boxes):
            raise InputError(
                f"{words}: needs the boxes of all images, which are not available for several "
                "files on several workers; report on one file"
            )
        files = matching(self.predictions)
        if not files:
            raise InputError(f"{self.predictions}: no such file; check the path or the pattern")
        return files

    @property
    def written(self) -> dict[Path, str]:
        """The files to write."""
        return self.output_files(self.kinds, self.stem)

    def check_files(self, inputs: Iterable[Path | None]) -> None:
        """Refuse files that cannot be written or read, before any work."""
        self.check(self.kinds, [*inputs, self.image_labels, *self.analyses.files], self.stem)
        self.page.check(".html" in self.written.values())
        if self.sort is None:
            return
        kinds = self.written.values()
        tables = [name for name in TABLES if any(kind.startswith(name) for kind in kinds)]
        if not tables:
            raise InputError("--sort: applies to classes.csv and images.csv; add --out classes.csv")
        columns = dict.fromkeys(name for table in tables for name in TABLES[table])
        options.named("--sort", self.sort.removeprefix("-"), columns)


class Diagnosed(NamedTuple):
    """A diagnosis, its input, and remarks on image labels."""

    diagnosis: Diagnosis
    read: Inputs
    labels: ImageLabels | None
    notes: list[str]


@with_options
def report(choices: ReportOptions) -> None:
    """Diagnose a detector: mAP, errors and what each error costs."""
    detector, analyses = choices.detector, choices.analyses
    detector.evaluation.check(detector.named)
    _ = analyses.tags  # refuses unreadable files
    if detector.named is not None:
        analyses.families(detector.named)
    files = choices.shards() if choices.several else [choices.predictions]
    local = [Path(name) for name in files if not is_remote(name)]
    choices.check_files([*local, *detector.files])
    with progress(choices.quiet) as bar:
        diagnosed = _of_several(choices, files, bar) if choices.several else _of_one(choices, bar)
        diagnosis, read, labels, notes = diagnosed
        bar.start("repairing each error")
        result = diagnosis.to_dict()
        if read.coverage is not None:
            result["coverage"] = read.coverage
        result["notes"] = [*read.notes, *notes, *result["notes"]]
        sliced = analyses.add(result, diagnosis, read, labels, bar)
        similar = analyses.meaning(result, diagnosis, read, bar)
        bar.start("writing" if choices.page.images is None else "drawing the worst cases")
        texts = _texts(choices, result, diagnosis)
        writers = _writers(choices, result, diagnosed, sliced, similar)
        remarks = choices.write(texts, writers, choices.stem)
        page = None
        if choices.page.open:
            from diaghoi.report.html import Page, page_model

            shown: Any = {"shown": outputs.SHOWN, "similarities": similar}
            model = page_model(diagnosis, read.scenes, result=result, **shown)
            more: Any = {"slices": sliced, "similarities": similar, "every_image": True}
            page = Page.of([model], files=read.files, **more)

    def show() -> None:
        from diaghoi.report.semantic import print_with_meaning
        from diaghoi.report.text import print_screen

        everything = partial(print_with_meaning, result, notes=False)
        choices.present(result["notes"], partial(print_screen, result), everything)

    choices.show(texts, show, remarks, choices.written)
    if page is not None:
        choices.page.serve(page, choices.quiet)


def _of_one(choices: ReportOptions, bar: Progress) -> Diagnosed:
    """Read and diagnose a prediction file."""
    detector = choices.detector
    read = detector.read(Path(choices.predictions), bar, choices.check_files)
    labels, notes = _labels(choices, read)
    bar.start("matching", total=len(read.annotations))
    diagnosis = diagnosing.diagnose(
        read.annotations,
        read.predictions,
        detector.evaluation.made(read.vocabulary),
        label=printable(choices.stem),
        image_labels=labels,
        also=choices.analyses.families(read.vocabulary),
        progress=bar.advance,
    )
    return Diagnosed(diagnosis, read, labels, notes)


def _of_several(choices: ReportOptions, files: list[str], bar: Progress) -> Diagnosed:
    """Diagnose prediction files of different images."""
    from diaghoi.diagnosis.shards import ShardSettings, Truth, diagnose_shards, read_truth

    detector = choices.detector
    bar.start("reading annotations")
    located = find_annotations(detector.vocabulary, detector.annotations)
    words = detector.words
    beside: Any = {key: words[key] and str(words[key]) for key in ("instances", "ids")}
    path = str(located.path.absolute())
    truth = Truth(annotations=path, **beside, dataset=detector.reading.dataset)
    annotations = read_truth(truth)
    settings = ShardSettings(
        truth=truth,
        reading=detector.of_predictions,
        protocol=detector.evaluation.made(annotations.vocabulary),
        also=choices.analyses.families(annotations.vocabulary),
        label=printable(choices.stem),
        force=detector.reading.force,
        shared_only=detector.only_predicted_images,
    )
    with choices.engines.started(bar) as engine:
        bar.start("diagnosing files", total=len(files))
        found = diagnose_shards(settings, files, engine, progress=bar.advance)
    diagnosis = found.diagnosis
    # The scenes of the files are not kept in memory: later steps get the images without
    # predictions.
    predictions = found.empty.with_names(diagnosis.names)
    notes = [*found.warnings, *located.notes]
    read = Inputs(annotations, predictions, [located.path], notes)
    if detector.only_predicted_images:
        # Images without predictions were omitted in each file.
        read = read.only(diagnosis.names)
    labels, notes = _labels(choices, read)
    if labels is not None:
        known = labels.objects(read.predictions)
        diagnosis = replace(diagnosis, known_objects=known, known_object_source="image labels")
    return Diagnosed(diagnosis, read, labels, notes)


def _labels(choices: ReportOptions, read: Inputs) -> tuple[ImageLabels | None, list[str]]:
    """Read the image labels, with notes on them and on groups of classes."""
    evaluation = choices.detector.evaluation
    choices.analyses.check_ranked(read.predictions, evaluation.top(read.vocabulary))
    labels, notes = image_labels(choices.image_labels, read.annotations, read.predictions)
    return labels, [*notes, *evaluation.notes(read.vocabulary)]


def _texts(
    choices: ReportOptions, result: dict[str, Any], diagnosis: Diagnosis
) -> dict[str, outputs.Text]:
    """Create the text files of a report; the tables for papers show only this model."""
    from diaghoi.report.columns import table_text
    from diaghoi.report.semantic import print_with_meaning

    def rows(kind: str) -> str:
        table, suffix = kind.split(".")
        columns = getattr(diagnosis, table)
        sort = None if choices.sort is None else choices.sort.removeprefix("-")
        sort = sort if sort in columns else None
        return table_text(columns, suffix, sort=sort, descending=sort == choices.sort)

    def paper(kind: str) -> str:
        return TableOptions().texts(compare(result))[kind]()

    return {
        **outputs.as_json(result),
        ".txt": lambda: outputs.plain_text(lambda console: print_with_meaning(result, console)),
        **{kind: partial(paper, kind) for kind in (".md", ".tex", ".csv")},
        **{kind: partial(rows, kind) for kind in OF_ROWS},
    }


def _writers(
    choices: ReportOptions,
    result: dict[str, Any],
    diagnosed: Diagnosed,
    slices: Slices | None,
    similarities: Similarities | None,
) -> dict[str, outputs.Writer]:
    """Create the page and the figures of a report."""
    from diaghoi.report.html import write_html

    def page(path: Path) -> list[str]:
        diagnosis, read, *_ = diagnosed
        pictures = choices.page.pictures
        more: dict[str, Any] = {"files": read.files, "pictures": pictures, "slices": slices}
        more["similarities"] = similarities
        return outputs.noting_letters(
            lambda: write_html(path, diagnosis, read.scenes, result=result, **more)
        )

    def drawing(kind: str) -> outputs.Writer:
        name = "waterfall" if kind.startswith("attribution") else "delta_map"
        return lambda path: outputs.draw([result], path, choices.column, name)

    drawn = [kind for kind in choices.kinds if kind.endswith(outputs.FIGURES)]
    page_writer = {".html": page} if ".html" in choices.kinds else {}
    return page_writer | {kind: drawing(kind) for kind in drawn}
