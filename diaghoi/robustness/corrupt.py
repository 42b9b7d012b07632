"""Corrupt all pictures of a folder.

Results are ``OUT/<corruption>/<severity>/<picture>``, with the names of the clean pictures, so that
a detector runs on each severity as on the clean pictures. ``OUT/corruptions.json`` records how they
were made, so that a run that resumes does not mix seeds or strengths.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from stat import S_ISREG
from typing import Any

from diaghoi._version import __version__
from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError
from diaghoi.formats.output import remove_leftovers, replacing
from diaghoi.formats.pictures import SUFFIXES, read_picture, write_picture
from diaghoi.robustness.corruptions import (
    CORRUPTIONS,
    SEVERITIES,
    corrupt,
    find,
    generator,
    strengths_digest,
)
from diaghoi.robustness.pixels import opencv

RECORD = "corruptions.json"
LIBRARIES = ("numpy", "opencv-python-headless", "opencv-python", "pillow")


@dataclass(frozen=True, kw_only=True)
class CorruptedFolder:
    """Counts and problems of a run over a folder.

    Parameters
    ----------
    pictures : int
        Found in the folder.
    written, kept : int
        Corrupted pictures made by this run, and by an earlier one.
    damaged : dict of str
        Problem of each picture that could not be read, by its name.
    notes : tuple of str
        What readers should know about the result.
    """

    pictures: int
    written: int
    kept: int
    damaged: dict[str, str]
    notes: tuple[str, ...]


def corrupt_folder(
    images: Path,
    out: Path,
    corruptions: Iterable[str] = tuple(CORRUPTIONS),
    severities: Iterable[int] = SEVERITIES,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> CorruptedFolder:
    """Corrupt the pictures of a folder and of its subfolders.

    Each result depends only on the seed, the name of the picture, the corruption and the severity,
    not on the order or the number of workers. Results of an earlier run are kept, unless the
    picture has changed since.

    Parameters
    ----------
    images : Path
        Folder of .jpg, .jpeg and .png files.
    out : Path
        Folder to write to; created if it does not exist.
    corruptions : iterable of str
        Names, abbreviations or groups of them.
    severities : iterable of int
        Of 1 to 5.
    seed : int
        Seed of all random choices.
    workers : int
        Processes to share the work. With more than one, a script needs the customary
        ``if __name__ == "__main__":``, because each worker loads it.
    progress : callable, optional
        Called with the number of pictures finished since the last call.

    Returns
    -------
    CorruptedFolder
        Counts, and pictures that could not be read.

    Raises
    ------
    InputError
        For a folder without pictures, an unknown corruption or severity, an output folder that
        lies with the pictures or was made in another way, where nothing can be written, or where
        a library is missing.
    """
    levels = sorted(set(severities))
    conditions = [(each.name, level) for each in find(corruptions) for level in levels]
    unknown = [level for level in levels if level not in SEVERITIES]
    if unknown or not levels:
        raise InputError(f"severity {unknown[0] if unknown else 'none'}: give some of 1 to 5")
    if workers < 1:
        raise InputError(f"{workers} workers: give 1 or more")
    opencv()
    names = picture_names(images)
    folders = [out / name / str(level) for name, level in conditions]
    _check_apart(images, out, folders)
    notes = _claim(out, seed, folders)
    # Other programs could mistake the unfinished files of killed runs for pictures.
    remove_leftovers(path for folder in folders for path in folder.rglob(".*"))
    written, kept = 0, 0
    damaged: dict[str, str] = {}
    work = partial(_corrupt_picture, images, out, conditions, seed)
    for name, (new, old, problem) in zip(names, _outcomes(work, names, workers), strict=True):
        written, kept = written + new, kept + old
        if problem:
            damaged[name] = problem
        if progress is not None:
            progress(1)
    return CorruptedFolder(
        pictures=len(names), written=written, kept=kept, damaged=damaged, notes=notes
    )


def picture_names(folder: Path) -> list[str]:
    """List the pictures of a folder and of its subfolders, sorted, with ``/`` between folders.

    Raises
    ------
    InputError
        If there is no such folder, or no picture in it.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "there is no such folder"
        raise InputError(f"{folder}: {what}; give the folder with the pictures")
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()
    )
    if not names:
        raise InputError(f"{folder}: no pictures in it; give a folder with {', '.join(SUFFIXES)}")
    return names


