"""Corrupt all pictures of a folder.

Results are ``OUT/<corruption>/<severity>/<picture>``, with the names of the clean pictures, so that
a detector runs on each severity as on the clean pictures.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from stat import S_ISREG

from diaghoi.exceptions import InputError
from diaghoi.formats.output import remove_leftovers
from diaghoi.formats.pictures import SUFFIXES, read_picture, write_picture
from diaghoi.robustness.corruptions.apply import corrupt, generator
from diaghoi.robustness.corruptions.registry import CORRUPTIONS, SEVERITIES, find
from diaghoi.robustness.libraries import opencv
from diaghoi.robustness.resuming import claim


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


@dataclass(frozen=True, kw_only=True)
class _Job:
    """What to make from every picture."""

    images: Path
    out: Path
    corruptions: tuple[str, ...]
    severities: tuple[int, ...]
    seed: int


@dataclass(frozen=True, kw_only=True)
class _PictureOutcome:
    """What was made from one picture."""

    written: int
    kept: int
    problem: str = ""


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
    job = _Job(
        images=images,
        out=out,
        corruptions=tuple(each.name for each in find(corruptions)),
        severities=_checked(severities),
        seed=seed,
    )
    if workers < 1:
        raise InputError(f"{workers} workers: give 1 or more")
    opencv()
    names = picture_names(images)
    folders = [out / name / str(each) for name in job.corruptions for each in job.severities]
    _check_apart(images, out, folders)
    notes = claim(out, seed, folders)
    # Other programs could mistake the unfinished files of killed runs for pictures.
    remove_leftovers(path for folder in folders for path in folder.rglob(".*"))
    written, kept = 0, 0
    damaged: dict[str, str] = {}
    for name, done in zip(
        names, _each(partial(_corrupt_picture, job), names, workers), strict=True
    ):
        written, kept = written + done.written, kept + done.kept
        if done.problem:
            damaged[name] = done.problem
        if progress is not None:
            progress(1)
    return CorruptedFolder(
        pictures=len(names), written=written, kept=kept, damaged=damaged, notes=tuple(notes)
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


def _checked(severities: Iterable[int]) -> tuple[int, ...]:
    chosen = set(severities)
    unknown = sorted(chosen - set(SEVERITIES))
    if unknown or not chosen:
        raise InputError(f"severity {unknown[0] if unknown else 'none'}: give some of 1 to 5")
    return tuple(sorted(chosen))


def _check_apart(images: Path, out: Path, folders: Sequence[Path]) -> None:
    """Refuse to write into the folder of pictures, or to read from an output folder."""
    source = Path(os.path.realpath(images))
    if Path(os.path.realpath(out)).is_relative_to(source):
        raise InputError(f"{out}: lies in the folder of pictures; give a folder outside {images}")
    for folder in folders:
        if source.is_relative_to(os.path.realpath(folder)):
            raise InputError(f"{images}: lies in {folder}, which is written; give another folder")


def _each(
    function: Callable[[str], _PictureOutcome], names: Sequence[str], workers: int
) -> Iterator[_PictureOutcome]:
    """Yield the outcome of each picture in order, computed by several processes."""
    if min(workers, len(names)) == 1:
        yield from map(function, names)
        return
    # Spawned, not forked: forked processes could inherit locks held by threads of OpenCV.
    pool = ProcessPoolExecutor(
        min(workers, len(names)), mp_context=get_context("spawn"), initializer=_prepare
    )
    try:
        yield from pool.map(function, names)
    except BrokenProcessPool:
        raise InputError(
            "a worker process was ended from outside, perhaps for want of memory; run it again "
            "with fewer workers: what is finished is kept"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Restrict OpenCV to one thread per worker."""
    opencv().setNumThreads(1)


def _corrupt_picture(job: _Job, name: str) -> _PictureOutcome:
    """Make all missing results of one picture."""
    source = job.images / name
    targets = {
        (corruption, severity): job.out / corruption / str(severity) / name
        for corruption in job.corruptions
        for severity in job.severities
    }
    missing = {key: path for key, path in targets.items() if not _is_newer(path, source)}
    kept = len(targets) - len(missing)
    if not missing:
        return _PictureOutcome(written=0, kept=kept)
    try:
        picture = read_picture(source)
    except InputError as error:
        return _PictureOutcome(written=0, kept=kept, problem=str(error))
    for (corruption, severity), path in missing.items():
        rng = generator(job.seed, source.name, corruption)
        worse = corrupt(picture.image, corruption, severity, rng=rng)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_picture(path, replace(picture, image=worse))
    return _PictureOutcome(written=len(missing), kept=kept)


def _is_newer(target: Path, source: Path) -> bool:
    try:
        made = target.stat()
        return S_ISREG(made.st_mode) and made.st_mtime_ns >= source.stat().st_mtime_ns
    except OSError:
        return False
