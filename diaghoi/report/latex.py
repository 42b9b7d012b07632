r"""Write comparisons as LaTeX tables, which need only booktabs, for a two-column paper.

The text is UTF-8. Model names keep their characters; characters that pdflatex lacks, such as Greek
and Chinese, need LuaLaTeX or XeLaTeX.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from diaghoi._version import __version__
from diaghoi.comparison.joint import AnyComparison
from diaghoi.data.table import Column, Row, Table
from diaghoi.report.terminal import column_blocks, group_runs, widened

# Widths in points of one column and of both columns of the article class. The CVPR and IEEE
# templates have wider columns.
COLUMN_WIDTH, TEXT_WIDTH = 229.5, 469.0
# Names of models and backbones that are longer than this may be broken across lines.
LONGEST_LABEL = 26
# The ten special characters of LaTeX, then characters in this package's texts that pdflatex lacks,
# sets as other characters, or (before 2018) drops.
WRITTEN = str.maketrans(
    {character: f"\\{character}" for character in "{}$&#_%"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"Δ": r"$\Delta$", "−": "$-$", "<": "$<$", ">": "$>$", "|": "$|$"}
    | {"†": r"\dag{}", "‡": r"\ddag{}", "–": "--", "é": r"\'{e}"}
)


# Characters at which row names may be broken, before and after conversion to LaTeX.
PARTS, BREAKS = re.compile(r"(?<=[-_/.\s])"), re.compile(r"\\_|[-/.]")


class Type(NamedTuple):
    """A font size: command, points, and space on each side of a column."""

    command: str
    letter: float
    gap: float


LARGE, SMALL = Type(r"\footnotesize", 4.3, 4.0), Type(r"\scriptsize", 4.0, 2.5)
# Font sizes of tables for one column; the smaller is for names that cannot be broken enough to fit.
NARROW = Type(r"\footnotesize", 4.3, 2.0), Type(r"\scriptsize", 4.0, 1.5)
# Widths, relative to a digit, of wide letters and capitals, of bold digits, and of decimal points.
WIDE, BOLD, POINT = 1.5, 1.14, 0.6


class PaperLayout(NamedTuple):
    """Layout of a table: environment, font size, and blocks of columns."""

    environment: str
    type: Type
    blocks: list[list[int]]


def to_latex(comparison: AnyComparison) -> str:
    r"""Write the tables of a comparison as LaTeX, to be read with ``\input``.

    Each table has a caption and a label (``tab:diaghoi-official`` and so on). A table fits one
    column of a two-column paper, or spans both columns (``table*``) if it is too wide. Further
    remarks follow in comments.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        What to show.
    """
    lines = [
        f"diaghoi {__version__}: {comparison.subject}",
        *(part.signature for part in comparison.parts),
        *(f"Caution: {caveat}" for caveat in comparison.caveats),
        *(f"Note: {note}" for note in comparison.notes),
        *comparison.statements,
    ]
    comments = [f"% {' '.join(line.split())}" for line in lines]
    tables = []
    labels: list[str] = []
    for table in (*comparison.tables, *comparison.listings):
        label = re.sub("[^A-Za-z0-9]+", "-", table.key)
        labels.append(label)
        # Each model or data set has its own listing.
        number = labels.count(label)
        tables.append(_table(table, comparison, f"{label}-{number}" if number > 1 else label))
    return "\n\n".join((*tables, "\n".join((*comments, r"% Needs \usepackage{booktabs}.")))) + "\n"


def escaped(text: str) -> str:
    """Escape text for LaTeX, on one line."""
    # File names on macOS store accents separately from letters; pdflatex cannot set separate
    # accents.
    return " ".join(unicodedata.normalize("NFC", text).split()).translate(WRITTEN)


def _table(table: Table, comparison: AnyComparison, label: str) -> str:
    if table.beside:
        table = table.with_group_column(0, repeated=False)
    titles = zip(table.heads, *(row.titles for row in table.rows), strict=True)
    measure: Callable[[str], float] = _width if table.narrow else len
    names = [max(map(measure, column)) for column in titles]
    letters = widened(table.columns, [_letters(table, n) for n in range(len(table.columns))], 2)
    if table.narrow:
        layout, longest = _narrow_layout(table)
    else:
        longest = LONGEST_LABEL
        layout = _layout(table.columns, letters, [min(name, longest) for name in names])
    broken = f"p{{{longest * layout.type.letter:.0f}pt}}"
    kinds = ["l" if name <= longest else broken for name in names]
    tabulars = [_tabular(table, block, letters, kinds) for block in layout.blocks]
    return "\n".join(
        (
            rf"\begin{{{layout.environment}}}[t]",
            r"\centering",
            # Document classes leave room for captions below figures, but the captions of these
            # tables are above.
            r"\setlength{\abovecaptionskip}{0pt}\setlength{\belowcaptionskip}{4pt}",
            rf"\caption{{{_caption(table, comparison)}}}",
            rf"\label{{tab:diaghoi-{label}}}",
            layout.type.command,
            rf"\setlength{{\tabcolsep}}{{{layout.type.gap:g}pt}}",
            "\n\\par\\medskip\n".join(tabulars),
            rf"\end{{{layout.environment}}}",
        )
    )


def _caption(table: Table, comparison: AnyComparison) -> str:
    sentences = [f"{table.heading} ({comparison.subject}).", *table.remarks]
    if table.marked:
        sentences.append(f"Bold: {table.best}.")
    sentences += [f"Caution: {caveat}." for caveat in comparison.caveats]
    return escaped(" ".join(sentences))


def _letters(table: Table, place: int) -> int:
    """Return the width of the widest number of a column, or of a wider word in its title."""
    column = table.columns[place]
    figures = [row.cells[place].shown for row in table.rows]
    return max(map(len, (*figures, *column.title.split())))


def _narrow_layout(table: Table) -> tuple[PaperLayout, float]:
    """Fit all numbers into one column; return the layout, and the width left for row names."""
    whole = max(_width(part) for row in table.rows for part in PARTS.split(row.title))
    for type_ in NARROW:
        room = COLUMN_WIDTH - type_.gap
        for place, column in enumerate(table.columns):
            cells = [row.cells[place] for row in table.rows]
            figures = [_width(cell.shown) * (BOLD if cell.best else 1) for cell in cells]
            room -= type_.letter * max(_width(column.title), *figures) + 2 * type_.gap
        if whole * type_.letter <= room:
            break
    layout = PaperLayout("table", type_, [list(range(len(table.columns)))])
    return layout, room / type_.letter


def _width(text: str) -> float:
    """Return the approximate width of a text, in digits."""
    return sum(
        WIDE if letter.isupper() or letter in "mw" else POINT if letter in ".,il" else 1
        for letter in text
    )


def _layout(
    columns: Sequence[Column], letters: Sequence[int], names: Sequence[float]
) -> PaperLayout:
    """Choose a table's layout: one column of the paper, both columns, or both with blocks."""
    layouts = []
    for environment, type_, width in (
        ("table", LARGE, COLUMN_WIDTH),
        ("table*", LARGE, TEXT_WIDTH),
        ("table*", SMALL, TEXT_WIDTH),
    ):
        room = width - sum(name * type_.letter + 2 * type_.gap for name in names)
        widths = [round(number * type_.letter + 2 * type_.gap) for number in letters]
        layouts.append(PaperLayout(environment, type_, column_blocks(columns, widths, int(room))))
    return next((layout for layout in layouts if len(layout.blocks) == 1), layouts[-1])


