r"""Comparisons as LaTeX: tables for a paper of two columns, that need nothing but booktabs.

The text is UTF-8. Names of models keep their letters; those that pdflatex has not, such as Greek
and Chinese ones, need LuaLaTeX or XeLaTeX.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from diaghoi._version import __version__
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.figures import Column
from diaghoi.comparison.tables import Row, Table
from diaghoi.report.layout import blocks, group_runs, widened
from diaghoi.report.numbers import shown_cell

# Width of one column of the paper and of both, in points.
COLUMN_WIDTH, TEXT_WIDTH = 234.9, 496.8
# Names of models and backbones that are longer than this many letters may be broken.
LONGEST_LABEL = 26
# The ten characters that mean something to LaTeX, then those of our own texts that pdflatex has
# not, or sets as another character.
WRITTEN = str.maketrans(
    {character: f"\\{character}" for character in "{}$&#_%"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"Δ": r"$\Delta$", "−": "$-$", "<": "$<$", ">": "$>$", "|": "$|$"}
    | {"†": r"\dag{}", "‡": r"\ddag{}", "–": "--"}
)


class Type(NamedTuple):
    """A size of type: its command, points of a letter, and room on each side of a column."""

    command: str
    letter: float
    gap: float


LARGE, SMALL = Type(r"\footnotesize", 4.3, 4.0), Type(r"\scriptsize", 4.0, 2.5)


class Layout(NamedTuple):
    """How a table is set: its environment, size of type, and blocks of columns."""

    environment: str
    type: Type
    blocks: list[list[int]]


def to_latex(comparison: Comparison) -> str:
    r"""Write the tables of a comparison as LaTeX, to be read with ``\input``.

    Each table has a caption and a label (``tab:diaghoi-official`` and so on), and is as wide as one
    column of a paper of two columns, or, where it does not fit there, as both (``table*``).

    Parameters
    ----------
    comparison : Comparison
        What to show.
    """
    lines = [
        f"diaghoi {__version__}: {comparison.subject}",
        comparison.signature,
        *(f"Caution: {caveat}" for caveat in comparison.caveats),
        *(f"Note: {note}" for note in comparison.notes),
        *(f"{difference.sentence}." for difference in comparison.differences),
    ]
    comments = [f"% {' '.join(line.split())}" for line in lines]
    tables = [_table(table, comparison) for table in comparison.tables]
    return "\n\n".join(("\n".join((*comments, r"% Needs \usepackage{booktabs}.")), *tables)) + "\n"


def escaped(text: str) -> str:
    """Write text so that LaTeX sets it as it is, in one line."""
    # Files of macOS have names with accents apart from their letters, which pdflatex cannot set.
    return " ".join(unicodedata.normalize("NFC", text).split()).translate(WRITTEN)


def _table(table: Table, comparison: Comparison) -> str:
    stubs = {"Model": [row.title for row in table.rows]}
    if comparison.has_backbones:
        stubs["Backbone"] = [row.backbone for row in table.rows]
    names = [max(map(len, (stub, *words))) for stub, words in stubs.items()]
    letters = widened(table.columns, [_letters(table, n) for n in range(len(table.columns))], 2)
    layout = _layout(table.columns, letters, [min(name, LONGEST_LABEL) for name in names])
    broken = f"p{{{LONGEST_LABEL * layout.type.letter:.0f}pt}}"
    kinds = ["l" if name <= LONGEST_LABEL else broken for name in names]
    tabulars = [_tabular(table, block, letters, list(stubs), kinds) for block in layout.blocks]
    return "\n".join(
        (
            rf"\begin{{{layout.environment}}}[t]",
            r"\centering",
            # Classes leave room below captions of figures, and here the caption is above.
            r"\setlength{\abovecaptionskip}{0pt}\setlength{\belowcaptionskip}{4pt}",
            rf"\caption{{{_caption(table, comparison)}}}",
            rf"\label{{tab:diaghoi-{re.sub('[^A-Za-z0-9]+', '-', table.key)}}}",
            layout.type.command,
            rf"\setlength{{\tabcolsep}}{{{layout.type.gap:g}pt}}",
            "\n\\par\\medskip\n".join(tabulars),
            rf"\end{{{layout.environment}}}",
        )
    )


def _caption(table: Table, comparison: Comparison) -> str:
    sentences = [f"{table.title} ({comparison.subject}).", table.caption]
    if table.marked:
        sentences.append(f"Bold: {table.best}.")
    sentences += [f"Caution: {caveat}." for caveat in comparison.caveats]
    return escaped(" ".join(sentences))


def _letters(table: Table, place: int) -> int:
    """Letters that the widest figure of a column, or word of its title, takes."""
    column = table.columns[place]
    figures = [shown_cell(row.cells[place], column, row) for row in table.rows]
    return max(map(len, (*figures, *column.title.split())))


def _layout(columns: Sequence[Column], letters: Sequence[int], names: Sequence[int]) -> Layout:
    """Choose where a table fits: in one column of the paper, in both, or in both and broken."""
    layouts = []
    for environment, type_, width in (
        ("table", LARGE, COLUMN_WIDTH),
        ("table*", LARGE, TEXT_WIDTH),
        ("table*", SMALL, TEXT_WIDTH),
    ):
        room = width - sum(name * type_.letter + 2 * type_.gap for name in names)
        widths = [round(number * type_.letter + 2 * type_.gap) for number in letters]
        layouts.append(Layout(environment, type_, blocks(columns, widths, int(room))))
    return next((layout for layout in layouts if len(layout.blocks) == 1), layouts[-1])


def _tabular(
    table: Table,
    block: Sequence[int],
    letters: Sequence[int],
    stubs: Sequence[str],
    kinds: Sequence[str],
) -> str:
    """Write some of the columns of a table, with the names of the models."""
    columns = [table.columns[place] for place in block]
    rows = [*_heads(columns, [letters[place] for place in block], stubs), r"\midrule"]
    for number, section in enumerate(table.sections):
        if number:
            rows.append(r"\midrule")
        if section.title:
            title = rf"\emph{{{escaped(section.title)}}}"
            rows.append(rf"\multicolumn{{{len(stubs) + len(block)}}}{{@{{}}l}}{{{title}}} \\")
        rows += [_row(row, table.columns, block, kinds) for row in section.rows]
    return "\n".join(
        (
            rf"\begin{{tabular}}{{@{{}}{''.join(kinds)}{'r' * len(block)}@{{}}}}",
            r"\toprule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        )
    )


def _heads(columns: Sequence[Column], letters: Sequence[int], stubs: Sequence[str]) -> list[str]:
    """Write the titles of the groups with rules below, and those of the columns."""
    heads, rules = [""] * len(stubs), []
    for group, members in group_runs(columns):
        if not group:
            heads += [""] * len(members)
            continue
        heads.append(rf"\multicolumn{{{len(members)}}}{{c}}{{{escaped(group)}}}")
        first, last = len(stubs) + members[0] + 1, len(stubs) + members[-1] + 1
        rules.append(rf"\cmidrule(lr){{{first}-{last}}}")
    lines = [_line(heads), " ".join(rules)] if rules else []
    titles = [
        textwrap.wrap(column.title, width, break_on_hyphens=False)
        for column, width in zip(columns, letters, strict=True)
    ]
    most = max(map(len, titles))
    titles = [*([stub] for stub in stubs), *titles]
    words = [[*[""] * (most - len(title)), *title] for title in titles]
    return [*lines, *(_line(list(map(escaped, line))) for line in zip(*words, strict=True))]


def _row(row: Row, columns: Sequence[Column], block: Sequence[int], kinds: Sequence[str]) -> str:
    words = []
    for kind, text in zip(kinds, (row.title, row.backbone), strict=False):
        word = escaped(text)
        words.append(rf"\raggedright {word}" if kind.startswith("p") else word)
    if row.kind != "model":
        words[0] = rf"\emph{{{words[0]}}}"
    elif words[0].startswith(("[", "*")):
        # Read as arguments of the end of the row before.
        words[0] = f"{{}}{words[0]}"
    for place in block:
        text = escaped(shown_cell(row.cells[place], columns[place], row))
        words.append(rf"\textbf{{{text}}}" if row.cells[place].best else text)
    return _line(words)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
