"""Check the opcodes of a pickle before it is loaded, for attacks that need no names.

Python's unpickler allocates the sizes that a pickle announces, and Python's hash of tuples assumes
that nobody writes pickles by hand: a tuple of tuples of tuples is hashed without a depth limit, and
again wherever it occurs, so that a few bytes used as the key of a dict crash the interpreter or
keep it busy forever. All of this shows in the opcodes, which are checked here without building
anything.

Most of a pickle is numbers, strings and lists, which one regular expression skips quickly. Tuples
of a few numbers, and tuples that the next opcode consumes (those of NumPy arrays), are harmless,
too. Only a pickle with other tuples is followed step by step.
"""

from __future__ import annotations

import math
import os
import pickle
import pickletools
import re
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from diaghoi.exceptions import InputError

CHUNK = 1 << 18
# Bytes that are read ahead, so that opcodes are complete; strings and arrays can be longer.
AHEAD = 1 << 10
# Python's pickler starts a new frame after 64 KiB.
LONGEST_FRAME = 1 << 24
# Bytes of an integer, and how many integers may take more than eight: those can be chosen to have
# equal hashes, which makes a dict or set quadratically slow.
LONGEST_INTEGER, WIDE_INTEGERS = 1 << 12, 1000
DEEPEST = 100
# Tuple items that hashing may visit: per byte of the pickle, and in addition.
VISITS_PER_BYTE, VISITS = 20, 1_000_000

# Memory that a pickle may take: per byte, and in addition. Predictions as lists of dicts take 5 to
# 15 bytes per byte, images without any as empty lists 40; an empty set takes 224 for its one byte.
MEMORY_PER_BYTE, MEMORY = 48, 1 << 28
# Bytes that an opcode allocates at most, with the place on the stack or in a container that its
# result takes; 16 for all others. Items that make a container grow are counted by the opcode that
# adds them.
_MOST: dict[bytes, int] = {
    b"]l": 64, b"}": 72, b"\x8f": 224, b"\x90\x91": 512, b"a": 40, b"sud": 200, b"b": 128,
    b"R\x81oi\x92": 256, b"\x85\x86\x87t": 64, b"MJIL": 40, b"GF": 32, b"\x93": 96,
    b"\x8cCUXBT": 80,
}  # fmt: skip
# In units of eight bytes, so that a byte holds it.
_ALLOCATED = bytearray([2] * 256)
for _codes, _bytes in _MOST.items():
    for _code in _codes:
        _ALLOCATED[_code] = _bytes // 8
# Beside the bytes of a text, each of which may take four: all letters take as much as the widest.
# As much as the opcodes of texts above.
_TEXT, _WIDEST = 80, 4

# Opcodes with their arguments. Memo indices are limited: Python's unpickler allocates a slot for
# every lower index.
_NUMBER = rb"[N\x88\x89]|K.|M..|J.{4}|G.{8}|I-?\d{1,19}\n|F[^\n]{1,40}\n|L-?\d{1,19}L?\n"
_MEMO = rb"\x94|q.|r..[\x00-\x3f]\x00|p\d{1,6}\n"
# Text and bytes up to this length: keys, names, and the bytes of single numbers.
_SHORT_TEXT = 32


def _of_each_length(field: int) -> bytes:
    """Match a length field of so many bytes, and as many bytes of text after it."""
    lengths = ((length, length.to_bytes(field, "little")) for length in range(_SHORT_TEXT + 1))
    return b"|".join(re.escape(size) + b".{%d}" % length for length, size in lengths)


_TEXTS = b"[\x8cCU](?:" + _of_each_length(1) + b")|[XBT](?:" + _of_each_length(4) + b")"
_OTHER = rb"[\]}()eausld012Rbo\x81\x8f-\x93\x98]|h.|j.{4}|g\d{1,9}\n|\x80.|" + _MEMO + b"|" + _TEXTS
# Tuples that the next opcode consumes, and the shapes of arrays.
_CONSUMED = rb"[\x85-\x87t](?:" + _MEMO + rb")?[Rb\x81Q]"
_SHAPE = rb"(?:K.|M..)(?:\x85|(?:K.|M..)(?:\x86|(?:K.|M..)\x87))"
# The most frequent sequences, of dicts and lists of numbers, matched in long runs for speed.
_PUT = rb"(?:\x94|q.|r..[\x00-\x3f]\x00)"
# As :mod:`diaghoi.formats.containers.numpy_scalars` writes scalars.
_WITHOUT_EFFECT = rb"(?:C(?:" + _of_each_length(1) + rb")0|N0)"
_FLOAT = rb"G.{8}(?:\x94{3})?+" + _WITHOUT_EFFECT + rb"*+(?:r..[\x00-\x3f]\x00)?+"
_LIST = rb"\]" + _PUT + rb"?+\((?:" + _FLOAT + rb")++e"
_FREQUENT = (
    rb"[\x94\]}(eu]*+(?:(?:h.|j.{4}|(?:" + _TEXTS + rb")" + _PUT + rb"?+)"
    rb"(?:K.\x85?+|M..|" + _FLOAT + rb"|" + _LIST + rb")?+)++"
    rb"|(?:G.{8})++|[\x94\]}(eu]++|\)R" + _PUT + rb"?+"
)
_RUN = rb"(?:" + rb"|".join((_FREQUENT, _SHAPE, _NUMBER, _OTHER, _CONSUMED)) + rb"){1,2000}+"
if sys.version_info < (
    3,
    11,
):  # no possessive quantifiers yet, which save the memory of backtracking
    _RUN = _RUN.replace(b"*+", b"*").replace(b"?+", b"?").replace(b"}+", b"}").replace(b"++", b"+")
