"""The container and plain content of a file before its format is known."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Literal

import numpy as np

from diaghoi.data.files import ordinary
from diaghoi.data.memory import give_back_freed_memory
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.matlab import variables
from diaghoi.formats.pickle import AHEAD, load_first, load_pickle
from diaghoi.formats.text import STARTS, first_of_json, load_json
from diaghoi.formats.zipped import entries, is_torch, load_torch, members

Container = Literal["pickle", "json", "torch", "npz", "mat", "folder", "parts"]
# Containers that hold plain Python values: lists, dicts, numbers, strings and arrays.
_PLAIN = ("pickle", "json", "torch")

# Number of bytes that suffice to recognise a large file: a thousand images or more.
FIRST = 1 << 25
# Number of rows accepted in a file of any size.
SMALL = 1 << 20
IMAGES_OF_ANSWERS = "gt_paths"
"""Key of the image list in files that hold a language model's answers under ``preds``.
"""
_DETECTIONS = re.compile(r"detections_(\d+)\.mat")
_PART = re.compile(r"(\d{6,9})\.npz")
_NUMPY = b"\x93NUMPY"
_OTHERS = (
    (b"\x1f\x8b", "compressed with gzip; uncompress it first"),
    (b"BZh", "compressed with bzip2; uncompress it first"),
    (b"\xfd7zXZ", "compressed with xz; uncompress it first"),
    (b"\x89HDF", "an HDF5 file, which is not supported; in MATLAB, save it with '-v7'"),
    (
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.",
        "a torch.save file from before PyTorch 1.6, which is not supported; load it with "
        "torch.load and save it with a current torch.save",
    ),
    (b"MATLAB 7.3", "a MATLAB 7.3 file, which is not supported; in MATLAB, save it with '-v7'"),
    (_NUMPY, "a single .npy array; save all arrays of the images together with numpy.savez"),
)


@dataclass(frozen=True, eq=False)
class Content:
    """The content of a file as plain Python and NumPy values.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder.
    container : str
        Container: pickle, json, torch, npz, mat, folder or parts.
    value : object
        For a pickle, a JSON file or a file of ``torch.save``, the object in it; for ``npz``, the
        unread arrays by name; for ``mat``, the names of the variables; for a folder, ``{number:
        path}`` of its ``detections_XX.mat`` files; for ``parts``, the same mapping of the folder's
        ``NNNNNN.npz`` files.
    lines : tuple of int
        Line number of each value in a JSON Lines file; otherwise empty.
    unpacked : int or None
        Size in bytes of all parts of an archive; None if it equals the size of the file.
    cut : bool
        Whether the value contains only the first images of the file.
    notes : tuple of str
        Notes on how the value was stored.
    """

    path: Path
    container: Container
    value: Any
    lines: tuple[int, ...] = ()
    unpacked: int | None = None
    cut: bool = False
    notes: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the value consists of plain Python lists and dicts, not the parts of a file."""
        return self.container in _PLAIN

    @property
    def file(self) -> str:
        """The path, for messages."""
        return str(self.path)

    @property
    def size(self) -> int:
        """Uncompressed size of the file in bytes; unlimited for batches in memory."""
        if not self.path.is_file():
            return sys.maxsize
        return self.path.stat().st_size if self.unpacked is None else self.unpacked

    @property
    def benchmark(self) -> str | None:
        """The data set that the first image's file name shows; None if the name shows none."""
        name = self.first.get("filename", self.first.get("file_name"))
        return "hico-det" if begins(name, "HICO_") else None

    @property
    def first(self) -> dict[str, Any]:
        """The first image if the content is a list with one dict per image; otherwise empty."""
        if isinstance(self.value, list | tuple) and self.value and isinstance(self.value[0], dict):
            return self.value[0]
        return {}

    def views(self) -> list[Content]:
        """Return the content unchanged and, if it is a dict by image, also as a list of images.

        In the list, the ``filename`` of an image is its dict key, or the last part of a key that is
        a path.
        """
        value = self.value
        if not (self.plain and isinstance(value, dict) and value):
            return [self]
        if not all(isinstance(image, dict) for image in value.values()):
            return [self]
        if not all(isinstance(key, str | int) for key in value):
            return [self]
        names = [PurePath(key).name if isinstance(key, str) else key for key in value]
        # Images in different folders may have the same name.
        names = names if len(set(names)) == len(names) else list(value)
        images = zip(names, value.values(), strict=True)
        return [self, replace(self, value=[{"filename": name} | image for name, image in images])]

    @property
    def predictions(self) -> Content:
        """The predictions in a file that also contains annotations; otherwise the whole content."""
        if not self._wraps("gts") and not self._wraps("preds"):
            return self
        rest = {key: part for key, part in self.value.items() if key != "gts"}
        return replace(self, value=rest if IMAGES_OF_ANSWERS in rest else rest.get("preds", rest))

    @property
    def annotations(self) -> Content | None:
        """The annotations in a file that also has predictions; None if there are none."""
        return replace(self, value=self.value["gts"]) if self._wraps("gts") else None

    def _wraps(self, key: str) -> bool:
        """Check whether the value has a list, tuple or dict under a key."""
        return isinstance(self.value, dict) and isinstance(self.value.get(key), list | tuple | dict)


