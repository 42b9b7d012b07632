"""Running groups of commands, and comparing what they wrote with what is kept.

Numbers and words are kept apart. Numbers, with the names of classes and files and the order of
keys, may change in their last digits alone. Words are titles, captions, notes and sentences, which
may change freely: ``--write words`` renews them without touching a number.
"""

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

from diaghoi.cli import analyses
from golden import conformance, demo
from golden.groups import Group

GROUPS: dict[str, Group] = demo.GROUPS | conformance.GROUPS
KEPT = Path(__file__).parent / "kept"
PARTS = ("numbers", "words")
SHARED = (Path(__file__).resolve().parents[3] / "shared").resolve()
# The only field that may differ: which version of the package wrote a result.
_VERSION = re.compile(r'("diaghoi": )"\d[^"]*"')
# Processors differ in the last digits: of exp, log and sums of products, for example.
_DIGITS = 1e-12
_FLOAT = re.compile(r"-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)")
# Fields whose texts are for people alone, at any depth.
WORDS = frozenset(
    (
        *("title", "caption", "notes", "note", "caveats", "warnings", "sentence", "sentences"),
        *("metric_title", "setting", "group", "signature", "scale", "how", "compared_with"),
        *("binning", "soft_ap", "sigma", "threshold"),
    )
)
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
        patch.setattr(analyses, "LEAST_RESAMPLES", 2)
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


def split(results: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split the texts of results into those of numbers and those of words, both as JSON."""
    numbers, words = {}, {}
    for file, text in results.items():
        texts: dict[str, Any] = {}
        numbers[file] = _dumped(_without_words("", json.loads(text), texts))
        words[file] = _dumped(texts)
    return numbers, words


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _without_words(path: str, value: Any, words: dict[str, Any]) -> Any:
    """Return a value without its words, which are added to ``words`` by their place."""
    if isinstance(value, list):
        return [_without_words(f"{path}[{n}]", part, words) for n, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    rest = {}
    for key, part in value.items():
        place = f"{path}.{key}".lstrip(".")
        if key in WORDS and _is_text(part):
            words[place] = part
        else:
            rest[key] = _without_words(place, part, words)
    return rest


def _is_text(value: Any) -> bool:
    """Whether a value holds nothing but texts."""
    if isinstance(value, list):
        return all(map(_is_text, value))
    if isinstance(value, dict):
        return all(map(_is_text, value.values()))
    return isinstance(value, str)


def keep(name: str, results: Mapping[str, str], *, words_alone: bool = False) -> None:
    """Write the numbers and the words of a group into the repository, or its words alone."""
    for part, texts in zip(PARTS, split(results), strict=True):
        if part == "numbers" and words_alone:
            continue
        path = _path(name, part)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(_dumped([file, text]) for file, text in texts.items()) + "\n"
        path.write_bytes(lzma.compress(text.encode(), preset=9))


def kept(name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the numbers and the words that are kept of a group, by file."""
    numbers, words = (_kept(_path(name, part)) for part in PARTS)
    return numbers, words


def _kept(path: Path) -> dict[str, str]:
    # Not splitlines: JSON may hold line separators of Unicode as they are.
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    return dict(json.loads(line) for line in lines if line)


def _path(name: str, part: str) -> Path:
    return KEPT / part / f"{name}.jsonl.xz"


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
    text = _dumped(value)
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
