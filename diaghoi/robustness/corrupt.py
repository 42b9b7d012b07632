"""Corrupt all pictures of a folder.

Results are written to ``OUT/<corruption>/<severity>/<picture>``, with the names of the clean
pictures, so that a detector runs on each severity just as on the clean pictures.
``OUT/corruptions.json`` records how the pictures were created, so that a resumed run does not mix
seeds or strengths.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from stat import S_ISREG
from typing import Any

from diaghoi._version import __version__
from diaghoi.data.memory import cores
from diaghoi.diagnosis.inputs import read_object
from diaghoi.engines.engine import Failure, LocalEngine, Task
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
from diaghoi.robustness.effects import opencv

RECORD = "corruptions.json"
LIBRARIES = ("numpy", "opencv-python-headless", "opencv-python", "pillow")


@dataclass(frozen=True, kw_only=True)
class CorruptedFolder:
    """Numbers of pictures that a run over a folder wrote or kept, and the problems of the run.

    ``pictures`` is the number of pictures in the folder; ``written`` counts the corrupted pictures
    of this run, and ``kept`` the corrupted pictures kept from an earlier run. ``damaged`` lists the
    problem of each unreadable picture, and ``notes`` are remarks on the result.
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
    """Corrupt the pictures in a folder and its subfolders.

    Each result depends only on the seed, the name of the picture, the corruption and the severity,
    not on the order or the number of workers. Results of an earlier run are kept, unless the
    picture has changed since.

    Parameters
    ----------
    images : Path
        Folder of .jpg, .jpeg and .png files.
    out : Path
        Output folder, created if missing.
    corruptions : iterable of str
        Names or abbreviations of corruptions or groups.
    severities : iterable of int
        Severities from 1 to 5.
    seed : int
        Seed of all random choices.
    workers : int
        Number of processes. With several workers, a script needs the usual ``if __name__ ==
        "__main__":``, because each worker imports it.
    progress : callable, optional
        Called with the number of pictures done since the last call.

    Raises
    ------
    InputError
        If the folder has no pictures, a corruption or severity is unknown, the output folder is
        inside the picture folder or was made with other settings, nothing can be written, or a
        library is missing.
    """
    levels = sorted(set(severities))
    conditions = [(each.name, level) for each in find(corruptions) for level in levels]
    unknown = [level for level in levels if level not in SEVERITIES]
    if unknown or not levels:
        raise InputError(
            f"severity {unknown[0] if unknown else 'none'}: give severities from 1 to 5"
        )
    if workers < 1:
        raise InputError(f"{workers} workers: give 1 or more")
    opencv()
    names = picture_names(images)
    folders = [out / name / str(level) for name, level in conditions]
    _check_apart(images, out, folders)
    notes = _claim(out, seed, folders)
    # Other programs could mistake unfinished files of killed runs for pictures.
    remove_leftovers(path for folder in folders for path in folder.rglob(".*"))
    tasks = [Task(name, _corrupt_picture, (images, out, conditions, seed, name)) for name in names]
    outcomes: dict[str, tuple[int, int, str]] = {}
    with LocalEngine(min(workers, len(names))) as engine:
        for name, outcome in engine.run(tasks):
            if isinstance(outcome, Failure):
                raise InputError(f"{images / name}: {outcome.message}")
            outcomes[name] = outcome
            if progress is not None:
                progress(1)
    return CorruptedFolder(
        pictures=len(names),
        written=sum(written for written, _, _ in outcomes.values()),
        kept=sum(kept for _, kept, _ in outcomes.values()),
        damaged={name: outcomes[name][2] for name in names if outcomes[name][2]},
        notes=notes,
    )


def picture_names(folder: Path) -> list[str]:
    """List the pictures in a folder and its subfolders, sorted, with ``/`` as separator.

    Raises
    ------
    InputError
        If the folder does not exist, or has no picture.
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
        raise InputError(
            f"{folder}: has no pictures; give a folder with {', '.join(SUFFIXES)} files"
        )
    return names


def _check_apart(images: Path, out: Path, folders: Sequence[Path]) -> None:
    """Raise an error if outputs would lie among the pictures, or the pictures among outputs."""
    source = Path(os.path.realpath(images))
    if Path(os.path.realpath(out)).is_relative_to(source):
        raise InputError(
            f"{out}: is in the folder with the pictures; give a folder outside {images}"
        )
    for folder in folders:
        if source.is_relative_to(os.path.realpath(folder)):
            raise InputError(
                f"{images}: is inside the output folder {folder}; give another output folder"
            )


def _claim(out: Path, seed: int, folders: Sequence[Path]) -> tuple[str, ...]:
    """Record how pictures are created, or check the record; return notes on differences."""
    file = out / RECORD
    record: dict[str, Any] = {
        "seed": seed,
        "strengths": strengths_digest(),
        "diaghoi": __version__,
        "libraries": {},
    }
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):  # only one of the two builds of OpenCV is installed
            record["libraries"][name] = version(name)
    if not file.is_file():
        for folder in folders:
            if folder.exists():
                raise InputError(
                    f"{folder}: exists, but {file} does not state how it was created; give another "
                    "output folder"
                )
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{out}: cannot be created: {error.strerror}; give another folder"
            ) from error
        with replacing(file) as temporary:
            temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return ()
    before = read_object(file)
    if not {"seed", "strengths"} <= before.keys():
        raise InputError(
            f"{file}: is not a record of corrupted pictures; remove it together with the pictures "
            "next to it, or give another folder"
        )
    for key in ("seed", "strengths"):
        if before[key] != record[key]:
            raise InputError(
                f"{out}: was made with {key} {before[key]!r:.60}, not {record[key]!r}; use the "
                "same value, or give another output folder"
            )
    begun, now = (json.dumps(each.get("libraries")).replace('"', "") for each in (before, record))
    if begun == now:
        return ()
    return (
        f"{out} was started with {begun} and continues with {now}: new pictures may differ "
        "slightly",
    )


def _corrupt_picture(
    images: Path, out: Path, conditions: Sequence[tuple[str, int]], seed: int, name: str
) -> tuple[int, int, str]:
    """Create missing versions of a picture; count new and kept versions, and return any problem."""
    source = images / name
    targets = {(which, level): out / which / str(level) / name for which, level in conditions}
    missing = {place: path for place, path in targets.items() if not _is_newer(path, source)}
    kept = len(targets) - len(missing)
    if not missing:
        return 0, kept, ""
    opencv().setNumThreads(cores())  # other processes may use the other cores
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
