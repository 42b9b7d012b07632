"""Where the annotations of a data set lie, when the user does not say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from diaghoi.cli.settings import read_settings, settings_file
from diaghoi.exceptions import InputError

# Folders in which the code bases of the field keep HICO-DET, below the working directory, and the
# names of the annotation files there; the first that exists is taken.
FOLDERS = ("data/hicodet", "hicodet", "data/hico_20160224_det/annotations")
FILES = ("instances_test2015.json", "anno_bbox.mat", "test_hico.json", "gt_wo_nointer.pkl")
VARIABLE = "DIAGHOI_DATA"
HOW_TO_GET = (
    "get instances_test2015.json (UPT and SCG code bases), test_hico.json (QPIC, CDN) or "
    "anno_bbox.mat (HICO-DET itself) and give it with --annotations FILE, or once for all with "
    "'diaghoi config set {dataset}.annotations FILE'"
)


@dataclass(frozen=True, kw_only=True)
class Found:
    """Annotations that were found without being named.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    note : str
        Which file it is and why this one, for the reader of the results.
    """

    path: Path
    note: str


def find_annotations(dataset: str) -> Found:
    """Find the annotation file of a data set.

    It is looked for in ``DIAGHOI_DATA`` (a file, or a folder), in the user's settings, and in the
    customary folders of the field.

    Raises
    ------
    InputError
        Where none is found; the message lists where it was looked for and how to get it.
    """
    looked: list[str] = []
    for place, given, paths in _places(dataset):
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            passed = f", because there are none in {', '.join(looked)}" if looked else ""
            return Found(path=path, note=f"annotations: {path}, from {place}{passed}")
        if given:
            looked.append(f"{place} ({given})")
    searched = ", ".join((*looked, *FOLDERS))
    raise InputError(
        f"no {dataset} annotations found; looked for {', '.join(FILES)} in {searched}; "
        + HOW_TO_GET.format(dataset=dataset)
    )


def _places(dataset: str) -> Iterator[tuple[str, str | None, list[Path]]]:
    """Give each place to look: its name, what the user gave there, and the paths to try."""
    variable = os.environ.get(VARIABLE)
    if variable:
        root = Path(variable)
        below = (root / folder.removeprefix("data/") for folder in FOLDERS)
        paths = [path for folder in (root, *below) for path in _files_in(folder)]
        yield VARIABLE, variable, [root, *dict.fromkeys(paths)]
    setting = read_settings().get(f"{dataset}.annotations")
    if setting:
        yield f"the settings in {settings_file()}", setting, [Path(setting)]
    yield "a customary folder", None, [path for folder in FOLDERS for path in _files_in(folder)]


def _files_in(folder: str | Path) -> list[Path]:
    return [Path(folder) / name for name in FILES]
