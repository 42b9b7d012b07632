"""Resuming an output folder of corrupted pictures, without mixing seeds or strengths."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from diaghoi._version import __version__
from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError
from diaghoi.formats.output import replacing
from diaghoi.robustness.corruptions.strengths import strengths_digest

RECORD = "corruptions.json"
NEEDED = frozenset({"seed", "strengths"})
LIBRARIES = ("numpy", "opencv-python-headless", "opencv-python", "pillow")


def claim(out: Path, seed: int, folders: Sequence[Path]) -> list[str]:
    """Record how the pictures of an output folder are made, or check that the record matches.

    Parameters
    ----------
    out : Path
        The output folder; it is made where it does not exist.
    seed : int
        Of the run.
    folders : sequence of Path
        Where pictures will be written.

    Returns
    -------
    list of str
        Notes on differences that do no harm.

    Raises
    ------
    InputError
        If the folder was made with another seed or other strengths, holds pictures of unknown
        origin, or cannot be written.
    """
    record: dict[str, Any] = {
        "seed": seed,
        "strengths": strengths_digest(),
        "diaghoi": __version__,
        "libraries": _libraries(),
    }
    file = out / RECORD
    if file.is_file():
        return _compared(file, _loaded(file), record)
    for folder in folders:
        if folder.exists():
            raise InputError(
                f"{folder}: exists, and {file} does not say how it was made; give another folder"
            )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be made: {error.strerror}; give another folder") from error
    with replacing(file) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return []


def _compared(file: Path, found: dict[str, Any], record: dict[str, Any]) -> list[str]:
    if found.get("seed") != record["seed"]:
        raise InputError(
            f"{file.parent}: was made with seed {found.get('seed')}; give --seed "
            f"{found.get('seed')}, or another folder"
        )
    if found.get("strengths") != record["strengths"]:
        raise InputError(
            f"{file.parent}: was made with other strengths, by version {found.get('diaghoi')}; "
            "give another folder"
        )
    before, now = found.get("libraries"), record["libraries"]
    if before == now:
        return []
    return [
        f"{file.parent} was begun with {_listed(before)}, and goes on with {_listed(now)}: "
        "pictures made from now on can differ a little"
    ]


def _loaded(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(ordinary(file).read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(
            f"{file}: cannot be read ({error}); remove it together with the pictures beside it"
        ) from None
    if not (isinstance(found, dict) and found.keys() >= NEEDED):
        raise InputError(f"{file}: is not a record of corrupted pictures; give another folder")
    return found


def _libraries() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # only one of the two builds of OpenCV is installed
    return found


def _listed(libraries: Any) -> str:
    if not isinstance(libraries, dict):
        return "unknown libraries"
    return ", ".join(f"{name} {number}" for name, number in libraries.items())