def _tabular(
    table: Table, block: Sequence[int], letters: Sequence[int], kinds: Sequence[str]
) -> str:
    """Write a block of columns of a table, with the row titles."""
    columns = [table.columns[place] for place in block]
    rows = [*_heads(columns, [letters[place] for place in block], table.heads), r"\midrule"]
    for number, group in enumerate(table.row_groups):
        if number:
            rows.append(r"\midrule")
        if group.title:
            title = rf"\emph{{{escaped(group.title)}}}"
            span = len(table.heads) + len(block)
            rows.append(rf"\multicolumn{{{span}}}{{@{{}}l}}{{{title}}} \\")
        rows += [_row(row, block, kinds) for row in group.rows]
    return "\n".join(
        (
            rf"\begin{{tabular}}{{@{{}}{''.join(kinds)}{'r' * len(block)}@{{}}}}",
            r"\toprule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        )
    )


def _heads(
    columns: Sequence[Column], letters: Sequence[int], row_heads: Sequence[str]
) -> list[str]:
    """Write the titles of column groups, with rules below them, and the column titles."""
    heads, rules = [""] * len(row_heads), []
    for group, members in group_runs(columns):
        if not group:
            heads += [""] * len(members)
            continue
        heads.append(rf"\multicolumn{{{len(members)}}}{{c}}{{{escaped(group)}}}")
        first, last = len(row_heads) + members[0] + 1, len(row_heads) + members[-1] + 1
        rules.append(rf"\cmidrule(lr){{{first}-{last}}}")
    lines = [_line(heads), " ".join(rules)] if rules else []
    titles = [
        textwrap.wrap(column.title, width, break_on_hyphens=False)
        for column, width in zip(columns, letters, strict=True)
    ]
    most = max(map(len, titles))
    titles = [*([head] for head in row_heads), *titles]
    columns_of_lines = [[*[""] * (most - len(title)), *title] for title in titles]
    shown = zip(*columns_of_lines, strict=True)
    return [*lines, *(_line(list(map(escaped, line))) for line in shown)]


def _row(row: Row, block: Sequence[int], kinds: Sequence[str]) -> str:
    cells = []
    for kind, text in zip(kinds, row.titles, strict=True):
        title = escaped(text)
        if kind.startswith("p"):
            # File names have no blanks at which to break.
            title = r"\raggedright " + BREAKS.sub(r"\g<0>\\allowbreak{}", title)
        cells.append(title)
    if row.kind != "entry":
        cells[0] = rf"\emph{{{cells[0]}}}"
    elif cells[0].startswith(("[", "*")):
        # LaTeX would read ``[`` or ``*`` as an argument of the ``\\`` that ends the previous row.
        cells[0] = f"{{}}{cells[0]}"
    for place in block:
        text = escaped(row.cells[place].shown)
        cells.append(rf"\textbf{{{text}}}" if row.cells[place].best else text)
    return _line(cells)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
