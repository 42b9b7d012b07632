"""Print the multiple-choice evaluation of a model on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from diaghoi.choice.comparison import PEOPLE
from diaghoi.choice.evaluation import METRICS
from diaghoi.data.table import UNDEFINED, Column, Line, Table, TextTable, percent
from diaghoi.data.vocabulary import printed_name
from diaghoi.exceptions import number_of
from diaghoi.report.extras import bounds_text, flat_remark
from diaghoi.report.terminal import WIDTH, folded, print_blocks, print_line, print_table, wrapped
from diaghoi.report.text import LINES, heading, marked
from diaghoi.report.verdict import without_folder

Result = Mapping[str, Any]
# Maximum number of rows in each table of wrong options; the JSON has all rows.
SHOWN = 10
FOOLED = (
    Column(title="Shown", unit="count"),
    Column(title="Picked", unit="count"),
    Column(title="Rate, %"),
)
# Title of each number, and whether the number belongs to the number above it.
FIGURES = {
    "instance_f1": ("Instance-F1", False),
    "macro_f1": ("Macro-F1", False),
    "micro_f1": ("Micro-F1", False),
    "micro_precision": ("precision", True),
    "micro_recall": ("recall", True),
    "exact_match": ("Exact match", False),
}
# Number of questions below which the half-width of a 95 % interval of exact match can exceed 5
# points.
FEW = 400
CONFUSED = {
    "confused_verbs": "Wrong option → right option with the same object. Instead: cases in which "
    "the right option was not picked.",
    "confused_objects": "Object of a wrong option → object of the right options, once per "
    "right object of a question. Instead: cases in which no right option with the right object "
    "was picked.",
}
WAYS = {
    "letters": "letters",
    "text": "texts of options",
    "none": "none of them",
    "chosen": "chosen options",
    "detected": "detected",
    "refusal": "refusals",
    "empty": "empty",
    "unreadable": "unreadable",
    "missing": "missing",
}


def print_choice(result: Result, console: Console | None = None, *, notes: bool = True) -> None:
    """Print the multiple-choice evaluation of one model.

    Parameters
    ----------
    result : mapping
        A result of :meth:`diaghoi.choice.ChoiceEvaluation.to_dict`, possibly read from a JSON file,
        with ``intervals``, ``selection``, ``positions`` and ``distractors`` if requested.
    console : rich.console.Console, optional
        Console to print on; by default stdout.
    notes : bool
        Whether to print the notes, too.
    """
    console = Console(highlight=False) if console is None else console
    ways = ", ".join(f"{number:,} {WAYS[how]}" for how, number in result["answers"].items())
    blocks: tuple[str | Table, ...] = (
        f"{heading(result)}, multiple choice",
        f"{result['questions']:,} questions on {result['images']:,} images, "
        f"{result['macro_classes']:,} classes; answers: {ways}",
        *choice_tables(result),
        *_positions_line(result),
        *(f"Note: {note}" for note in (result["notes"] if notes else ())),
    )
    print_blocks(console, blocks)


def _positions_line(result: Result) -> list[str]:
    """Describe in one sentence how an option's position affects the answers, if requested."""
    if "positions" not in result:
        return []
    positions = result["positions"]
    if positions is None:
        return ["The answers do not show the order of their options."]
    return [f"{positions['sentence'][:1].upper()}{positions['sentence'][1:]}."]


def print_choice_screen(result: Result, console: Console | None = None) -> None:
    """Print a one-screen summary, followed by the requested tables.

    Parameters
    ----------
    result : mapping
        As in :func:`print_choice`, which prints everything.
    console : rich.console.Console, optional
        Console to print on; by default stdout.
    """
    console = Console(highlight=False) if console is None else console
    width = max(console.width, WIDTH)
    title = (
        f"{result['label'] or 'Answers'} · {printed_name(result['dataset'])} · "
        f"{number_of('question', result['questions'])} on {number_of('image', result['images'])}, "
        f"{number_of('class', result['macro_classes'])}"
    )
    ways = [f"{number:,} {WAYS[how]}" for how, number in result["answers"].items()]
    others = [name for name in ("selection", "distractors", "positions") if name not in result]
    more = ["--detail", *([f"--also {','.join(others)}"] if others else []), "'choice compare'"]
    last = [
        *wrapped([f"Answers: {ways[0]}", *ways[1:]], width, ", "),
        f"more: {', '.join(more)}",
    ]
    table = _figures(result, METRICS).table
    with console.capture() as captured:
        print_table(console, table)
    head = folded(title, width, 2)
    room = LINES - len(head) - captured.get().count("\n") - len(last) - 2
    console.print(Text(head[0], style="bold"), soft_wrap=True)
    for line in (*head[1:], *marked(_cautions(result), width, room), ""):
        console.print(Text(line), soft_wrap=True)
    print_table(console, table)
    for line in ("", *last):
        console.print(Text(line), soft_wrap=True)
    print_blocks(console, _analyses(result))
    for line in _positions_line(result):
        print_line(console, line)


