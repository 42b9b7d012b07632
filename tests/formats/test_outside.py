"""Formats that other packages register."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats import recognise
from diaghoi.formats.reading import FORMATS, known_formats

PAGE = Path(__file__).parents[2] / "docs" / "how_to" / "new_format.md"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of the page, laid out as an installer does."""
    folder = tmp_path_factory.mktemp("site")
    blocks = dict(re.findall(r":caption: (\S+)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    (folder / "rows_format.py").write_text(blocks["rows_format.py"])
    (named,) = re.findall(r'^(rows) = "(.*)"$', blocks["pyproject.toml"], re.MULTILINE)
    info = folder / "rows_format-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rows-format\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[diaghoi.formats]\n{named[0]} = {named[1]}\n")
    return folder


def run(site: Path, *words: object) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from diaghoi.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, str(site), *map(str, words)],
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )


@pytest.mark.slow
def test_a_registered_format_is_recognised_and_read(installed: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(
        json.dumps({"rows": [["b.jpg", 156, 0.5, *range(8)], ["a.jpg", 1, 1, *range(8)]]})
    )
    done = run(installed, "inspect", file, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["format"], found["kind"], found["facts"]["images"]) == ("rows", "predictions", 2)
    file.write_text('{"rows": [["b.jpg", 156]]}')
    done = run(installed, "inspect", file)
    assert done.returncode == 2
    assert done.stderr.startswith("diaghoi: error: ")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Return a function that installs what is in a folder for this process."""

    def install(site: Path) -> None:
        monkeypatch.syspath_prepend(site)
        known_formats.cache_clear()

    yield install
    known_formats.cache_clear()


def test_a_registered_format_is_tried_after_the_others(installed: Path, here) -> None:
    here(installed)
    assert list(known_formats()) == [*FORMATS, "rows"]
    assert known_formats()["rows"].name == "rows"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("rows = no_such_module:FORMAT", "cannot be loaded (ModuleNotFoundError: "),
        ("rows = json:dumps", "is a function; fix or uninstall rows-format"),
        ("x = diaghoi.formats.ten_numbers:SwigHoi", "has the name of another format"),
    ],
)
def test_what_cannot_be_used_is_named(entry: str, problem: str, here, tmp_path: Path) -> None:
    info = tmp_path / "rows_format-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rows-format\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[diaghoi.formats]\n{entry}\n")
    (tmp_path / "x.json").write_text('{"neither": 1}')
    here(tmp_path)
    with pytest.raises(InputError) as refusal:
        recognise(tmp_path / "x.json")
    assert "of rows-format " in str(refusal.value)
    assert problem in str(refusal.value)
