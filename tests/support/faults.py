"""Commands that are ended at any moment, and what they leave behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A file that is being written: see diaghoi.formats.output.replacing.
TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}(\.\w+)?")
LONGEST = 900.0
# How often each command is disturbed, and whether every command is, or a few of each kind.
WANTED = "DIAGHOI_MOMENTS"
MOMENTS = int(os.environ.get(WANTED, 2))

WORDS = ("ride", "hold", "sit", "eat", "wash", "push", "kick", "read")


def rate(a: str, b: str) -> int:
    """What the language model thinks of two words."""
    return (len(a) * len(b) + len(a) + len(b)) % 5


@dataclass(frozen=True)
class Job:
    words: list[str]
    folder: Path

    @property
    def out(self) -> Path:
        return self.folder / "out"


@dataclass(frozen=True)
class Left:
    """What an ended command left: its exit code (minus the signal), stdout and stderr."""

    code: int
    out: str
    err: str


def these(usual: str, *others: str) -> list[str]:
    """Give the jobs of a test: all where many moments are asked for, else the usual ones."""
    return [*usual.split(), *(others if WANTED in os.environ else ())]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "diaghoi", *map(str, words)]


def run(*words: object, folder: Path, **more: Any) -> Left:
    done = subprocess.run(
        command(*words), cwd=folder, capture_output=True, text=True, timeout=LONGEST, **more
    )
    return Left(done.returncode, done.stdout, done.stderr)


def ended(
    words: Sequence[object],
    folder: Path,
    moment: Callable[[subprocess.Popen[str]], None],
    number: int,
) -> Left:
    """Start a command in a process group of its own, and send all of it a signal at a moment."""
    with subprocess.Popen(
        command(*words),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        moment(running)
        if running.poll() is None:
            os.killpg(running.pid, number)
        try:
            out, err = running.communicate(timeout=LONGEST)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    return Left(running.returncode, out, err)


def after(seconds: float) -> Callable[[subprocess.Popen[str]], None]:
    """Return the moment some seconds after the start."""

    def moment(running: subprocess.Popen[str]) -> None:
        stop = time.monotonic() + seconds
        while running.poll() is None and time.monotonic() < stop:
            time.sleep(0.002)

    return moment


def when_written(folder: Path, files: int = 1) -> Callable[[subprocess.Popen[str]], None]:
    """Return the moment in which a further file appears below a folder, finished or not."""
    before = len(everything(folder))

    def moment(running: subprocess.Popen[str]) -> None:
        while running.poll() is None and len(everything(folder)) < before + files:
            time.sleep(0.0005)

    return moment


def when_heeding(running: subprocess.Popen[str]) -> None:
    """Wait until the program heeds signals: Python itself does not while it starts."""
    status = Path(f"/proc/{running.pid}/status")
    bit = 1 << (signal.SIGTERM - 1)
    while running.poll() is None:
        caught = re.search(r"^SigCgt:\s*(\w+)", status.read_text(), re.MULTILINE)
        if caught is not None and int(caught[1], 16) & bit:
            return
        time.sleep(0.002)


def everything(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def finished(folder: Path) -> dict[str, bytes]:
    """Content of the files below a folder, without those that were being written."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in everything(folder)
        if not TEMPORARY.fullmatch(path.name)
    }
