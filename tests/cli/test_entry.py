"""The essential paths through the program itself."""

from __future__ import annotations

import runpy
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import call

import diaghoi


def test_help_lists_the_commands_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, diaghoi.cli\n"
        "for command in ((), ('report',), ('figures',)):\n"
        "    sys.argv = ['diaghoi', *command, '--help']\n"
        "    try: diaghoi.cli.main()\n"
        "    except SystemExit as left: assert not left.code\n"
        "heavy = {'matplotlib', 'pycocotools', 'pandas', 'scipy', 'seaborn'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=True
    )
    assert done.stderr == ""
    for command in ("report", "inspect", "convert", "demo", "choice"):
        assert f"  {command}" in done.stdout
    assert "--only" in done.stdout
    assert done.stdout.endswith("HEAVY []\n")


@pytest.mark.slow
def test_the_installed_script() -> None:
    script = shutil.which("diaghoi", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.skip("diaghoi is not installed as a script in this environment")
    done = subprocess.run(
        [script, "--version"], capture_output=True, text=True, timeout=900, check=True
    )
    assert done.stdout == f"{diaghoi.__version__}\n"


@pytest.mark.slow
def test_report_as_a_program(program, data, tmp_path: Path) -> None:
    done = program("report", data.predictions, "--annotations", data.annotations, "--out", tmp_path)
    assert done.code == 0
    assert done.out.startswith("preds · HICO-DET · ")
    assert done.err.startswith(f"1 note: --detail\nWrote {tmp_path}/preds.")
    assert max(map(len, done.out.splitlines())) <= 80
    assert {path.name for path in tmp_path.iterdir()} >= {"preds.txt", "preds.json", "preds.pdf"}


def test_an_error_as_a_program(program, data) -> None:
    done = program("report", "nowhere.pkl", "--annotations", data.annotations)
    assert (done.code, done.out) == (2, "")
    assert done.err == ("diaghoi: error: nowhere.pkl: No such file or directory; check the path\n")


@pytest.mark.slow
def test_a_log_file_without_unicode(program, data) -> None:
    """Windows and bare containers write logs in encodings that have no Greek letters."""
    words = ("report", data.predictions, "--annotations", data.annotations, "--also", "causes")
    for detail in ((), ("--detail",)):
        plain = program(*words, *detail, PYTHONIOENCODING="ascii")
        assert plain.code == 0
        assert plain.out.isascii()
        assert "dmAP" in plain.out
        assert (">=" in plain.out) == bool(detail)
        assert "?" not in plain.out


@pytest.mark.slow
def test_a_pipe_that_closes_early(data) -> None:
    """`diaghoi report ... | head -1` says nothing more."""
    command = [sys.executable, "-m", "diaghoi", "report", str(data.predictions)]
    with subprocess.Popen(
        [*command, "--annotations", str(data.annotations)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert "Traceback" not in running.stderr.read()


def test_a_stdout_without_room_is_one_line(capsys, monkeypatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert call("--version") == 2
        # What could not be written is thrown away, or the end of the program would fail.
        full.flush()
    assert capsys.readouterr().err == "diaghoi: error: stdout: No space left on device\n"


def test_without_a_stdout_a_command_works(capsys, data, monkeypatch, alone: Path) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert call("convert", data.columnar, alone / "copy.npz") == 0
    assert (alone / "copy.npz").is_file()
    assert "error" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_ends_a_command_in_one_line(number, code, word, run, data, monkeypatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    before = signal.signal(number, signal.default_int_handler)
    monkeypatch.setattr(
        "diaghoi.diagnosis.diagnose.diagnose", lambda *_, **__: signal.raise_signal(number)
    )
    try:
        done = run("report", data.predictions, "--annotations", data.annotations)
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert (done.code, done.out) == (code, "")
    assert done.err.endswith(f"diaghoi: {word}; nothing is half-written\n")


def test_the_package_runs_as_a_module(capsys, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["diaghoi", "--version"])
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as left:
            runpy.run_module("diaghoi", run_name="__main__")
    finally:
        signal.signal(signal.SIGINT, before)
    assert left.value.code == 0
    assert capsys.readouterr().out == f"{diaghoi.__version__}\n"


def test_letters_that_an_encoding_lacks(run) -> None:
    run("--version")  # which makes the handler known
    assert "Δ−–€".encode("ascii", "diaghoi-plain") == b"d--?"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("ascii", "diaghoi-plain")


@pytest.mark.slow
def test_a_source_tree_runs_as_it_is(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    for name in ("diaghoi", "oracles", "plots"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    # Without what an editable install adds to find the package.
    code = (
        "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]\n"
        "import diaghoi.plots; print(diaghoi.plots.__file__, list(diaghoi.ORACLES)[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path / 'plots' / '__init__.py'} human_box\n"
