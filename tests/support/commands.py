"""Running commands in this process."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from diaghoi import cli
from diaghoi.cli.commands import app


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@cache
def built() -> Any:
    """Build the command line once: left to itself, Typer builds it anew for every command."""
    return typer.main.get_command(app)


def call(*words: object) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["diaghoi", *map(str, words)])
        patch.setattr(cli, "app", built())
        with pytest.raises(SystemExit) as left:
            cli.main()
    return int(left.value.code or 0)


def outcome(*words: object) -> Outcome:
    """Run a command without the fixtures of a single test, and return what it leaves."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = call(*words)
    told = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]  # type: ignore[attr-defined]
    return Outcome(code, *told)


@contextmanager
def alone_in(folder: Path) -> Iterator[Path]:
    """Work in a folder, without the data of whoever runs the tests."""
    work = folder / "work"
    work.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        patch.delenv("DIAGHOI_DATA", raising=False)
        patch.setenv("COLUMNS", "80")
        # No certificates: all servers are on loopback, and reading them takes most of a command.
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(work))
        yield work
