"""Unpickle untrusted files: containers, numbers and NumPy arrays, and nothing else.

A pickle is a program: it may name any importable object and call it. Here every name is looked up
in a fixed table of exact (module, name) pairs. The table does not give the object of that name, but
a safe type (:mod:`diaghoi.formats.containers.safe_types`) that can only build plain data: calling
it or setting its state reaches nothing else. There is no second attempt with fewer restrictions.
What a pickle can do without names is checked before it is loaded
(:mod:`diaghoi.formats.containers.opcodes`). Only the pickle in a file of ``torch.save`` has a few
more names, and may refer to data beside itself (:mod:`diaghoi.formats.containers.torch_zip`).
"""

from __future__ import annotations

import copyreg
import gc
import io
import os
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Protocol

from diaghoi.exceptions import InputError
from diaghoi.formats.containers.numpy_scalars import HEAD, plain_numbers
from diaghoi.formats.containers.opcodes import check_opcodes, first_opcodes
from diaghoi.formats.containers.safe_types import ALLOWED, Inert, Limit, NewCacheTemplate

# How pickles of a list or dict start, in all protocols.
_START = re.compile(rb"(?:\x80.)?(?:\x95.{8})?(?:[\]}]|\([ld])(?:\x94|q\x00|p0\n)", re.DOTALL)


class Beside(Protocol):
    """Data beside a pickle that the pickle refers to."""

    @property
    def size(self) -> int:
        """Bytes of data."""

    @property
    def names(self) -> Mapping[tuple[str, str], Callable[[Limit], Inert]]:
        """Safe types by module and name, beside and instead of those of plain pickles."""

    def load(self, pid: object) -> object:
        """Load the data that a persistent id refers to."""


class _Restricted(pickle.Unpickler):
    """The C unpickler, which looks names up in the table instead of importing them."""

    def __init__(self, stream: BinaryIO, file: str, beside: Beside | None) -> None:
        super().__init__(stream, encoding="latin1")
        self.file, self.beside = file, beside
        self.names = ALLOWED if beside is None else {**ALLOWED, **beside.names}
        self.limit = Limit(stream, 0 if beside is None else beside.size)

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in self.names:
            return self.names[module, name](self.limit)
        if name == "CacheTemplate":
            return NewCacheTemplate(self.limit)
        asked = f"{module}.{name}"
        if asked.startswith(("torch.", "torch_", "__torch__.")):
            instead = "arrays instead: tensor.numpy()" if self.beside is None else "dense tensors"
            raise InputError(
                f"{self.file}: holds PyTorch objects ({asked!r:.120}), which are not read; "
                f"save {instead}"
            )
        raise InputError(
            f"{self.file}: the pickle asks for {asked!r:.120}, which is not on the list of "
            "harmless types, so it is not read; save plain lists, dicts, numbers and NumPy arrays"
        )

    def persistent_load(self, pid: Any, /) -> Any:
        if self.beside is not None:
            return self.beside.load(pid)
        raise InputError(
            f"{self.file}: the pickle refers to objects outside the file (a persistent id), as "
            "files of torch.save do; save plain lists, dicts, numbers and NumPy arrays"
        )


@contextmanager
def collector_off() -> Iterator[None]:
    """Disable Python's garbage collector for the block, and restore its state.

    Millions of small new objects, none of them garbage, make the collector traverse them again and
    again: more than half of the time of a bare ``pickle.load``.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load_first(stream: BinaryIO, file: str, most: int) -> Any:
    """Read the first items of the list or dict in a pickle.

    Python writes a thousand items at a time, and numbers the list or dict itself 0: the opcodes up
    to some place, and one that returns number 0, make a pickle of the items that are complete.

    Parameters
    ----------
    stream, file
        As for :func:`load_pickle`.
    most : int
        Bytes of the pickle to read; more if no item is complete in them.

    Returns
    -------
    list or dict or None
        None for a pickle of anything else, or one without complete items before its end.
    """
    start = stream.tell()
    size = stream.seek(0, os.SEEK_END) - start
    stream.seek(start)
    found = _START.match(stream.read(32))
    while found and most < size:
        stream.seek(start)
        length = first_opcodes(stream, most)
        if not length:
            return None
        value = load_pickle(io.BytesIO(stream.read(length) + b"g0\n."), file)
        if value:
            return value
        most *= 2
    return None


def load_pickle(stream: BinaryIO, file: str, beside: Beside | None = None) -> Any:
    """Read one pickle with the restricted unpickler.

    Parameters
    ----------
    stream : binary file
        Buffered; read up to the end of the pickle.
    file : str
        Name of the file, for messages.
    beside : Beside, optional
        Data beside the pickle that it may refer to; by default it must not.

    Returns
    -------
    object
        Containers, numbers, strings and NumPy arrays. An ``OrderedDict`` becomes a ``dict``.

    Raises
    ------
    InputError
        For a pickle that is cut off or invalid, or uses a name that is not allowed.
    """
    # Extension codes resolved earlier in this process would bypass ``find_class``.
    copyreg.clear_extension_cache()
    try:
        with collector_off():
            if beside is not None:
                check_opcodes(stream, file)
                return _Restricted(stream, file, beside).load()
            start = stream.tell()
            memo = _memo_of_head(stream, file)
            replaced = plain_numbers(stream, memo)
            if replaced is not stream:
                # Where the pickle refers to a part of what is replaced, it is loaded as it is.
                with suppress(Exception):
                    value = _load(replaced, file)
                    stream.seek(start + replaced.tell())
                    return value
                stream.seek(start)
            return _load(stream, file)
    except InputError:
        raise
    except EOFError as error:
        raise InputError(f"{file}: the pickle is cut off; copy or write it again") from error
    except MemoryError as error:
        raise InputError(
            f"{file}: the pickle asks for more memory than there is; it may be damaged"
        ) from error
    except Exception as error:
        # A damaged pickle can raise anything; for the user it is always the same problem.
        what = " ".join(str(error).split()) or type(error).__name__
        if "truncated" in what:
            what = "cut off"
        raise InputError(f"{file}: not a readable pickle ({what:.120}); write it again") from error


def _memo_of_head(stream: BinaryIO, file: str) -> Mapping[int, Any]:
    """Return what the first bytes of a long pickle with scalars keep for later reference."""
    start = stream.tell()
    head = stream.read(HEAD)
    stream.seek(start)
    length = first_opcodes(stream, HEAD) if len(head) == HEAD and b"scalar" in head else 0
    if not 0 < length <= 4 * HEAD:
        return {}
    first = io.BytesIO(stream.read(length) + b"N.")
    stream.seek(start)
    check_opcodes(first, file)
    unpickler = _Restricted(first, file, None)
    with suppress(Exception):  # it is cut off; what is wrong shows when everything is read
        unpickler.load()
    return unpickler.memo.copy()


def _load(stream: BinaryIO, file: str) -> Any:
    """Check and load a pickle."""
    check_opcodes(stream, file)
    return _Restricted(stream, file, None).load()