_PLAIN = re.compile(_RUN, re.DOTALL)
_ANY = re.compile(_RUN.replace(rb"|" + _SHAPE, rb"|[\x85-\x87t]|" + _SHAPE), re.DOTALL)
# Beyond this many bytes memo indices of three bytes are no higher than their number.
_FAR = 1 << 24
_FARTHER = {
    pattern: re.compile(pattern.pattern.replace(rb"[\x00-\x3f]\x00", rb".\x00"), re.DOTALL)
    for pattern in (_PLAIN, _ANY)
}
_TOKEN = re.compile(rb"|".join((_NUMBER, _OTHER, rb"[\x85-\x87t]|r.{3}\x00")), re.DOTALL)
_NUMBERS = re.compile(_NUMBER, re.DOTALL)
_TUPLES = {b"\x85": 1, b"\x86": 2, b"\x87": 3}
_FEW = 8
# Bytes of the length field before strings, arrays and long integers.
_COUNTED = {
    **dict.fromkeys((b"U", b"\x8c", b"C", b"\x8a"), 1),
    **dict.fromkeys((b"T", b"X", b"B", b"\x8b"), 4),
    **dict.fromkeys((b"\x8d", b"\x8e", b"\x96"), 8),
}
_INTEGERS = (b"\x8a", b"\x8b", b"L", b"I")
_LINES = {b"c": 2, b"i": 2, **dict.fromkeys((b"P", b"S", b"V", b"F", b"I", b"L", b"p", b"g"), 1)}
_FIXED = {b"Q": 1, b"\x82": 2, b"\x83": 3, b"\x84": 5, b"\x97": 1}
_PUTS = ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT")
_GETS = ("GET", "BINGET", "LONG_BINGET")
# Opcodes that add to an object which stays on the stack.
_KEEPING = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD")
_MARK = "mark"
_CROSSING = "a frame ends within an opcode"


def check_opcodes(stream: BinaryIO, file: str) -> None:
    """Check the opcodes of a pickle, and rewind the stream to its start.

    Parameters
    ----------
    stream : binary file
        Must be seekable.
    file : str
        Name of the file, for messages.

    Raises
    ------
    EOFError
        If it ends too early.
    InputError
        If it would take far more memory than it holds data.
    pickle.UnpicklingError
        For tuples that would take too long to hash, and lengths that no pickler writes. Data that
        is not a pickle is left to the unpickler, which stops at the same place.
    """
    start = stream.tell()
    size = stream.seek(0, os.SEEK_END) - start
    most = MEMORY + MEMORY_PER_BYTE * size
    stream.seek(start)
    scan = _Scan(stream, _allocated_at_most)
    harmless = scan.harmless()
    if scan.memory > most:
        # Bytes of numbers may look like opcodes: count again, opcode by opcode.
        stream.seek(start)
        exact = _Scan(stream, _allocated, most)
        exact.harmless()
        if exact.memory > most:
            raise InputError(
                f"{file}: holds {size / 1e6:,.0f} MB, but would take more than {most / 1e9:.1f} GB "
                "of memory: it consists of millions of empty or tiny lists, dicts or sets; write "
                "the numbers of each image as arrays or lists"
            )
    if not harmless:
        stream.seek(start)
        _follow(stream)
    stream.seek(start)


def first_opcodes(stream: BinaryIO, most: int) -> int:
    """Return the length of the first opcodes of a pickle: at least ``most`` bytes, whole frames.

    0 if the pickle ends before. The stream is rewound to its start.
    """
    start = stream.tell()
    scan = _Scan(stream, len)
    while (more := scan.place < max(most, scan.frame)) and scan.step():
        pass
    stream.seek(start)
    return 0 if more else scan.place


