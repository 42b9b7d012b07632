"""Print the semantic evaluation of a detector on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from diaghoi.cases.similarities import COMPARED, NEAR, PLAUSIBLE, Similarities
from diaghoi.comparison.results import by_person
from diaghoi.data.protocol import phrases_of
from diaghoi.data.table import UNDEFINED, Line, Table, TextTable, percent, shown
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import number_of, some_of
from diaghoi.report.causes import NOT_FOUND, VERBS_OF_V_COCO, WHICH, wrong_word
from diaghoi.report.terminal import WIDTH, folded, print_line, print_table, wrapped
from diaghoi.report.text import (
    LINES,
    counts_line,
    end_lines,
    heading,
    marked,
    print_report,
    title_lines,
)
from diaghoi.report.verdict import unusual, without_folder
from diaghoi.semantic.evaluation import NOT_PREDICTED
from diaghoi.semantic.measure import Measure

Result = Mapping[str, Any]
# The part of the class that is wrong in each kind of error.
WRONG_PART = {"action": "verb", "object_box": "object"}
# Maximum number of rows in the tables of words and verbs; the JSON has all rows.
SHOWN = 10


def print_semantic(
    result: Result, console: Console | None = None, *, classes: int = 0, notes: bool = True
) -> None:
    """Print the semantic evaluation of one detector.

    Parameters
    ----------
    result : mapping
        A result of :meth:`diaghoi.semantic.SemanticEvaluation.to_dict`, possibly read from a JSON
        file.
    console : rich.console.Console, optional
        Console to print on; by default stdout.
    classes : int
        Number of classes to list; the classes that gain most from similarity are listed.
    notes : bool
        Whether to print the notes below the tables.
    """
    console = Console(highlight=False) if console is None else console
    print_line(console, f"{heading(result)}, semantic evaluation", style="bold")
    print_line(console, f"{counts_line(result)}, {result['counts']['classes']:,} classes")
    for table in semantic_tables(result, classes):
        console.print()
        print_table(console, table)
    console.print()
    for line in table_lines(result):
        print_line(console, line)
    for title, signature in (
        ("Measure", result["measure"]["signature"]),
        (f"Protocol {result['protocol']['name']}", result["protocol"]["signature"]),
    ):
        first, *rest = phrases_of(signature)
        for line in wrapped([f"{title}: {first}", *rest], console.width):
            print_line(console, line)
    for note in result["notes"] if notes else ():
        print_line(console, f"Note: {note}")


def print_with_meaning(
    result: Result, console: Console | None = None, *, notes: bool = True
) -> None:
    """Print the report of one detector, and the semantic evaluation if the result has one."""
    console = Console(highlight=False) if console is None else console
    print_report(result, console, notes=False)
    found = result.get("semantic")
    for table in [] if found is None else semantic_tables(found):
        console.print()
        print_table(console, table)
    for line in [] if found is None else table_lines(found):
        print_line(console, line)
    for note in result["notes"] if notes else ():
        print_line(console, f"Note: {note}")


def print_screen(result: Result, console: Console | None = None, *, classes: int = 0) -> None:
    """Print a semantic evaluation on one screen, followed by the requested tables.

    The screen has at most 24 lines: remarks on how to read the numbers, means, miss rates, the gain
    from similarity, and the protocol.

    Parameters
    ----------
    result, console, classes
        As in :func:`print_semantic`, which prints everything.
    """
    console = Console(highlight=False) if console is None else console
    width = max(console.width, WIDTH)
    figures, rates, *asked = semantic_tables(result, classes, words=False)
    errors = result["measure"]["scores"] and "matching" not in result["measure"]
    diagnose = "--also diagnose, " if errors and not asked else ""
    more = f"--detail, {diagnose}--out FOLDER"
    title = title_lines(result, width)
    below = [
        *folded(_changed(result), width, 2),
        *(folded(line, width, 1)[0] for line in (_tables_in_short(result), _free(result)) if line),
        *end_lines(result, more, width),
    ]
    taken = len(title) + len(below) + sum(len(table.rows) + 3 for table in (figures, rates)) + 1
    print_line(console, title[0], style="bold")
    for line in (*title[1:], *marked(_remarks(result), width, LINES - taken)):
        print_line(console, line)
    for table in (figures, rates):
        console.print()
        print_table(console, replace(table, caption=""))
    console.print()
    for line in below:
        console.print(line, soft_wrap=True, markup=False)
    for table in asked:
        console.print()
        print_table(console, table)


def _remarks(result: Result) -> list[str]:
    """List remarks on how to read the numbers; remarks on score columns come last."""
    notes = sorted(unusual(result["notes"]), key=lambda note: "read as scores" in note)
    absent = [note.split()[0] for note in result["notes"] if NOT_PREDICTED in note]
    first = [
        f"{number_of('annotated image', int(number))} without predictions, where all triplets "
        "count as missed: --only-predicted-images evaluates only the other images"
        for number in absent
    ]
    return [*first, *_other_rules(result), *map(without_folder, notes)]


def _other_rules(result: Result) -> list[str]:
    """Explain the differences between standard mAP and soft mAP that are not due to similarity."""
    if result["measure"].get("matching") == "class":
        return [
            "Soft mAP and mAP match predictions by class alone: each class once per image, "
            "without boxes."
        ]
    differs = result.get("map_differs")
    return [f"mAP with exact matching has {' and '.join(differs)}."] if differs else []


def _changed(result: Result) -> str:
    """State how much similarity changes soft mAP, the similarity formula, and unusual choices."""
    formula, *rest = phrases_of(result["measure"]["signature"])
    usual = phrases_of(Measure().signature)
    how = "; ".join([formula, *(phrase for phrase in rest if phrase not in usual)])
    splits, gain = result["splits"], ""
    if result["measure"]["scores"] and "soft_map_exact" in splits:
        soft, exact = (splits[key]["full"] for key in ("soft_map", "soft_map_exact"))
        gain = f" changes soft mAP by {percent(soft - exact, signed=True)}"
    return f"Similarity{gain}: {how.replace('sigma', 'σ')}"


def table_lines(result: Result) -> list[str]:
    """Name each similarity table, its source and the number of words that it covers."""
    return [
        f"Similarity of {what}: {table['name']}, {table['source']}; covers {table['covered']:,} "
        f"of {table['words']:,} {what}"
        for what, table in result["similarity"].items()
    ]


def _tables_in_short(result: Result) -> str:
    """Name the similarity tables of verbs and objects, and their coverage, on one line."""
    verbs, objects = (result["similarity"][what] for what in ("verbs", "objects"))
    covered = [
        f"{table['covered']:,} of {table['words']:,} {what}"
        for table, what in ((verbs, "verbs"), (objects, "objects"))
    ]
    if verbs["name"] == objects["name"]:
        return f"Tables: {verbs['name']}: {', '.join(covered)}"
    (of_verbs, of_objects), (first, second) = covered, (verbs["source"], objects["source"])
    return f"Tables: {first} ({of_verbs}), {second} ({of_objects})"


def _free(result: Result) -> str:
    """Count the free words of predictions, and list the words that are not understood."""
    tables = result["similarity"].values()
    number = sum(len(table.get("free_words", ())) for table in tables)
    lost = [word for table in tables for word in table.get("not_understood", ())]
    named = f"; not understood {len(lost):,}: {some_of(lost, 3)}" if lost else ""
    return f"Words that are not in the data set: {number:,}{named}" if number else ""


def similarity_in_words(similarities: Similarities) -> str:
    """Explain how action and object errors are compared, and which are near, plausible or wrong."""
    tables = ", ".join(
        f"{what} by the table {table['name']} ({table['source']})"
        for what, table in similarities.tables.items()
    )
    return (
        f"Action and object errors are compared, by {similarities.sigma.replace('sigma', 'σ')}, "
        "with the other classes annotated at both boxes (or, if predictions are matched by "
        f"person, with the other actions of the person): {tables}. An error is near if σ is at "
        f"least {NEAR:g}, plausible if σ is above {PLAUSIBLE:g}, and wrong otherwise."
    )


def semantic_tables(result: Result, classes: int = 0, *, words: bool = True) -> list[Table]:
    """Create the tables of a semantic evaluation; if ``classes`` is 0, no classes are listed."""
    tables = [_figures(result), _rates(result)]
    for what, table in result["similarity"].items() if words else ():
        if "free_words" in table:
            tables.append(_words(what, table))
    if classes:
        tables.append(_classes(result["classes"], classes))
    if result.get("diagnosis") is not None:
        tables += _diagnosis(result["diagnosis"], by_pair=by_person(result))
    return tables


def _figures(result: Result) -> Table:
    splits = list(result["splits"]["mf1"])
    names = {
        "soft_map": "Soft mAP",
        "soft_map_exact": "if nothing were similar",
        "map": "mAP, exact matching",
        "mf1": "Soft mF1",
    }
    rows = [
        Line(
            name,
            [*(result["splits"][key][split] for split in splits)],
            indented=key == "soft_map_exact",
        )
        for key, name in names.items()
        if key != "soft_map_exact" or (key in result["splits"] and result["measure"]["scores"])
    ]
    titles = [TITLES.get(split, split) for split in splits]
    return TextTable("Figures, %", titles, [rows], "\n".join(basis(result))).table


def basis(result: Result) -> list[str]:
    """Describe what the numbers are based on: the classes, predictions and definition of AP."""
    classes, counts = result["class_set"], result["counts"]
    lines = [
        f"Classes: {classes['name']} ({classes['number']:,}); means over "
        f"{counts['classes']:,} annotated classes."
    ]
    measure = result["measure"]
    if measure["scores"]:
        lines.append(f"{measure['threshold']}. Soft AP: {measure['soft_ap']}.")
        lines.append(
            "If nothing were similar: soft mAP with tables in which no word is similar to "
            "another. The rest of the difference from mAP is not due to similarity: soft mAP has "
            "its own rules for predictions in which only the verb or object is right, and for "
            "false positives."
        )
    return [*lines, *_other_rules(result)]


def _rates(result: Result) -> Table:
    rows = [
        Line(name, [result[key], result[f"{key}_all_predictions"]])
        for key, name in (
            ("gt_miss_rate", "Annotated triplets without a prediction"),
            ("prediction_miss_rate", "Predictions without an annotated triplet"),
        )
    ]
    number = result["counts"]["predicted_triplets_of_mf1"]
    caption = f"mF1 counts {number:,} predictions"
    heads = ("As in mF1", "All predictions")
    return TextTable("Miss rates, %", heads, [rows], f"{caption}.").table


def _words(what: str, table: Result) -> Table:
    """List the free words of predictions and how each is interpreted."""
    rows = [
        Line(
            word["word"],
            [
                shown(word["predictions"], "count"),
                word["sense"] or UNDEFINED,
                word["closest"] or UNDEFINED,
                f"{word['similarity']:.2f}",
            ],
        )
        for word in table["free_words"][:SHOWN]
    ]
    number, lost = len(table["free_words"]), table["not_understood"]
    caption = f"{number:,} words are not in the data set; the JSON lists all."
    if lost:
        caption += f"\nNot understood, and so similar to nothing: {some_of(lost, SHOWN)}."
    heads = ("Count", "Sense", "Closest to", "Similarity")
    return TextTable(f"Predicted {what}", heads, [rows], caption).table


def _classes(classes: Sequence[Result], number: int) -> Table:
    """List the classes that gain most from similarity or, without scores, the first classes."""
    scored = [{**one, "gain": _gain(one)} for one in classes if one["soft_ap"] is not None]
    if not scored:
        rows = [
            Line(one["name"], [shown(one["annotated"], "count"), one["f1"]])
            for one in classes[:number]
        ]
        return TextTable("Classes, %", ("Annotated", "Soft F1"), [rows]).table
    gaining = [one for one in scored if round(one["gain"], 4) > 0]
    rows = [
        Line(
            one["name"],
            [
                shown(one["annotated"], "count"),
                shown(one["gain"], "points"),
                *(one[key] for key in ("soft_ap", "ap", "f1")),
            ],
        )
        for one in sorted(gaining, key=lambda one: -one["gain"])[:number]
    ]
    heads = ("Annotated", "Gain", "Soft AP", "AP", "Soft F1")
    caption = "Gain: soft AP minus soft AP if nothing were similar" + (
        "." if rows else "; no class gains."
    )
    return TextTable("Largest gains from similarity, %", heads, [rows], caption).table


def _gain(one: Result) -> float:
    """Return a class's gain in soft AP from similarity; 0 if unknown."""
    exact = one.get("soft_ap_exact")
    return 0.0 if exact is None else float(one["soft_ap"] - exact)


