"""``--memory``: what is refused before it is read, and what allows it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.declared import commands

from diaghoi.cli.commands import app
from diaghoi.data.memory import MEMORY_VARIABLE

ROWS = 200_000


@pytest.fixture
def packed(data) -> Path:
    """A small file whose rows are all the same, and all of one image."""
    with np.load(data.columnar) as columns:
        more = {
            name: np.zeros((ROWS, *values.shape[1:]), values.dtype)
            if name.startswith(("box", "pair", "triplet"))
            else values
            for name, values in columns.items()
        }
    np.savez_compressed("packed.npz", **more)
    assert Path("packed.npz").stat().st_size < 100_000
    return Path("packed.npz")


def test_compressed_rows_are_counted_before_they_are_read(refuse, data, packed: Path) -> None:
    given = ["--annotations", data.annotations, "--quiet", "--force", "--json", "new.json"]
    told = refuse("report", packed, *given, "--memory", 10)
    assert "packed.npz: 200,000 rows, which are compressed: about " in told
    assert " MB of memory, more than the 10 MB allowed; give --memory " in told
    assert not Path("new.json").exists()


def test_an_image_with_very_many_rows_is_named(refuse, run, data, packed: Path) -> None:
    given = ["--annotations", data.annotations, "--quiet", "--force", "--json", "new.json"]
    told = refuse("report", packed, *given, "--memory", 40)
    assert "image demo_000001.jpg: 600," in told
    assert "triplets, pairs and boxes: about 61 MB of memory" in told
    assert not Path("new.json").exists()
    assert run("report", packed, *given, "--memory", 61).code == 0
    assert MEMORY_VARIABLE not in os.environ  # as before


def test_the_environment_may_say_it(run, data, packed: Path, monkeypatch) -> None:
    given = ["--annotations", data.annotations, "--quiet", "--force"]
    monkeypatch.setenv(MEMORY_VARIABLE, "10")
    assert "more than the 10 MB" in run("report", packed, *given).err
    monkeypatch.setenv(MEMORY_VARIABLE, "ten")
    assert "DIAGHOI_MEMORY=ten: expected megabytes" in run("report", packed, *given).err


def test_every_command_that_reads_such_files_has_the_option() -> None:
    read = {"predictions", "annotations", "study"}
    lacking = [
        name
        for name, given in commands(app)
        if read & {each.name for each in given} and "memory" not in {each.name for each in given}
    ]
    assert lacking == []