def _allocated_at_most(run: bytes) -> int:
    """Memory that plain opcodes take, as if each byte of their arguments were one, too."""
    return 8 * int(np.frombuffer(run.translate(_ALLOCATED), dtype=np.uint8).sum())


def _allocated(run: bytes) -> int:
    """Memory that plain opcodes take."""
    tokens = [match[0] for match in _TOKEN.finditer(run)]
    letters = sum(len(token) for token in tokens if token[:1] in _COUNTED)
    return 8 * sum(_ALLOCATED[token[0]] for token in tokens) + _WIDEST * letters


class _Scan:
    """One pass over the opcodes, which remembers only the last run of plain ones.

    Parameters
    ----------
    stream : binary file
        At the start of the pickle.
    allocated : callable
        Counts the memory that a run of plain opcodes takes.
    most : int
        Memory from which on the pass ends.
    """

    def __init__(
        self, stream: BinaryIO, allocated: Callable[[bytes], int], most: float = math.inf
    ) -> None:
        self.stream, self.plain = stream, _PLAIN
        self.allocated, self.most, self.memory = allocated, most, 0
        self.data = b""
        # Offsets in the data: of the next opcode, of the run of plain opcodes before it, and of
        # the run before that one.
        self.at = self.run = self.begin = 0
        # Offsets in the pickle: of the data, and of the end of the current frame.
        self.passed = self.frame = 0
        self.wide = 0

    def harmless(self) -> bool:
        """Check announced sizes; return whether all tuples are harmless."""
        while self.memory <= self.most and self.step():
            pass
        return self.plain is _PLAIN

    @property
    def place(self) -> int:
        """Offset of the next opcode in the pickle."""
        return self.passed + self.at

    def step(self) -> bool:
        """Pass over some opcodes; return False at the end, and where there is no pickle."""
        if not self._ahead(AHEAD):
            return False
        run = self._run()
        if run is not None:
            self.memory += self.allocated(run.group())
            self.begin, self.run, self.at = self.run, self.at, run.end()
            return True
        code = self.data[self.at : self.at + 1]
        if code in _TUPLES or code == b"t":
            if not self._harmless_tuple(code):
                self.plain = _ANY  # the pickle must be followed step by step
            self._pass(1)
            return True
        return self._passed(code)

    def _run(self) -> re.Match[bytes] | None:
        """Match plain opcodes up to the end of the frame, None if there are none."""
        left = self.frame - self.passed
        plain = self.plain if self.place < _FAR else _FARTHER[self.plain]
        if self.at >= left:
            return plain.match(self.data, self.at)
        run = plain.match(self.data, self.at, left)
        if run is None and plain.match(self.data, self.at):
            # Python's unpickler reads frame by frame and would continue elsewhere.
            raise pickle.UnpicklingError(_CROSSING)
        return run

    def _ahead(self, wanted: int) -> bool:
        """Read more if fewer bytes than wanted are left; return whether any are left."""
        while len(self.data) - self.at < wanted:
            more = self.stream.read(max(CHUNK, wanted))
            if not more:
                break
            gone = self.begin
            self.data = self.data[gone:] + more
            self.passed += gone
            self.at, self.run, self.begin = self.at - gone, self.run - gone, 0
        return self.at < len(self.data)

    def _pass(self, length: int) -> None:
        """Skip an opcode that is not plain; it must not cross the end of its frame."""
        here = self.passed + self.at
        if here < self.frame < here + length:
            raise pickle.UnpicklingError(_CROSSING)
        self.memory += _TEXT + _WIDEST * length
        self.at += length
        while self.at > len(self.data):
            missing = self.at - len(self.data)
            more = self.stream.read(min(CHUNK, missing))
            if not more:
                raise EOFError
            self.passed += len(self.data)
            self.data, self.at = more, missing
        self.run = self.begin = self.at

    def _harmless_tuple(self, code: bytes) -> bool:
        """Whether a tuple holds only a few numbers."""
        # Opcodes can only be split from front to back.
        before = [match[0] for match in _TOKEN.finditer(self.data, self.begin, self.at)]
        last = before[-_FEW:][::-1]
        numbers = next((n for n, each in enumerate(last) if not _NUMBERS.match(each)), len(last))
        if code == b"t":
            return numbers < len(last) and last[numbers] == b"("
        return numbers >= _TUPLES[code]

    def _passed(self, code: bytes) -> bool:
        """Skip an opcode that is neither plain nor a tuple; False if it is not a known opcode."""
        if code in _COUNTED:
            size = _COUNTED[code]
            length = int.from_bytes(self._argument(size), "little")
            if code in _INTEGERS:
                self._check_integer(length)
            self._pass(1 + size + length)
        elif code in _LINES:
            self._pass(self._lines(code))
        elif code == b"\x95":
            length = int.from_bytes(self._argument(8), "little")
            if length > LONGEST_FRAME or self.passed + self.at < self.frame:
                raise pickle.UnpicklingError("a frame is longer than any pickler writes")
            self._pass(9)
            self.frame = self.passed + self.at + length
        elif code == b"r":
            self._check_index(int.from_bytes(self._argument(4), "little"))
            self._pass(5)
        elif code in _FIXED:
            self._pass(_FIXED[code])
        else:
            return False
        return True

    def _argument(self, size: int) -> bytes:
        found = self.data[self.at + 1 : self.at + 1 + size]
        if len(found) < size:
            raise EOFError
        return found

    def _lines(self, code: bytes) -> int:
        """Return the length of an opcode whose argument is one or two lines."""
        length = 1
        for _ in range(_LINES[code]):
            while (end := self.data.find(b"\n", self.at + length)) < 0:
                length = len(self.data) - self.at
                self._ahead(length + 1)
                if len(self.data) - self.at == length:
                    raise EOFError
            length = end + 1 - self.at
        line = self.data[self.at + 1 : self.at + length - 1]
        if code in _INTEGERS:
            self._check_integer(len(line) // 2)  # 2.4 digits per byte
        if code == b"p":
            # Python parses the number only up to a zero byte, so anything but digits is refused.
            if not line.strip().isdigit():
                raise pickle.UnpicklingError("a memo index is not a number")
            self._check_index(int(line[:20]))
        return length

    def _check_integer(self, length: int) -> None:
        self.wide += length > 8
        if length > LONGEST_INTEGER or self.wide > WIDE_INTEGERS:
            raise pickle.UnpicklingError("whole numbers of more than 64 bits are too long or many")

    def _check_index(self, index: int) -> None:
        """Refuse a memo index higher than the number of bytes so far, which no pickler writes."""
        if index > self.passed + self.at:
            raise pickle.UnpicklingError(f"the memo index {index} is too high")


class _Tuple(NamedTuple):
    """The depth of a tuple, and how many items its hash visits."""

    depth: int
    visits: int


def _follow(stream: BinaryIO) -> None:
    """Follow a pickle step by step, and add up the items that hashing its tuples may visit.

    The stack mirrors that of the unpickler; it holds the sizes of tuples, and None for all else.
    """
    stack: list[_Tuple | str | None] = []
    memo: dict[int, _Tuple | str | None] = {}
    visits = 0
    for opcode, argument, place in pickletools.genops(stream):
        if opcode.name in _PUTS:
            memo[len(memo) if argument is None else argument] = stack[-1]
            continue
        top = _effect(opcode, argument, stack, memo)
        if not isinstance(top, _Tuple):
            continue
        visits += top.visits
        if top.depth > DEEPEST or visits > VISITS + VISITS_PER_BYTE * (place or 0):
            raise pickle.UnpicklingError("tuples hold tuples too deep or too often; write lists")


def _effect(
    opcode: pickletools.OpcodeInfo, argument: Any, stack: list[Any], memo: dict[int, Any]
) -> Any:
    """Apply an opcode to the stack; return what it pushes, None if nothing new."""
    if opcode.name in _KEEPING:
        _taken(stack, opcode.stack_before[1:])
        return None
    if opcode.name in ("POP", "STOP"):
        stack.pop()
        return None
    if opcode.name == "DUP":
        new = stack[-1]
    elif opcode.name in _GETS:
        new = memo.get(argument)
    elif opcode.name == "MARK":
        new = _MARK
    else:
        items = _taken(stack, opcode.stack_before)
        if not opcode.stack_after:
            return None
        new = _of(items) if opcode.stack_after == [pickletools.pytuple] else None
    stack.append(new)
    return new


def _taken(stack: list[Any], wanted: list[Any]) -> list[Any]:
    """Pop the operands of an opcode: back to the last mark if it takes one."""
    if pickletools.markobject not in wanted:
        return [stack.pop() for _ in wanted]
    items = []
    while (item := stack.pop()) is not _MARK:
        items.append(item)
    for _ in range(wanted.index(pickletools.markobject)):
        stack.pop()
    return items


def _of(items: list[Any]) -> _Tuple:
    tuples = [each for each in items if isinstance(each, _Tuple)]
    return _Tuple(
        depth=1 + max((each.depth for each in tuples), default=0),
        visits=1 + len(items) - len(tuples) + sum(each.visits for each in tuples),
    )
