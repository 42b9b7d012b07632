"""Locate prediction files on this machine or at any address that fsspec can read."""

from __future__ import annotations

import hashlib
import importlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path
from typing import Any

from diaghoi.exceptions import InputError

CHUNK = 1 << 20


def is_remote(path: str) -> bool:
    """Check whether a path is an fsspec address, like ``s3://bucket/file.npz``."""
    return "://" in path


def below(folder: str, name: str) -> str:
    """Resolve a path in a study against the folder of the study."""
    return name if is_remote(name) else str(Path(folder, name))


def exists(path: str) -> bool:
    """Check whether a file or a folder of files exists.

    Raises
    ------
    InputError
        If fsspec is missing, or cannot reach the path.
    """
    if not is_remote(path):
        return Path(path).exists()
    with _reaching(path) as (system, inner):
        return bool(system.exists(inner))


def matching(pattern: str) -> list[str]:
    """List the files that match a pattern like ``shards/*.npz``, local or at an address.

    Returns
    -------
    list of str
        Sorted by name; empty if there are none.

    Raises
    ------
    InputError
        If fsspec is missing, or cannot reach the address.
    """
    if not is_remote(pattern):
        # The errors that Path.glob raises for some patterns depend on Python's version.
        return [pattern] if Path(pattern).exists() else sorted(glob(pattern))  # noqa: PTH207
    with _reaching(pattern) as (system, inner):
        return [system.unstrip_protocol(name) for name in sorted(system.glob(inner))]


@contextmanager
def fetched(path: str) -> Iterator[Path]:
    """Provide a local file; a remote file is copied for the duration of the block.

    Errors within the block name the remote file, not its copy.

    Raises
    ------
    InputError
        If a remote file cannot be copied.
    """
    if not is_remote(path):
        yield Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="diaghoi-") as folder:
        copy = Path(folder) / (Path(path).name or "file")
        with _reaching(path) as (system, inner):
            system.get_file(inner, str(copy))
        try:
            yield copy
        except InputError as error:
            raise InputError(str(error).replace(str(copy), path)) from None


def stamp(path: str) -> str:
    """Return, without reading a file, a value that changes when the file is rewritten."""
    if is_remote(path):
        with _reaching(path) as (system, inner):
            return str(system.ukey(inner))
    return "|".join(
        # The modification time can be set back, but the change time cannot.
        f"{file.name} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
        for file in _files(Path(path))
        for status in [file.stat()]
    )


def content_hash(path: str) -> str:
    """Hash the content of a file, or the files of a folder with their names (SHA-256)."""
    digest = hashlib.sha256()
    with fetched(path) as local:
        for file in _files(local):
            if file != local:
                digest.update(file.name.encode("utf-8", "surrogateescape") + b"\0")
            with file.open("rb") as stream:
                while chunk := stream.read(CHUNK):
                    digest.update(chunk)
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(filter(Path.is_file, path.iterdir())) if path.is_dir() else [path]


@contextmanager
def _reaching(path: str) -> Iterator[tuple[Any, str]]:
    """Return the file system of a remote path, and the path within it.

    Each service raises its own kinds of errors; all become :class:`InputError`.
    """
    try:
        core: Any = importlib.import_module("fsspec.core")
    except ImportError:
        raise InputError(
            f"{path}: is a remote path, which needs fsspec: pip install 'diaghoi[distributed]'"
        ) from None
    try:
        yield core.url_to_fs(path)
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: cannot be reached ({what:.160}); check the path") from error