def _cautions(result: Result) -> list[str]:
    """List facts that affect the interpretation of the numbers."""
    few = result["questions"] < FEW and "intervals" not in result
    chance = (
        f"{number_of('question', result['questions'])}: by chance, numbers can be off by several "
        "points; add "
        "--bootstrap 1000 before you quote them"
    )
    return [*([chance] if few else []), *map(without_folder, result["notes"])]


def choice_tables(result: Result) -> list[Table]:
    """Create all tables of a model's evaluation."""
    return [_figures(result, FIGURES).table, *_analyses(result)]


def _analyses(result: Result) -> list[Table]:
    """Create the requested tables beyond the metrics."""
    tables: list[TextTable] = []
    if "selection" in result:
        tables.append(_selection(result["selection"]))
    if "distractors" in result:
        tables += _distractors(result["distractors"])
    if result.get("positions") is not None:
        tables.append(_positions(result["positions"]))
    return [each.table for each in tables]


def _figures(result: Result, keys: Iterable[str]) -> TextTable:
    parts = {"Overall": result} | {
        title: result[part]
        for part, title in (("single", "Single"), ("multi", "Multi"))
        if result[part] is not None
    }
    heads, caption = list(parts), ""
    if "intervals" in result:
        settings = result["bootstrap"]
        heads.append(f"{100 * settings['confidence']:g} % of resamples")
        caption = (
            f"Overall, from {settings['resamples']:,} resamples of the images, "
            f"{settings['method']}, seed {settings['seed']}."
        )
        caption += flat_remark(filter(None, map(result["intervals"].get, FIGURES)))
    if "Single" in parts or "Multi" in parts:
        caption = "\n".join(filter(None, (PEOPLE, caption)))
    lines = []
    for key in keys:
        title, indented = FIGURES[key]
        values = [part[key] for part in parts.values()]
        if "intervals" in result:
            values.append(bounds_text(result["intervals"].get(key)))
        lines.append(Line(title, values, indented=indented))
    return TextTable("Figures, %", heads, [lines], caption)


def _selection(found: Result) -> TextTable:
    named = [("All questions", found, False)] + [
        (f"{row['right_options']} right", row, True) for row in found["by_right"]
    ]
    shares = ("right_picked", "wrong_picked", "under", "over")
    lines = [
        Line(name, [row["questions"], row["picked"], *map(row.get, shares)], indented=indented)
        for name, row, indented in named
    ]
    return TextTable(
        "What is picked",
        (
            Column(title="Number", unit="count"),
            Column(title="Picked", unit="index"),
            *("Of the\nright, %", "Of the\nwrong, %", "Too few,\n%", "Too many,\n%"),
        ),
        [lines],
        caption=f"Picked: options per question; on average, {found['right']:.2f} options are "
        f"right. No option is picked in {percent(found['empty'])} % of the questions.",
    )


def _distractors(found: Result) -> list[TextTable]:
    """Create the tables of the wrong options that mislead the model."""
    tables = []
    for key, title, name in (
        ("classes", "Wrong options picked most", "class"),
        ("verbs", "Verbs of wrong options", "verb"),
        ("objects", "Objects of wrong options", "object"),
    ):
        lines = [Line(row[name].replace("_", " "), _fooled(row)) for row in found[key][:SHOWN]]
        tables.append(TextTable(title, FOOLED, [lines]))
    for key, title in (("confused_verbs", "verbs"), ("confused_objects", "objects")):
        lines = [
            Line(
                f"{row['picked_for']} → {row['right']}".replace("_", " "),
                [*_fooled(row), row["instead"]],
            )
            for row in found[key][:SHOWN]
            if row["picked"]
        ]
        columns = (*FOOLED, Column(title="Instead", unit="count"))
        tables.append(TextTable(f"Confusions of {title}", columns, [lines], CONFUSED[key]))
    return [table for table in tables if any(table.groups)]


def _fooled(row: Result) -> list[float | None]:
    return [row["shown"], row["picked"], row["rate"]]


def _positions(found: Result) -> TextTable:
    keys = ("shown", "picked", "expected", "excess")
    lines = [
        Line(
            row["position"],
            [
                *(row[key] for key in keys),
                UNDEFINED if row["p_holm"] is None else f"{row['p_holm']:.3f}",
            ],
        )
        for row in found["positions"]
    ]
    columns = (
        *FOOLED[:2],
        Column(title="Expected", unit="number"),
        Column(title="Excess, points", unit="points"),
        "p, corrected",
    )
    caption = (
        "Expected: number of picks if the order did not matter. Excess: picked minus expected, in "
        "percent of the times shown."
    )
    return TextTable("Position", columns, [lines], caption)
