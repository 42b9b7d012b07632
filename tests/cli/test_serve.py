"""``--open``: a program that serves a page until it is told to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end(data, alone: Path, number: signal.Signals) -> None:
    (alone / "study.toml").write_text(
        f"""
        annotations = "{data.annotations}"
        [[model]]
        label = "one"
        file = "{data.predictions}"
        [[model]]
        label = "two"
        file = "{data.columnar}"
        """
    )
    words = [sys.executable, "-m", "diaghoi", "compare", "study.toml", "--open"]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests in the background may run with signals ignored, which it would keep ignoring.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as program:
        assert program.stdout is not None
        lines = iter(program.stdout.readline, "")
        address = next(line.strip() for line in lines if line.startswith("http"))
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=60) as answer:
            assert "one and two on HICO-DET" in answer.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}picture/0", timeout=60)
        program.send_signal(number)
        out, err = program.communicate(timeout=60)
    assert program.returncode == 0
    assert out == ""
    assert "Ctrl-C stops the server" in err
    assert "Traceback" not in err
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=60)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.pkl",), "nothing.pkl: No such file or directory; check the path"),
        (("--images", "no"), "no: no such folder; give the folder with the pictures"),
        (("--protocol", "own"), "protocol 'own'"),
        (("--port", "1"), "--port 1: cannot be used (Permission denied); give another"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_served(refuse, data, words, message) -> None:
    if words[0] == "--port" and os.geteuid() == 0:
        pytest.skip("root may listen on any port")
    files = words if not words[0].startswith("-") else (data.predictions, *words)
    for command in ("report", "compare"):
        assert message in refuse(command, *files, "--annotations", data.annotations, "--open")


def test_what_is_compared_by_meaning_is_refused(refuse, alone: Path) -> None:
    keys = ("soft_map", "mf1", "measure", "similarity", "class_set")
    (alone / "s.json").write_text("{" + ", ".join(f'"{key}": {{}}' for key in keys) + "}")
    assert "--open: applies to mAP, but the models are compared by meaning" in refuse(
        "compare", "s.json", "--open"
    )


def test_studies_on_several_data_sets_are_refused(refuse, alone: Path) -> None:
    for name in ("a", "b"):
        (alone / f"{name}.toml").write_text('[[model]]\nlabel = "m"\nfile = "m.pkl"\n')
    (alone / "all.toml").write_text('studies = ["a.toml", "b.toml"]\n')
    assert "all.toml: lists studies on several data sets; give one" in refuse(
        "compare", "all.toml", "--open"
    )
