"""What a notebook shows of diagnoses and comparisons, of a protocol and of an oracle.

Only the layout is given, in the elements themselves: colours and type are those of the notebook, be
it light or dark, and what strips styles still leaves tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.slice_tables import slice_tables
from diaghoi.comparison.slices import Slices
from diaghoi.comparison.transitions import FATES, Transitions
from diaghoi.data.protocol import Protocol, phrases_of
from diaghoi.data.table import Cell, Column, Row, RowGroup, Table
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.oracles import Oracle, error_title
from diaghoi.report.html.words import in_unicode
from diaghoi.report.text import counts_line, heading, pairs_line, report_tables
from diaghoi.report.verdict import headline, verdict

TABLE = "border-collapse:collapse;margin:0.8em 0"
HEAD = "text-align:{};vertical-align:bottom"
NAME = "text-align:left;font-weight:normal"
INDENTED = f"{NAME};padding-left:2em"
NUMBER = "text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap"
RULE = "border-top:1px solid"


def load_ipython_extension(shell: Any) -> None:
    """Let a notebook show diagnoses, comparisons, protocols and oracles as HTML.

    Importing diaghoi does it.

    Parameters
    ----------
    shell : IPython.core.interactiveshell.InteractiveShell
        The shell of the notebook.
    """
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(Diagnosis, lambda diagnosis: diagnosis_html(diagnosis.to_dict()))
    html.for_type(Comparison, comparison_html)
    html.for_type(Transitions, transitions_html)
    html.for_type(Slices, lambda slices: slices_html(slices.to_dict()))
    html.for_type(Protocol, protocol_html)
    html.for_type(Oracle, oracle_html)


def diagnosis_html(result: Mapping[str, Any]) -> str:
    """Show a diagnosis: what costs most, and the tables of mAP and errors.

    The notes, the other table and the protocol unfold.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.

    Returns
    -------
    str
        HTML without scripts and colours.
    """
    protocol, notes = result["protocol"], result["notes"]
    mean_ap, errors, parts = map(_table, report_tables(result))
    title = _escaped(f"{heading(result)} ({protocol['name']})")
    lines = "<br>".join(map(_escaped, (headline(result), verdict(result), counts_line(result))))
    pairs = f"{parts}<p>{_escaped(pairs_line(result))}</p>"
    number = f"{len(notes)} note{'s' if len(notes) > 1 else ''}"
    return (
        f"<div><p><strong>{title}</strong><br>{lines}</p>{mean_ap}{errors}"
        + (_unfolding(number, _list(notes)) if notes else "")
        + _unfolding("Pairs, negatives, actions", pairs)
        + _unfolding(f"Protocol {protocol['name']}", _list(phrases_of(protocol["signature"])))
        + "</div>"
    )


def comparison_html(comparison: Comparison) -> str:
    """Show a comparison: what the tests and the notes say, and its tables.

    The tables but the first two unfold.
    """
    labels = ", ".join(model.label for model in comparison.models)
    title = _escaped(f"{labels} on {comparison.subject}")
    first, rest = comparison.tables[:2], (*comparison.tables[2:], *comparison.listings)
    said = _list([*comparison.caveats, *comparison.notes, *comparison.statements])
    return (
        f"<div><p><strong>{title}</strong></p>{''.join(map(_titled, first))}{said}"
        + "".join(_unfolding(table.heading, _table(table)) for table in rest)
        + "</div>"
    )


def transitions_html(found: Transitions) -> str:
    """Show what became of annotated triplets under two detectors: a row for each fate."""
    first, second = found.labels
    titles = ["Found", *map(error_title, FATES[1:])]
    rows = (
        Row(titles=(title,), cells=tuple(Cell(text=f"{count:,}") for count in counts))
        for title, counts in zip(titles, found.matrix().tolist(), strict=True)
    )
    table = Table(
        title=f"Annotated triplets: rows under {first}, columns under {second}",
        heads=(f"Under {first}",),
        columns=tuple(Column(title=title, unit="count") for title in titles),
        row_groups=(RowGroup(rows=tuple(rows)),),
    )
    return f"<div>{_titled(table)}</div>"


def slices_html(found: Mapping[str, Any]) -> str:
    """Show detectors in slices: the tables of a comparison, and what stands out.

    Parameters
    ----------
    found : mapping
        As from :meth:`diaghoi.comparison.slices.Slices.to_dict`.
    """
    tables = "".join(map(_titled, slice_tables(found)))
    return f"<div>{tables}{_list(found['notes'])}</div>"


def protocol_html(protocol: Protocol) -> str:
    """Show a protocol: its name, and each of its choices."""
    choices = _list(phrases_of(protocol.signature))
    return f"<div><p><strong>Protocol {_escaped(protocol.name)}</strong></p>{choices}</div>"


def oracle_html(oracle: Oracle) -> str:
    """Show an oracle: its title, its name, and what it repairs."""
    paragraphs = oracle.definition.replace("`", "").split("\n\n")
    text = "".join(f"<p>{_escaped(' '.join(each.split()))}</p>" for each in paragraphs)
    title = f"<strong>{_escaped(oracle.title)}</strong> <code>{_escaped(oracle.name)}</code>"
    return f"<div><p>Oracle {title}</p>{text}</div>"


def _escaped(text: str) -> str:
    return escape(in_unicode(text))


def _list(points: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{_escaped(point)}</li>" for point in points) + "</ul>"


def _unfolding(title: str, content: str) -> str:
    return f"<details><summary>{_escaped(title)}</summary>{content}</details>"


def _titled(table: Table) -> str:
    return f"<p><strong>{_escaped(table.heading)}</strong></p>{_table(table)}"


def _table(table: Table) -> str:
    """Write a table, with a rule above each group of its rows, and its remarks below."""
    head = "".join(_cell("th", title, HEAD.format("left"), "col") for title in table.heads)
    titles = (f"{column.group}\n{column.title}".strip() for column in table.columns)
    head += "".join(_cell("th", title, HEAD.format("right"), "col") for title in titles)
    width = len(table.heads) + len(table.columns)
    bodies = "".join(f"<tbody>{_group(group, width)}</tbody>" for group in table.row_groups)
    remarks = "".join(f"<p>{_escaped(remark)}</p>" for remark in table.remarks)
    return f'<table style="{TABLE}"><thead><tr>{head}</tr></thead>{bodies}</table>{remarks}'


def _group(group: RowGroup, width: int) -> str:
    """Write the rows of a group below its title, if it has one."""
    rows = "".join(_row(row, rule=not group.title and row is group.rows[0]) for row in group.rows)
    if not group.title:
        return rows
    title = f'<th scope="rowgroup" colspan="{width}" style="{NAME};{RULE}">'
    return f"<tr>{title}<em>{_escaped(group.title)}</em></th></tr>{rows}"


def _row(row: Row, *, rule: bool) -> str:
    border = f";{RULE}" if rule else ""
    style = (INDENTED if row.indented else NAME) + border
    names = "".join(_cell("th", title, style, "row") for title in row.titles)
    cells = (_cell("td", cell.shown, NUMBER + border) for cell in row.cells)
    return f"<tr>{names}{''.join(cells)}</tr>"


def _cell(tag: str, text: str, style: str, scope: str = "") -> str:
    scope = f' scope="{scope}"' if scope else ""
    shown = "<br>".join(map(_escaped, text.split("\n")))
    return f'<{tag}{scope} style="{style}">{shown}</{tag}>'
