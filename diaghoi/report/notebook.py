"""What a notebook shows of a diagnosis, a protocol and an oracle.

Only the layout is given, in the elements themselves: colours and type are those of the notebook, be
it light or dark, and what strips styles still leaves tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from diaghoi.data.protocol import Protocol, phrases_of
from diaghoi.data.table import Row, Table
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.oracles import Oracle
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
    """Let a notebook show diagnoses, protocols and oracles as HTML; importing diaghoi does it.

    Parameters
    ----------
    shell : IPython.core.interactiveshell.InteractiveShell
        The shell of the notebook.
    """
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(Diagnosis, lambda diagnosis: diagnosis_html(diagnosis.to_dict()))
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


def _table(table: Table) -> str:
    """Write a table, with a rule above each group of its rows, and its remarks below."""
    head = _cell("th", table.heads[0], HEAD.format("left"), "col")
    right = HEAD.format("right")
    head += "".join(_cell("th", column.title, right, "col") for column in table.columns)
    bodies = "".join(
        f"<tbody>{''.join(_row(row, rule=row is group.rows[0]) for row in group.rows)}</tbody>"
        for group in table.row_groups
    )
    remarks = "".join(f"<p>{_escaped(remark)}</p>" for remark in table.caption.splitlines())
    return f'<table style="{TABLE}"><thead><tr>{head}</tr></thead>{bodies}</table>{remarks}'


def _row(row: Row, *, rule: bool) -> str:
    border = f";{RULE}" if rule else ""
    name = _cell("th", row.title, (INDENTED if row.indented else NAME) + border, "row")
    cells = (_cell("td", cell.shown, NUMBER + border) for cell in row.cells)
    return f"<tr>{name}{''.join(cells)}</tr>"


def _cell(tag: str, text: str, style: str, scope: str = "") -> str:
    scope = f' scope="{scope}"' if scope else ""
    shown = "<br>".join(map(_escaped, text.split("\n")))
    return f'<{tag}{scope} style="{style}">{shown}</{tag}>'
