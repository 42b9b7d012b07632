"""Finished work of sweeps, kept by what it was made from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, TypeVar

from diaghoi._version import __version__
from diaghoi.data.files import ordinary
from diaghoi.formats.locations import content_hash, is_remote, stamp
from diaghoi.formats.output import replacing

# Of what is kept; another one makes everything anew.
LAYOUT = 2
Kept = TypeVar("Kept", dict[str, Any], list[Any])


class Store:
    """A folder of finished work; without one nothing is kept.

    Results are found by the content of what they were made from, not by names or dates. Files are
    read for that once: their hash is kept with size and time of writing.

    Parameters
    ----------
    folder : pathlib.Path or None
        Made where it is missing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._hashes: dict[str, str] = {}
        for name in ("results", "hashes"):
            if folder is not None:
                (folder / name).mkdir(parents=True, exist_ok=True)

    def key(self, *made_from: Any) -> str:
        """Return the name of what is made from some values, by this version of the package."""
        identity = json.dumps([LAYOUT, __version__, *made_from], sort_keys=True)
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()

    def hash_of(self, path: str | None) -> str:
        """Hash the content of a file; empty for None, and where nothing is kept."""
        if self.folder is None or path is None:
            return ""
        if path not in self._hashes:
            self._hashes[path] = self._hash(self.folder, path)
        return self._hashes[path]

    def get(self, key: str, kind: type[Kept]) -> Kept | None:
        """Return finished work of a kind; None where there is none, or it is damaged or empty."""
        found = None if self.folder is None else _read(self.folder / "results" / f"{key}.json")
        return found if isinstance(found, kind) and found else None

    def put(self, key: str, value: Any) -> None:
        """Keep finished work; it is there as a whole or not at all.

        Raises
        ------
        InputError
            Where the folder cannot be written to.
        """
        if self.folder is not None:
            _write(self.folder / "results" / f"{key}.json", value)

    def _hash(self, folder: Path, path: str) -> str:
        path = path if is_remote(path) else str(Path(path).absolute())
        name = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        memo, now = folder / "hashes" / f"{name}.json", stamp(path)
        known = _read(memo)
        if isinstance(known, dict) and (known.get("path"), known.get("stamp")) == (path, now):
            found = known.get("sha256")
            if isinstance(found, str):
                return found
        found = content_hash(path)
        _write(memo, {"path": path, "stamp": now, "sha256": found})
        return found


def _read(path: Path) -> Any:
    """Read what was kept; None where it is not there, or damaged."""
    try:
        return json.loads(ordinary(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _write(path: Path, value: Any) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, allow_nan=False), encoding="ascii")