def begins(name: Any, *starts: str) -> bool:
    """Check whether a value is a string with one of the prefixes."""
    return isinstance(name, str) and name.startswith(starts)


def load(path: str | os.PathLike[str], *, most: int | None = None) -> Content:
    """Detect the container of a file from its content and load it.

    Parameters
    ----------
    path : path
        The file, or a folder of files.
    most : int, optional
        Maximum number of bytes to load from a pickle or JSON list; of larger files, only the first
        images are loaded. All other containers are loaded completely.

    Raises
    ------
    InputError
        If the file does not exist, is empty or damaged, or its container is unknown.
    """
    path = Path(path)
    try:
        if ordinary(path).is_dir():
            return _folder(path)
        with path.open("rb") as stream:
            head = stream.read(512)
            if head.startswith(b"PK\x03\x04"):
                return _archive(path)
            if head.startswith(b"MATLAB 5.0"):
                return Content(path, "mat", list(variables(path)))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from error
    _refuse(path, head)
    most = most if most is not None and path.stat().st_size > most else 0
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in STARTS:
        if most and (first := first_of_json(path, most)):
            return Content(path, "json", first, cut=True)
        value, lines, notes = load_json(path)
        return Content(path, "json", value, lines, notes=notes)
    with path.open("rb", buffering=AHEAD) as stream:
        if most and (first := load_first(stream, str(path), most)):
            return Content(path, "pickle", first, cut=True)
        stream.seek(0)
        value = load_pickle(stream, str(path))
        if stream.read(1):
            raise InputError(
                f"{path}: has more data after the first pickle; write all images as one list with "
                "one pickle.dump"
            )
    give_back_freed_memory()
    return Content(path, "pickle", value)


def _matrix(path: Path) -> tuple[int, int] | None:
    """Return the shape of an .npy file that is a matrix of zeros and ones."""
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        binary = matrix.ndim == 2 and 0 < matrix.size <= SMALL and np.isin(matrix, (0, 1)).all()
    except Exception:  # NumPy raises many kinds of errors
        return None
    return matrix.shape if binary else None


def _refuse(path: Path, head: bytes) -> None:
    """Reject empty files and file types that are known but not supported."""
    if not head:
        raise InputError(f"{path}: the file is empty; write or copy it again")
    if path.suffix == ".toml":
        raise InputError(
            f"{path}: a TOML file; 'diaghoi compare' and 'diaghoi figures' take studies, and "
            "--dataset takes the description of a data set"
        )
    if head.startswith(_NUMPY) and (shape := _matrix(path)):
        raise InputError(
            f"{path}: is a matrix of {shape[0]} x {shape[1]} zeros and ones, like the corre_*.npy "
            "of valid combinations of verbs and objects, and holds no boxes; it belongs in the "
            f'description of a data set: classes = "{path.name}" in the .toml file for --dataset'
        )
    for magic, what in _OTHERS:
        if head.startswith(magic):
            raise InputError(f"{path}: {what}")
    # Pickles since protocol 2 start with \x80; older pickles start with one of the other four
    # characters.
    if head[:1] not in (b"\x80", b"(", b"]", b"}", b"c") and not head.lstrip().startswith(
        (*STARTS, b"\xef\xbb\xbf")
    ):
        start = head[:16].decode("latin-1")
        raise InputError(
            f"{path}: starts with {start!r}, which is not the start of a pickle, JSON, .npz or "
            ".mat file; give such a file"
        )


def _archive(path: Path) -> Content:
    listed = entries(path)
    if is_torch(listed):
        value, size = load_torch(path, listed)
        return Content(path, "torch", value, unpacked=size)
    arrays = members(path)
    size = sum(member.info.file_size for member in arrays.values())
    return Content(path, "npz", arrays, unpacked=size)


def _folder(path: Path) -> Content:
    names = sorted(entry.name for entry in path.iterdir())
    matches = [match for match in map(_DETECTIONS.fullmatch, names) if match]
    parts = parts_in(path)
    if parts and not matches:
        return Content(path, "parts", parts)
    if not matches:
        found = some_of(names) if names else "it is empty"
        raise InputError(
            f"{path}: a folder without detections_01.mat ... detections_80.mat ({found}); give a "
            "file, or the folder with these 80 files"
        )
    return Content(path, "folder", {int(match[1]): path / match[0] for match in matches})


def parts_in(folder: Path) -> dict[int, Path]:
    """Return the paths of the numbered parts in a folder (:mod:`diaghoi.formats.own`)."""
    matches = [_PART.fullmatch(entry.name) for entry in folder.iterdir()]
    return {int(match[1]): folder / match[0] for match in matches if match}
