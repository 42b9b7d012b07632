"""Where the annotations of a data set lie, when the user does not say."""

from __future__ import annotations

import os
from pathlib import Path

from diaghoi.cli.settings import read_settings
from diaghoi.exceptions import InputError

# Folders in which the code bases of the field keep HICO-DET, below the working directory, and the
# names of the annotation files there; the first that exists is taken.
FOLDERS = ("data/hicodet", "hicodet", "data/hico_20160224_det/annotations")
FILES = ("instances_test2015.json", "anno_bbox.mat", "test_hico.json", "gt_wo_nointer.pkl")
HOW_TO_GET = (
    "get instances_test2015.json (UPT and SCG code bases), test_hico.json (QPIC, CDN) or "
    "anno_bbox.mat (HICO-DET itself) and give it with --annotations FILE, or once for all with "
    "'diaghoi config set {dataset}.annotations FILE'"
)


def find_annotations(dataset: str) -> Path:
    """Find the annotation file of a data set.

    It is looked for in ``DIAGHOI_DATA`` (a file, or a folder), in the user's settings, and in the
    customary folders of the field.

    Raises
    ------
    InputError
        Where none is found; the message lists where it was looked for and how to get it.
    """
    looked: list[Path] = []
    variable = os.environ.get("DIAGHOI_DATA")
    if variable:
        looked += [Path(variable), *_below(Path(variable))]
    setting = read_settings().get(f"{dataset}.annotations")
    if setting:
        looked.append(Path(setting))
    looked += [path for folder in FOLDERS for path in _below(Path(folder))]
    for path in looked:
        if path.is_file():
            return path
    places = ", ".join(dict.fromkeys(str(path.parent) for path in looked))
    raise InputError(
        f"no {dataset} annotations found; looked for {', '.join(FILES)} in {places}; "
        + HOW_TO_GET.format(dataset=dataset)
    )


def _below(folder: Path) -> list[Path]:
    return [folder / name for name in FILES]