def _check_apart(images: Path, out: Path, folders: Sequence[Path]) -> None:
    """Refuse to write into the folder of pictures, or to read from an output folder."""
    source = Path(os.path.realpath(images))
    if Path(os.path.realpath(out)).is_relative_to(source):
        raise InputError(f"{out}: lies in the folder of pictures; give a folder outside {images}")
    for folder in folders:
        if source.is_relative_to(os.path.realpath(folder)):
            raise InputError(f"{images}: lies in {folder}, which is written; give another folder")


def _claim(out: Path, seed: int, folders: Sequence[Path]) -> tuple[str, ...]:
    """Record how pictures are made, or check the record; return notes on harmless differences."""
    file = out / RECORD
    record = {
        "seed": seed,
        "strengths": strengths_digest(),
        "diaghoi": __version__,
        "libraries": _libraries(),
    }
    if file.is_file():
        return _compared(file, record)
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
    return ()


def _compared(file: Path, record: dict[str, Any]) -> tuple[str, ...]:
    try:
        before = json.loads(ordinary(file).read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(
            f"{file}: cannot be read ({error}); remove it together with the pictures beside it"
        ) from None
    if not (isinstance(before, dict) and {"seed", "strengths"} <= before.keys()):
        raise InputError(f"{file}: is not a record of corrupted pictures; give another folder")
    if before["seed"] != record["seed"]:
        raise InputError(
            f"{file.parent}: was made with seed {before['seed']}; give --seed "
            f"{before['seed']}, or another folder"
        )
    if before["strengths"] != record["strengths"]:
        raise InputError(
            f"{file.parent}: was made with other strengths, by version {before.get('diaghoi')}; "
            "give another folder"
        )
    if before.get("libraries") == record["libraries"]:
        return ()
    begun, now = (_listed(each.get("libraries")) for each in (before, record))
    return (
        f"{file.parent} was begun with {begun}, and goes on with {now}: pictures made from now on "
        "can differ a little",
    )


def _libraries() -> dict[str, str]:
    versions = {}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):  # only one of the two builds of OpenCV is installed
            versions[name] = version(name)
    return versions


def _listed(libraries: Any) -> str:
    if not isinstance(libraries, dict):
        return "unknown libraries"
    return ", ".join(f"{name} {number}" for name, number in libraries.items())


def _outcomes(
    work: Callable[[str], tuple[int, int, str]], names: Sequence[str], workers: int
) -> Iterator[tuple[int, int, str]]:
    """Yield the outcome of each picture in order, computed by several processes."""
    if min(workers, len(names)) == 1:
        yield from map(work, names)
        return
    # Spawned, not forked: forked processes could inherit locks held by threads of OpenCV.
    pool = ProcessPoolExecutor(
        min(workers, len(names)), mp_context=get_context("spawn"), initializer=_use_one_thread
    )
    try:
        yield from pool.map(work, names)
    except BrokenProcessPool:
        raise InputError(
            "a worker process was ended from outside, perhaps for want of memory; run it again "
            "with fewer workers: what is finished is kept"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _use_one_thread() -> None:
    opencv().setNumThreads(1)


def _corrupt_picture(
    images: Path, out: Path, conditions: Sequence[tuple[str, int]], seed: int, name: str
) -> tuple[int, int, str]:
    """Make what is missing of one picture; return how many were written and kept, and a problem."""
    source = images / name
    targets = {(which, level): out / which / str(level) / name for which, level in conditions}
    missing = {place: path for place, path in targets.items() if not _is_newer(path, source)}
    kept = len(targets) - len(missing)
    if not missing:
        return 0, kept, ""
    try:
        picture = read_picture(source)
    except InputError as error:
        return 0, kept, str(error)
    for (corruption, severity), path in missing.items():
        rng = generator(seed, source.name, corruption)
        worse = corrupt(picture.image, corruption, severity, rng=rng)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_picture(path, replace(picture, image=worse))
    return len(missing), kept, ""


def _is_newer(target: Path, source: Path) -> bool:
    try:
        made = target.stat()
        return S_ISREG(made.st_mode) and made.st_mtime_ns >= source.stat().st_mtime_ns
    except OSError:
        return False
