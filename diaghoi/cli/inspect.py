"""``diaghoi inspect`` and ``diaghoi convert``: identify a file, and convert it to .npz."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.locate import find_annotations
from diaghoi.cli.options import argument, option, options_class, with_options, without
from diaghoi.cli.progress import progress
from diaghoi.cli.reading import ReadingOptions, naming_own_data
from diaghoi.data.protocol import phrases_of
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.diagnosis import inspection
from diaghoi.exceptions import InputError, number_of, printable, some_of
from diaghoi.formats import open_file, read, read_annotations, read_predictions, write
from diaghoi.formats.content import FIRST
from diaghoi.formats.description import vocabulary as vocabulary_named
from diaghoi.formats.draft import write_draft
from diaghoi.formats.reading import check_fit


@options_class
class InspectOptions:
    """Options for inspecting a file."""

    file: Path = argument(help="Predictions, pairs, annotations, or the .toml of a data set.")
    annotations: Path | None = option(None, help="Annotations of the same images or data set.")
    pairs: options.Pairs = None
    reading: ReadingOptions = without(ReadingOptions, "force")
    to_description: Path | None = option(
        None, help="Draft a .toml file for --dataset from the numbers in files of your own data."
    )
    output: outputs.OutputOptions = without(outputs.OutputOptions, "out")

    @property
    def is_data_set(self) -> bool:
        """Whether ``file`` is the description of a data set or the name of a known data set."""
        return self.file.suffix == ".toml" or str(self.file) in VOCABULARIES

    @property
    def beside(self) -> dict[str, Any]:
        """Files that accompany V-COCO annotations."""
        return {key: self.reading.words("top")[key] for key in ("instances", "ids")}

    def check(self, annotations: Path | None) -> None:
        """Before any work starts, reject files that cannot be written or read."""
        known = str(self.file) in VOCABULARIES
        inputs = [None if known else self.file, annotations, self.pairs, *self.beside.values()]
        outputs.check_files([self.output.json, self.to_description], inputs)
        if self.is_data_set and (self.pairs or self.to_description or self.reading.dataset):
            raise InputError(
                f"{self.file}: describes a data set; leave out --pairs, --to-description and "
                "--dataset"
            )


@with_options
def inspect(choices: InspectOptions) -> None:
    """Identify a file, and report its problems.

    If the file describes a data set, show how the description is read, and inspect the annotations.
    """
    choices.check(choices.annotations)
    (_inspect_data_set if choices.is_data_set else _inspect_file)(choices)


def _inspect_data_set(choices: InspectOptions) -> None:
    words = vocabulary_named(str(choices.file))
    result = inspection.understood(words) | {"annotations": None, "notes": [], "warnings": []}
    path = choices.annotations or words.annotations
    if path is not None:
        path = find_annotations(words, path).path
        choices.check(path)
        with progress(choices.output.quiet) as bar:
            bar.start(f"reading {path}")
            truth = read_annotations(path, dataset=words, **choices.reading.words("top", "dataset"))
            seen = inspection.inspect(truth)
        result["annotations"] = {"file": str(path)} | seen.facts
        result |= {"notes": list(truth.notes), "warnings": list(seen.warnings)}
    choices.output.deliver(outputs.as_json(result), lambda: _print_data_set(result))


def _inspect_file(choices: InspectOptions) -> None:
    file, annotations, pairs = choices.file, choices.annotations, choices.pairs
    dataset = choices.reading.dataset
    if choices.to_description is not None:
        if dataset is not None:
            raise InputError("--to-description: drafts a new description; leave out --dataset")
        write_draft(choices.to_description, [file, *filter(None, [annotations])])
        dataset = str(choices.to_description)
        if not (choices.output.quiet or choices.output.printed([".json"])):
            typer.echo(f"Wrote {dataset}: fill in the names of objects and verbs.")
    reading = choices.reading.words("top") | {"dataset": dataset}
    beside = {key: reading.pop(key) for key in choices.beside}
    with progress(choices.output.quiet) as bar, naming_own_data(file, annotations, dataset):
        bar.start(f"reading {file}")
        most, alone = None if pairs is not None else FIRST, annotations is None
        own = beside if alone and pairs is None else {}
        recognised, source, held, cut = open_file(file, most=most, fitting=alone, **own, **reading)
        scenes, whole = inspection.sampled(source)
        sample: dict[str, Any] = {"images": len(scenes), "which": "first" if cut else "spread"}
        sample |= {"bytes": file.stat().st_size} if cut else {"of": whole}
        if pairs is not None:
            scenes = read_predictions(file, pairs=pairs, **reading)
        truth = None if held is None else held.load()
        if annotations is not None:
            annotations = find_annotations(scenes.vocabulary, annotations).path
            choices.check(annotations)
            truth = read_annotations(annotations, dataset=scenes.vocabulary, **beside)
            if dataset is None:
                check_fit(truth)
        seen = inspection.inspect(scenes, truth, whole=not (cut or whole))
    result = {
        "file": str(file),
        **{key: getattr(recognised, key) for key in ("kind", "format", "title", "container")},
        "numbering": dict(recognised.numbering),
        "annotations": held is not None,
        **({"sample": sample} if cut or whole else {}),
        "facts": seen.facts,
        "notes": list(scenes.notes),
        "warnings": list(seen.warnings),
    }
    alone = truth is None and recognised.kind != "annotations"
    given = {"--annotations": annotations or ("FILE" if held is None else ""), "--pairs": pairs}
    words = [f"{name} {quote(str(path))}" for name, path in given.items() if path]
    following = " ".join(["Next: diaghoi report", quote(str(file)), *words])
    choices.output.deliver(outputs.as_json(result), lambda: _print_file(result, alone, following))


def _print_file(result: dict[str, Any], alone: bool, following: str) -> None:
    typer.echo(f"{result['file']}: {result['kind']}")
    typer.echo(f"  {result['title']} ({result['format']}, {result['container']})")
    if sample := result.get("sample", {}):
        size, which = f"{sample.get('bytes', 0) / 1e6:,.0f} MB", "the first {:,} images"
        if "of" in sample:
            size = ", ".join(f"{value:,} {name}" for name, value in sample["of"].items())
            which = "{:,} images spread over the file"
        which = which.format(sample["images"])
        typer.echo(
            f"  The file has {size}: only {which} are read, and everything below refers to these "
            "images."
        )
    rows = result["facts"] | {f"{key} read as": how for key, how in result["numbering"].items()}
    if result["annotations"]:
        rows["annotations"] = "in the file"
    if result["kind"] == "predictions" and inspection.PAIRS_OF_TRIPLETS in rows:
        rows["pair list"] = "none: the pairs of the triplets are used"
    _print_rows(rows.items())
    inside = " in these images" if sample else " in the file itself" if alone else ""
    more = "; add --annotations to compare the file with annotations" if alone else ""
    _print_remarks(result, inside + more)
    if result["kind"] == "predictions":
        typer.echo(following)


def _print_data_set(result: dict[str, Any]) -> None:
    typer.echo(f"{result['name']}: {result['classes']:,} HOI classes")
    other = ("name", "protocol", "annotations", "notes", "warnings")
    rows = [(key.replace("_", " "), result[key]) for key in result if key not in other]
    rows.append(("protocol", result["protocol"]["name"]))
    _print_rows([*rows, *(("", phrase) for phrase in phrases_of(result["protocol"]["signature"]))])
    if result["annotations"] is None:
        typer.echo("To inspect the annotations of the data set as well, give --annotations FILE.")
    else:
        typer.echo("Annotations")
        _print_rows(result["annotations"].items())
        _print_remarks(result)


def _print_rows(rows: Iterable[tuple[str, Any]]) -> None:
    shown = [(name, _shown(value)) for name, value in rows]
    width = max(len(name) for name, _ in shown)
    for name, text in shown:
        typer.echo(f"  {name:{width}}  {text}")


def _shown(value: Any) -> str:
    """Format a value of a result on one line."""
    if isinstance(value, dict):
        return some_of([f"{name} {_shown(of)}" for name, of in value.items()], 4) or "none"
    if isinstance(value, list):
        ranged = [f"{number:.4g}" for number in value if not isinstance(number, str)]
        return " to ".join(ranged) or some_of(value, 4)
    if value is None:
        return "not given"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_remarks(result: dict[str, Any], where: str = "") -> None:
    for note in result["notes"]:
        typer.echo(f"Note: {printable(note)}")
    for warning in result["warnings"]:
        typer.echo(f"Warning: {warning}")
    if not result["warnings"]:
        typer.echo(f"Nothing looks wrong{where}.")


@options_class
class ConvertOptions:
    """Options for converting a file."""

    source: Path = argument(help="Predictions or annotations.")
    target: Path = argument(help="The .npz file to write.")
    pairs: options.Pairs = None
    reading: ReadingOptions = without(ReadingOptions, "force")
    quiet: options.Quiet = False


@with_options
def convert(choices: ConvertOptions) -> None:
    """Convert a file to the package's own format, which loads quickly.

    The input may be in any known format; the output is a columnar .npz with triplets and pairs.
    """
    source, target, pairs, reading = choices.source, choices.target, choices.pairs, choices.reading
    if target.suffix != ".npz":
        raise InputError(
            f"{target}: the package's own format is .npz; give a name that ends in .npz"
        )
    words = reading.words()
    outputs.check_files([target], [source, pairs, words["instances"], words["ids"]])
    with progress(choices.quiet) as bar:
        bar.start(f"reading {source}")
        if pairs is None:
            _, scenes = read(source, **words)
        else:
            scenes = read_predictions(source, pairs=pairs, **reading.words("instances", "ids"))
        bar.start(f"writing {target}")
        write(target, scenes)
    if not choices.quiet:
        typer.echo(
            f"{target}: {number_of('image', len(scenes))}, {len(scenes.box_label):,} boxes, "
            f"{number_of('pair', len(scenes.pair_human))}, "
            f"{number_of('triplet', len(scenes.triplet_pair))}"
        )
        outputs.print_notes(scenes.notes)