def _diagnosis(found: Result, *, by_pair: bool) -> list[Table]:
    """Create the tables on how near action and object errors are in meaning to the annotations."""
    tables = [_kinds(found, error) for error in COMPARED if error in found]
    tables = [table for table in tables if table.rows]
    verbs = [
        Line(
            one["verb"],
            [
                shown(one["count"], "count"),
                *(one["shares"][kind] for kind in ("near", "plausible", "wrong")),
                shown(one["delta_map"], "points"),
            ],
        )
        for one in found["verbs"][:SHOWN]
    ]
    if verbs:
        caption = (
            "Errors: action errors on people for whom a triplet with this verb is annotated. ΔmAP: "
            "gain from repairing these errors."
        )
        heads = ("Errors", "Near, %", "Plausible, %", "Wrong, %", "ΔmAP")
        tables.append(TextTable("Annotated verbs", heads, [verbs], caption).table)
    above = "The action errors above follow the published rule."
    read = f" {VERBS_OF_V_COCO} {above}" if by_pair else ""
    tables += [
        _confusions(what, found[key], remark)
        for what, key, remark in (
            ("verbs", "confusions", read),
            ("objects", "object_confusions", ""),
        )
        if found[key]
    ]
    return tables


def _kinds(found: Result, name: str) -> Table:
    error = found[name]
    rows = [
        Line(
            kind["title"],
            [
                shown(kind["count"], "count"),
                kind["share"],
                shown(kind["delta_map"], "points"),
                kind["delta_share"],
            ],
        )
        for kind in error["kinds"]
        if kind["count"]
    ]
    total = shown(error["delta_map"], "points")
    return TextTable(
        error["title"],
        ("Count", "Share, %", "ΔmAP", "Of ΔmAP, %"),
        [rows],
        f"Compared with {error['compared_with']}.\n{_sigma_in_words(found, name)}\n"
        f"ΔmAP is given as Shapley values, which add up to the {total} of all kinds together.",
    ).table


