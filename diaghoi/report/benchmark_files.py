"""Write the files of a multiple-choice benchmark: questions, people, verdicts and a summary."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diaghoi.choice.build import REASONS, SETTINGS, ChoiceBenchmark
from diaghoi.choice.questions import FIRST, RIGHT, WRONG, Question
from diaghoi.exceptions import InputError
from diaghoi.formats.output import replacing
from diaghoi.report.json import write_json

PEOPLE, VERDICTS, SUMMARY = "people.json", "verdicts.csv", "summary.json"
FILES = (*(f"{setting}.json" for setting in SETTINGS), PEOPLE, VERDICTS, SUMMARY)
WORDS = {True: "positive", False: "negative", None: ""}


def write_benchmark(folder: Path, benchmark: ChoiceBenchmark) -> list[Path]:
    """Write the files of a benchmark; each file appears completely or not at all.

    ``setting_1.json`` to ``setting_3.json`` have the layout of the published questions, in
    annotation order. ``people.json`` is for the option ``--people`` of ``choice score``.
    ``verdicts.csv`` lists all candidates with their outcome and each judge's reply, and can itself
    serve as a judge. ``summary.json`` holds :meth:`ChoiceBenchmark.to_dict`.

    Parameters
    ----------
    folder : pathlib.Path
        The folder, which is created if missing.
    benchmark : ChoiceBenchmark
        What to write.

    Returns
    -------
    list of pathlib.Path
        Paths of the files.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be made: {error.strerror or error}; give another --out"
        ) from None
    for setting in SETTINGS:
        write_json(folder / f"{setting}.json", _by_image(benchmark.of_setting(setting)))
    write_json(folder / PEOPLE, benchmark.people_by_image)
    with (
        replacing(folder / VERDICTS) as temporary,
        temporary.open("w", encoding="utf-8", errors="replace", newline="") as stream,
    ):
        csv.writer(stream, lineterminator="\n").writerows(_verdicts(benchmark))
    write_json(folder / SUMMARY, benchmark.to_dict())
    return [folder / name for name in FILES]


def benchmark_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Describe the benchmark in one line for each setting and judge, after a line on the images.

    Parameters
    ----------
    result : mapping
        As from :meth:`ChoiceBenchmark.to_dict`.
    """
    yield (
        f"{result['dataset']}: questions on {result['images']:,} images, {result['single']:,} with "
        f"one person and {result['multi']:,} with several, as counted by {result['people_by']}"
    )
    for setting, number in result["questions"].items():
        right = result["right_options"][setting]
        shares = ", ".join(f"{right[key]:,} with {key}" for key in right)
        yield f"{setting.replace('_', ' ')}: {number:,} questions; right options: {shares}"
    for each in result["judges"]:
        yield (
            f"{each['judge']} {each['part']}: {each['asked']:,} candidates, "
            f"{each['inconsistent']:,} negative, {each['consistent']:,} positive, "
            f"{each['silent']:,} without a verdict"
        )


def left_out(result: Mapping[str, Any]) -> list[str]:
    """Describe which images and people have no questions; see :func:`benchmark_lines`."""
    without = [
        f"{found['images']:,} images with {REASONS[reason]}, such as {found['first'][0]}"
        for reason, found in result["left_out"].items()
        if found["images"]
    ]
    if result["people_left_out"]:
        without.append(f"{result['people_left_out']:,} people with too few negatives")
    return [f"left out: {'; '.join(without)}"] if without else []


def _by_image(questions: Sequence[Question]) -> dict[str, Any]:
    """Return the questions in the published layout: by image, and by name if it has several."""
    found: dict[str, Any] = {}
    for each in questions:
        entry: dict[str, Any] = {RIGHT: list(each.right), WRONG: list(each.wrong)}
        if each.human is not None:
            entry["boxes"] = {"human": list(each.human)}
        found.setdefault(each.image, {})[each.name] = entry
    return {
        image: named[FIRST] if list(named) == [FIRST] else named for image, named in found.items()
    }


def _verdicts(benchmark: ChoiceBenchmark) -> Iterator[list[object]]:
    """Yield the rows of the table of verdicts, starting with the header."""
    names = [record.judge for record in benchmark.records]
    yield ["image", "person", "verb", "object", "verdict", "box", *names]
    for place, (target, negatives) in enumerate(
        zip(benchmark.targets, benchmark.negatives, strict=True)
    ):
        box = "" if target.box is None else " ".join(f"{side:g}" for side in target.box)
        person = "" if target.person is None else target.person
        for each in target.candidates:
            said = [record.verdicts[place].get(each) for record in benchmark.records]
            verdict = False if each in negatives else True if True in said else None
            words = [WORDS[one] for one in said]
            yield [target.image, person, each.verb, each.object, WORDS[verdict], box, *words]
