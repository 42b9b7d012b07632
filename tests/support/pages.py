"""The pages of the manual: their blocks of code, and running them as a reader would."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diaghoi.plots import FIGURES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MANUAL = (*sorted(DOCS.glob("*.md")), *sorted((DOCS / "how_to").glob("*.md")))
"""The pages that are written by hand; ``docs/reference.py`` writes the others."""
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *MANUAL)
CLUSTER = "<!-- needs a cluster -->"
"""Stands above blocks that are looked at but not run."""
RUN = ("console", "python", "toml", "json", "text", "diff")  # text without a name is shown, not run
# What Sphinx does with its own blocks shows when the site is built.
BUILT = ("{toctree}", "{include}", "{eval-rst}")
# For other places: the repositories of code bases, and papers.
SHOWN = ("bash", "bibtex")
CITED = ROOT / "CITATION.cff"
# To begin in a clone and an environment of one's own; tests are in one.
OUTSIDE = (
    "cd diaghoi",
    "python3 -m venv .venv",
    ". .venv/bin/activate",
)
# What takes long, and shows the same when there is less of it.
LESS = {
    "demo": ("--size", "20"),
    "--bootstrap": ("--bootstrap", "100"),  # the fewest that are taken
    "--resamples": ("--resamples", "20"),
    "--significance": ("--resamples", "20"),
}
SERVER = re.compile(r"http://localhost:\d+/v1")
# Pages whose tables hold commands that run, each in a cell of its own.
IN_TABLES = ("papers",)
_CELL = re.compile(r"(?<=\|) `(diaghoi [^`|]+)` (?=\|)")
_CHOICES = ("--only", "--column", "single", "double")
_CHOSEN = re.compile(r" --(?:only|column) \w+")
_FENCE = re.compile(r"^(`{3,})(.*)$")
_NAMED = re.compile(r"# ([\w/]+\.\w+)")


@dataclass(frozen=True)
class Block:
    """A block of code of a page; its ``name`` is the file that it is, if any."""

    page: Path
    line: int
    language: str
    name: str
    text: str
    runs: bool

    @property
    def where(self) -> str:
        """For messages."""
        return f"{self.page.name}:{self.line}"

    @property
    def commands(self) -> Iterator[str]:
        for line in self.text.splitlines():
            assert line.startswith("$ "), f"{self.where}: no command: {line}"
            yield line.removeprefix("$ ").partition(" #")[0].strip()


def blocks(page: Path) -> Iterator[Block]:
    """Find the blocks of a page, in order; a command in a cell of a table is one of its own."""
    lines = page.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        if opened is None:
            number += 1
            if page.stem in IN_TABLES:
                for command in _CELL.findall(lines[number - 1]):
                    yield Block(page, number, "console", "", f"$ {command}\n", runs=True)
            continue
        first = number
        end = next(n for n in range(first + 1, len(lines)) if lines[n] == opened[1])
        language, inside = opened[2].strip(), lines[first + 1 : end]
        name = ""
        if language.startswith("{code-block}"):
            language = language.removeprefix("{code-block}").strip()
            if inside[0].startswith(":caption:"):
                name = inside.pop(0).removeprefix(":caption:").strip()
        elif language in ("python", "toml") and (named := _NAMED.fullmatch(inside[0])):
            name = named[1]
        text = "\n".join(inside) + "\n"
        runs = language not in SHOWN and not (first and lines[first - 1] == CLUSTER)
        yield Block(page, first + 1, language, name, text, runs)
        number = end + 1


def patched(diff: str, folder: Path) -> None:
    """Apply a diff by its lines: the places are found by what stands there, not by numbers."""
    path: Path | None = None
    old: list[str] = []
    new: list[str] = []

    def apply() -> None:
        if path is not None and old:
            text = path.read_text(encoding="utf-8")
            assert text.count("\n".join(old)) == 1, f"{path}: does not hold\n" + "\n".join(old)
            path.write_text(text.replace("\n".join(old), "\n".join(new)), encoding="utf-8")
        old.clear()
        new.clear()

    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            path = folder / line.removeprefix("+++ b/")
        elif line.startswith("@@"):
            apply()
        elif not line.startswith("---"):
            if line[:1] in (" ", "-"):
                old.append(line[1:])
            if line[:1] in (" ", "+"):
                new.append(line[1:])
    apply()


@dataclass
class Reader:
    """Someone who does what a page says, from the first block to the last.

    ``server`` stands for all models; ``drawn`` counts the figures of a study, by their command.
    """

    diaghoi: Callable[..., Any]
    server: str
    space: dict[str, Any]
    drawn: Counter[str] = field(default_factory=Counter)

    def read(self, block: Block) -> None:
        if block.language == "console":
            for command in block.commands:
                self.run(command, block)
        elif block.name:
            Path(block.name).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.text, block.where, "exec"), self.space)

    def run(self, command: str, block: Block) -> None:
        """Run a command as if it were typed."""
        words = shlex.split(SERVER.sub(self.server, command))
        if words[:2] == ["diaghoi", "figures"]:
            study = _CHOSEN.sub("", command)
            # Who has drawn all figures and one alone need not draw each of the others once more.
            if _CHOSEN.search(command) and self.drawn[study] > 1:
                assert not (set(words) - set(study.split())) - {*FIGURES, *_CHOICES}, command
                return
            self.drawn[study] += 1
        if words[0] == "diaghoi":
            less = [more for word, given in LESS.items() if word in words for more in given]
            done = self.diaghoi(*words[1:], *less)
            assert done.code == 0, f"{block.where}: {command}\n{done.err}"
        elif words[0] == "python":
            outcome = subprocess.run(
                [sys.executable, *words[1:]],
                capture_output=True,
                encoding="utf-8",
                timeout=900,
                check=False,
            )
            assert outcome.returncode == 0, f"{block.where}: {outcome.stdout}{outcome.stderr}"
        else:
            assert words[:2] == ["pip", "install"] or words[0] == "make" or command in OUTSIDE, (
                f"{block.where}: nothing here runs {words[0]}"
            )
