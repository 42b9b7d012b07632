"""Streams that are closed or full, and what else the shell may hand to the program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SHELL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


def shell(redirection: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command under a shell that redirects its streams."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "diaghoi"]
        + [str(word) for word in words],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | environment,
        timeout=900,
        check=False,
    )


@SHELL
@pytest.mark.parametrize("redirection", ["2>/dev/full", "<&- >&- 2>&-"])
def test_a_command_does_its_work_without_a_stderr(redirection, data, alone) -> None:
    done = shell(redirection, "convert", data.columnar, alone / "copy.npz")
    assert (done.returncode, done.stderr) == (0, "")
    # A stream that is closed does not end in the file that is opened next.
    assert (alone / "copy.npz").read_bytes()[:2] == b"PK"


@SHELL
def test_an_error_without_a_stderr(data) -> None:
    done = shell("2>&-", "report", "nowhere.pkl", "--annotations", data.annotations)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@SHELL
def test_figures_do_not_depend_on_the_environment(data, alone) -> None:
    """Not on the settings of Matplotlib either, of which one runs LaTeX."""
    words = ("report", data.predictions, "--annotations", data.annotations, "--quiet", "--out")
    Path("matplotlibrc").write_text("text.usetex: True\nlines.linewidth: 9\n")
    for name, environment in (
        ("odd", {"SOURCE_DATE_EPOCH": "abc", "MPLBACKEND": "nonsense", "COLUMNS": "0"}),
        ("plain", {"MATPLOTLIBRC": os.devnull}),
    ):
        done = shell("", *words, alone / f"{name}.svg", **environment)
        assert (done.returncode, done.stderr) == (0, "")
    assert (alone / "odd.svg").read_bytes() == (alone / "plain.svg").read_bytes()


@SHELL
@pytest.mark.parametrize("columns", ["0", "1", "-7", "wide"])
def test_a_terminal_of_no_width(columns, data) -> None:
    words = (data.predictions, "--annotations", data.annotations)
    for command in ("semantic", "report"):
        done = shell("", command, *words, COLUMNS=columns)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)
        assert done.stdout


@SHELL
@pytest.mark.parametrize("megabytes", [60, 120, 200, 300])
def test_a_limit_of_memory_that_imports_exceed(megabytes, data) -> None:
    """Libraries that do not fit fail in ways of their own."""
    limit = ["sh", "-c", f'ulimit -v {megabytes * 1024} && exec "$@"', "sh", sys.executable]
    words = ["-m", "diaghoi", "report", str(data.predictions), "--annotations"]
    done = subprocess.run(
        [*limit, *words, str(data.annotations)],
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    # OpenBLAS ends the process itself, with a line of its own.
    assert done.returncode == 0 or re.fullmatch(".*[mM]emory.*\n", done.stderr)


def test_importing_the_package_imports_no_more() -> None:
    """The program starts at once, and an interrupt finds it ready."""
    code = "import sys, diaghoi.__main__; print(sorted({'numpy', 'typer'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        ("a\x1b[2J", "contains characters that"),
        ("x" * 20_000, "has 20,000 characters; give at"),
        (" ", "is blank; give a name"),
    ],
)
def test_labels_that_no_figure_can_show_are_refused(label, problem, refuse, data) -> None:
    words = (data.predictions, "--annotations", data.annotations)
    for command, option in (("report", "--label"), ("compare", "--labels")):
        assert problem in refuse(command, *words, option, label)


def test_a_file_with_an_odd_name_is_labelled_in_plain_letters(run, data, alone) -> None:
    odd = alone / "a\ufeffb.npz"
    odd.write_bytes(data.columnar.read_bytes())
    truth = ("--annotations", data.annotations)
    assert run("report", odd, *truth, "--out", alone / "r.pdf").code == 0
    assert r"a\ufeffb" in run("compare", odd, data.columnar, *truth).out