def _sigma_in_words(found: Result, name: str) -> str:
    """Explain sigma, and what its thresholds mean for the similarity of a wrong verb or object."""
    formula = found["sigma"].replace("sigma", "σ")
    near, plausible = (found[name]["least"][kind] for kind in ("near", "plausible"))
    if near is None:
        return f"{formula}."
    part = WRONG_PART[name]
    (right,) = set(WRONG_PART.values()) - {part}
    from_near, from_plausible = (
        f"any {part}" if always else f"{part} similarity {sign} {least:.3g}"
        for sign, least, always in ((">=", near, near <= 0), (">", plausible, plausible < 0))
    )
    return (
        f"{formula} of the whole interaction; with the right {right}, σ >= {found['near']:g} means "
        f"{from_near}, and σ > {found['plausible']:g} means {from_plausible}."
    )


def _confusions(what: str, found: Sequence[Result], remark: str) -> Table:
    rows = [
        Line(
            wrong_word(one),
            [
                shown(one["count"], "count"),
                shown(one.get("not_found"), "count"),
                UNDEFINED if one.get("in_table") is False else f"{one['similarity']:.2f}",
                shown(one["delta_map"], "points"),
            ],
        )
        for one in found[:SHOWN]
    ]
    return TextTable(
        f"Wrong {what} that cost the most",
        ("Count", NOT_FOUND, "Similarity", "ΔmAP"),
        [rows],
        f"{WHICH}{remark}\nThe similarity is between the {what} alone, not σ; {UNDEFINED}: the "
        "pair is not in the table, which counts as 0. ΔmAP: gain from repairing these predictions "
        "alone; the gains do not add up.",
    ).table
