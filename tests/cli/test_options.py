"""Options as fields of dataclasses: what Typer is shown, and what a command is handed."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
import typer
from support.declared import commands
from typer.testing import CliRunner

from diaghoi import InputError
from diaghoi.cli.commands import app
from diaghoi.cli.options import Quiet, argument, option, options_class, with_options, without


@options_class
class Block:
    width: float = option(0.5, min=0, max=1, panel="Layout", help="Width of a column.")
    top: int = option(3, help="Rows at the top.")

    def __post_init__(self) -> None:
        if self.width == 0:
            raise InputError("--width 0: give more")


@options_class
class Shared:
    note: str | None = option(None, metavar="TEXT", help="A note.")
    quiet: Quiet = False


@options_class
class Drawing(Shared):
    file: Path = argument(help="What is drawn.")
    out: Path = option(help="Where to.")
    two_rows: bool = option(False, help="Draw two rows.")
    color: bool = option(True, "--color/--grey", help="How it is drawn.")
    label: list[str] | None = option(None, "--name", "-n", help="A name; repeatable.")
    block: Block = without(Block, "top")
    top: int = option(7, help="Images.")


@pytest.fixture
def draw_with() -> Any:
    handed: list[Drawing] = []
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.command()
    @with_options
    def draw(choices: Drawing) -> None:
        handed.append(choices)

    def run(*words: str) -> Any:
        done = CliRunner().invoke(app, list(words))
        return handed.pop() if handed else done

    return run


def test_defaults(draw_with) -> None:
    drawn = draw_with("a.png", "--out", "b.png")
    assert (drawn.file, drawn.out, drawn.top) == (Path("a.png"), Path("b.png"), 7)
    assert (drawn.two_rows, drawn.color, drawn.label) == (False, True, None)
    assert (drawn.note, drawn.quiet, drawn.block.width, drawn.block.top) == (None, False, 0.5, 3)


def test_options_stay_as_they_were_given(draw_with) -> None:
    with pytest.raises(FrozenInstanceError):
        draw_with("a.png", "--out", "b.png").top = 8


def test_all_values(draw_with) -> None:
    given = ["--two-rows", "--grey", "-n", "a", "--name", "b", "--width", "1", "--top", "9", "-q"]
    drawn = draw_with("a.png", "--out", "b.png", *given, "--note", "c")
    assert (drawn.two_rows, drawn.color, drawn.label) == (True, False, ["a", "b"])
    assert (drawn.note, drawn.quiet, drawn.top) == ("c", True, 9)
    assert (drawn.block.width, drawn.block.top) == (
        1,
        3,
    )  # left out there: the option is the command's own


def test_help_is_in_the_order_of_the_fields_and_ends_with_those_of_the_base(draw_with) -> None:
    printed = draw_with("--help").output
    words = ["--out", "--two-rows", "--color", "--name", "--width", "--top", "--note", "--quiet"]
    places = [printed.index(f" {word}") for word in words]
    assert places == sorted(places)
    assert "--no-two-rows" not in printed
    assert "Rows at the top" not in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.png"], "Missing option '--out'"),
        (["a.png", "--out", "b.png", "--width", "2"], "Invalid value for '--width'"),
    ],
)
def test_the_parser_refuses(draw_with, words: list[str], message: str) -> None:
    done = draw_with(*words)
    assert done.exit_code == 2
    assert message in done.output


def test_a_dataclass_refuses(draw_with) -> None:
    assert "width` 0: give more" in str(
        draw_with("a.png", "--out", "b.png", "--width", "0").exception
    )


COMMANDS = dict(commands(app))
# Words that take something of their own in some commands.
OWN = {
    "--pairs": "a comparison takes one file for each model",
    "--scale": "ratings of people are whole numbers",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_short_and_has_all_when_asked_for(run, name: str) -> None:
    full, usual = (run(*name.split(), word).out for word in ("--help-all", "--help"))
    assert len(usual.splitlines()) <= (60 if name in ("report", "compare") else 70)
    words = [word.partition("/")[0] for each in COMMANDS[name] for word in each.words]
    assert [word for word in words if not re.search(rf" {word}\b", full)] == []
    assert [word for word in words if not re.search(rf" {word}\b", usual)]
    assert len(full.splitlines()) > len(usual.splitlines())


def test_a_word_takes_the_same_in_all_commands() -> None:
    kinds: dict[str, dict[Any, list[str]]] = {}
    for name, given in COMMANDS.items():
        for each in given:
            for word in each.words:
                # One or several, needed or not.
                plain = re.sub(r"list\[(.*)\]|<class '(.*)'>", r"\1\2", str(each.kind))
                kinds.setdefault(word, {}).setdefault(plain.split(" | ")[0], []).append(name)
    assert {word: uses for word, uses in kinds.items() if len(uses) > 1 and word not in OWN} == {}
