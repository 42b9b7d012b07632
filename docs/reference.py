"""The reference pages of the manual, written from the code when the site is built."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer.main
from typer.cli import get_docs_for_click

from diaghoi.cli import commands
from diaghoi.cli.analyses import ALSO, EXPLAIN
from diaghoi.cli.options import list_of_keys
from diaghoi.cli.reading import READ
from diaghoi.data.protocol import PROTOCOLS
from diaghoi.formats import FORMATS
from diaghoi.measures import MEASURES
from diaghoi.oracles import ORACLES
from diaghoi.plots import FIGURES
from diaghoi.plots.figures.robustness import ROBUSTNESS_FIGURES
from diaghoi.robustness.corruptions import CORRUPTIONS, GROUPS

PICTURES = Path(__file__).parent / "pictures"


def command_page() -> str:
    """List all commands and options, including rare options."""
    command = typer.main.get_command(commands.app)
    _show_rare_options(command)
    context = command.make_context("diaghoi", ["report"], resilient_parsing=True)
    text = get_docs_for_click(obj=command, ctx=context, name="diaghoi", title="Commands")
    # The lists of commands only repeat, in short form, the text below each heading.
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n", "", text)
    for option, keys in {"--read": READ, "--also": ALSO | EXPLAIN}.items():
        text += f"\n## Keys of `{option}`\n\n```text\n{list_of_keys(keys)}\n```\n"
    return text


def number_page() -> str:
    """List the registered numbers and the oracles behind ΔmAP."""
    numbers = [
        (f"`{each.path}`", each.title, each.doc, each.better or "–") for each in MEASURES.values()
    ]
    repairs = [
        (f"`{each.name}`", each.title, " ".join(each.definition.split()))
        for each in ORACLES.values()
    ]
    return (
        "# Numbers\n\n`{}` is a group of classes: `full`, `rare`, `non_rare` and others. Numbers "
        "are fractions in JSON and Python, and percent on screen.\n\n"
        + _table(("place in the result", "name", "meaning", "better"), numbers)
        + "\n## ΔmAP\n\nEach oracle repairs one error; ΔmAP is the gain in mAP.\n\n"
        + _table(("name", "title", "repair"), repairs)
    )


def protocol_page() -> str:
    """List the choices of every protocol."""
    rows = [(f"`{name}`", each.signature.replace(" | ", "; ")) for name, each in PROTOCOLS.items()]
    return "# Protocols\n\n" + _table(("`--protocol`", "choices"), rows)


def format_page() -> str:
    """Describe the layout of every format."""
    parts = ["# Formats\n"]
    for each in FORMATS.values():
        described = inspect.cleandoc(vars(type(each)).get("__doc__") or "")
        if "\n\n" not in described:  # a module with one format describes its layout
            described = inspect.getdoc(sys.modules[type(each).__module__]) or ""
        described = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", described).replace("``", "`")
        parts.append(
            f"## {each.name}\n\n{each.title[:1].upper()}{each.title[1:]}. "
            f"Holds {' or '.join(each.kinds)}.\n\n{described}\n"
        )
    return "\n".join(parts)


def figure_page() -> str:
    """Show every figure with its command."""
    parts = ["# Figures\n"]
    for kinds, command in (
        (FIGURES, "diaghoi figures study.toml --out figures --only {}"),
        (ROBUSTNESS_FIGURES, "diaghoi robustness robust.toml --out figures"),
    ):
        for kind in kinds.values():
            parts.append(f"## {kind.name}\n\n{kind.title}.\n")
            for path in PICTURES.glob(f"{kind.name}.*"):
                parts.append(f"![{kind.title}](../pictures/{path.name})\n")
            parts.append(f"```console\n$ {command.format(kind.name)}\n```\n")
    return "\n".join(parts)


def corruption_page() -> str:
    """List the corruptions by group."""
    rows = [
        (GROUPS[each.group].label, f"`{name}`", each.abbreviation, each.label)
        for name, each in CORRUPTIONS.items()
    ]
    return "# Corruptions\n\n" + _table(("group", "name", "short", "title"), rows)


PAGES: dict[str, Callable[[], str]] = {
    "commands": command_page,
    "numbers": number_page,
    "protocols": protocol_page,
    "formats": format_page,
    "figures": figure_page,
    "corruptions": corruption_page,
}
"""Functions that write the pages, by file name."""


def write_pages(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(f"{page().strip()}\n", encoding="utf-8")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = [head, ("---",) * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def _show_rare_options(command: Any) -> None:
    """Show the options of a command and of its subcommands that only --help-all lists."""
    for parameter in command.params:
        parameter.hidden = False
    for part in getattr(command, "commands", {}).values():
        _show_rare_options(part)
