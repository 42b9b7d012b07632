"""Running groups of commands, and comparing what they wrote with what is kept."""

from __future__ import annotations

import json
import lzma
import math
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from support.commands import alone_in, call

from diaghoi.cli import options
from golden import conformance, demo
from golden.groups import Group

GROUPS: dict[str, Group] = demo.GROUPS | conformance.GROUPS
KEPT = Path(__file__).parent / "kept"
SHARED = (Path(__file__).resolve().parents[3] / "shared").resolve()
# The only field that may differ: which version of the package wrote a result.
_VERSION = re.compile(r'("diaghoi": )"\d[^"]*"')
# Processors differ in the last digits: of exp, log and sums of products, for example.
_DIGITS = 1e-12
_FLOAT = re.compile(r"-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)")
_SHOWN = 10
_ABSENT = "(absent)"


def run(name: str) -> dict[str, str]:
    """Run a group in an empty folder; return the texts of its results by file name."""
    group = GROUPS[name]
    with (
        tempfile.TemporaryDirectory() as temporary,
        alone_in(Path(temporary)) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        # A few resamples keep the digits as well as many, which users are asked for.
        patch.setattr(options, "LEAST_RESAMPLES", 2)
        if group.shared:
            for part in ("conformance", "data"):
                (folder / part).symlink_to(SHARED / part)
        for file, text in group.files.items():
            (folder / file).write_text(text, encoding="utf-8")
        for command in group.before:
            _diaghoi(command)
        for result, command in group.results.items():
            _diaghoi(f"{command} --json {result}.json --quiet")
        return {
            file: _VERSION.sub(r'\1"-"', (folder / file).read_text(encoding="utf-8"))
            for file in _written(folder)
            if file not in group.files
        }


def keep(name: str, results: Mapping[str, str]) -> None:
    """Write the results of a group into the repository."""
    KEPT.mkdir(exist_ok=True)
    lines = [json.dumps([file, text], ensure_ascii=False) for file, text in results.items()]
    text = "\n".join(lines) + "\n"
    (KEPT / f"{name}.jsonl.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def kept(name: str) -> dict[str, str]:
    """Return the results that are kept of a group."""
    text = lzma.decompress((KEPT / f"{name}.jsonl.xz").read_bytes()).decode()
    # Not splitlines: JSON may hold line separators of Unicode as they are.
    return dict(json.loads(line) for line in text.split("\n") if line)


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Say where results differ: for each file the first fields, with both values."""
    lines = []
    for file in sorted(expected.keys() | found.keys()):
        if file not in found:
            lines.append(f"{file}: is no longer written")
        elif file not in expected:
            lines.append(f"{file}: is written, but nothing is kept to compare with")
        elif not _alike(expected[file], found[file]):
            lines += [f"{file}: {line}" for line in _of_one(expected[file], found[file])]
    return lines


def _alike(expected: str, found: str) -> bool:
    """Whether texts are the same but for the last digits of numbers."""
    numbers = [list(map(float, _FLOAT.findall(text))) for text in (expected, found)]
    return _FLOAT.split(expected) == _FLOAT.split(found) and all(map(_close, *numbers))


def _close(expected: float, found: float) -> bool:
    return math.isclose(expected, found, rel_tol=_DIGITS)


def _of_one(expected: str, found: str) -> list[str]:
    fields = list(_fields("", json.loads(expected), json.loads(found)))
    if not fields:  # other keys' order, or the same number written differently
        rows = zip_longest(expected.split("\n"), found.split("\n"), fillvalue=_ABSENT)
        fields = [
            f"line {number}: expected {one}, found {other}"
            for number, (one, other) in enumerate(rows, 1)
            if one != other
        ]
    left = len(fields) - _SHOWN
    return fields[:_SHOWN] + ([f"and {left} more"] if left > 0 else [])


def _fields(path: str, expected: Any, found: Any) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in expected | found:
            inner = f"{path}.{key}".lstrip(".")
            yield from _fields(inner, expected.get(key, _ABSENT), found.get(key, _ABSENT))
    elif isinstance(expected, list) and isinstance(found, list):
        for place, (one, other) in enumerate(zip_longest(expected, found, fillvalue=_ABSENT)):
            yield from _fields(f"{path}[{place}]", one, other)
    elif isinstance(expected, float) and isinstance(found, float) and _close(expected, found):
        return
    elif (type(expected), expected) != (type(found), found):
        yield f"{path}: expected {_short(expected)}, found {_short(found)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _diaghoi(command: str) -> None:
    code = call(*shlex.split(command))
    if code:
        raise RuntimeError(f"diaghoi {command}: ended with {code}")


def _written(folder: Path) -> list[str]:
    """List the JSON files below a folder, without those of caches and behind links."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "cache"]
        inside = Path(place).relative_to(folder)
        found += [(inside / name).as_posix() for name in files if name.endswith(".json")]
    return sorted(found)
