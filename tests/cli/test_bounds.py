"""Counts without sense, on the command line and in TOML files: a message at once, and no work."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.declared import commands

from diaghoi.cli.commands import app

COUNTS = [(name, each.words[0]) for name, given in commands(app) for each in given if each.is_count]
HUGE = 99999999999999999999


@pytest.mark.parametrize(("name", "option"), COUNTS, ids=map(" ".join, COUNTS))
def test_every_count_has_bounds(run, name: str, option: str) -> None:
    if option == "--setting":
        pytest.skip("belongs to a run, whose tests refuse others than 1, 2 and 3")
    done = run(*name.split(), option, HUGE)
    assert (done.code, done.out) == (2, "")
    assert f"Invalid value for '{option}'" in done.err  # versions of Typer go on differently


@pytest.mark.parametrize("count", [100_000_000, 1_000_001])
@pytest.mark.parametrize("words", ["report --bootstrap", "compare --resamples"])
def test_resamples_that_would_take_days(run, words: str, count: int) -> None:
    done = run(*words.split(), count)
    assert done.code == 2
    assert "1000000" in done.err


@pytest.mark.parametrize("command", ["figures", "robustness"])
def test_a_study_of_very_many_models(run, command: str) -> None:
    Path("study.toml").write_text("[[model]]\nlabel = 'a'\n" * 1001)
    done = run(command, "study.toml", *(["--out", "new"] if command == "figures" else []))
    assert done.code == 2
    assert "study.toml: model: there are 1,001 models; give at most 1,000" in done.err


def test_a_list_of_very_many_studies(run) -> None:
    Path("all.toml").write_text("studies = [" + "'a.toml', " * 1001 + "]")
    done = run("figures", "all.toml", "--out", "new")
    assert done.code == 2
    assert "all.toml: studies: lists 1,001 studies; give at most 1,000" in done.err


def test_a_file_that_nobody_wrote_by_hand(run) -> None:
    Path("study.toml").write_text("[[model]]\nlabel = 'a'\n" * 200_000)
    done = run("figures", "study.toml", "--out", "new")
    assert done.code == 2
    assert "study.toml: has 4,400,000 bytes, and a TOML file may have at most 4,194,304" in done.err
    # A large prediction file in the place of a study is not a study that is too long.
    Path("preds.npz").write_bytes(b"PK\x03\x04\xff" * 1_000_000)
    done = run("figures", "preds.npz", "--out", "new")
    assert "preds.npz: not TOML, because it is not UTF-8 text; give a .toml file" in done.err
