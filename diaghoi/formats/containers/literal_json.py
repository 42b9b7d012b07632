"""Rewrite Python literals as JSON, by passes over the text that run in C.

This is the fast half of :mod:`diaghoi.formats.containers.literals`. It knows what ``repr`` prints
for plain data and for NumPy 2 scalars, and leaves everything else to the parser there. What it
rewrites means the same as before; whether the result is well-formed is for the JSON decoder.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.exceptions import InputError

# Long enough for passes in C, short enough for the caches of the processor.
_PIECE = 1 << 18
# Nesting that no file of results comes near, and far from the recursion limit of Python.
DEEPEST = 100
# More than any float has, and less than any limit of Python. int() takes time by the square of the
# digits.
MOST_DIGITS = 400
# A text with more lists than this is a memory bomb: "[]," takes three bytes in the file, and an
# empty list takes 56 in Python. A dict takes three times as much as a list.
_BYTES_PER_LIST = 6
_LISTS_PER_DICT = 3
_FEW = 1 << 20

_OF_NUMBERS = b"0123456789.+-e"
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = np.zeros(256, np.int8)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1

_FLOATS = re.compile(r"[-+0-9.e, \t\r\n]+")
# Stands for "np.float32(" and the like while a text is rewritten.
_OPEN = b"\x01"
_SIZES = (16, 32, 64)
_SCALARS = (
    *(b"np.float%d(" % size for size in _SIZES),
    *(b"np.int%d(" % size for size in (8, *_SIZES)),
    *(b"np.uint%d(" % size for size in (8, *_SIZES)),
)
_TO_JSON = bytes.maketrans(b"'" + _OPEN + b")", b'"  ')
_WITHOUT_SCALARS = bytes.maketrans(_OPEN + b")", b"  ")
# Everything but what has a meaning inside or outside of strings.
_NO_GROUPS = bytes(set(range(256)) - set(b"'()[]{}" + _OPEN))
_WORDS = {
    "np.True_": "true",
    "np.False_": "false",
    "np.nan": "NaN",
    "np.inf": "Infinity",
    "True": "true",
    "False": "false",
    "None": "null",
    "nan": "NaN",
    "inf": "Infinity",
}
# Words of JSON that mean nothing in Python.
_FOREIGN = ("true", "false", "null", "NaN", "Infinity")
# Parts of all words above without the letter e, rare in file names and keys.
_SUSPECT = (b"N", b"ru", b"als", b"ull", b"nan", b"nf")
_CUT_OFF = "'"
_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE = re.compile(r"[^\x00-\x7f]+")
# Of every tenth character: a number of more than MOST_DIGITS digits has so many in a row.
_EVERY = 10
_LONG = re.compile(rb"[0-9]{%d}" % (MOST_DIGITS // _EVERY))


class Weight:
    """Counts lists and dicts, to refuse text that would need far more memory than its length.

    Parameters
    ----------
    length : int
        Characters of the whole text.
    file : str
        Name of the file, for messages.
    """

    def __init__(self, length: int, file: str) -> None:
        self._left, self._file = _FEW + length // _BYTES_PER_LIST, file

    def add(self, lists: int, dicts: int) -> None:
        """Count some more.

        Raises
        ------
        InputError
            If they are too many for the text.
        """
        self._left -= lists + _LISTS_PER_DICT * dicts
        if self._left < 0:
            raise InputError(
                f"{self._file}: consists mostly of empty or tiny lists and dicts; write their "
                "contents"
            )


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place between two tokens of a text.

    Parameters
    ----------
    json, text : int
        Characters before it in the JSON and in the text.
    within : bytes
        The brackets and braces that are open there, outermost first.
    """

    json: int = 0
    text: int = 0
    within: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """A text as JSON.

    Parameters
    ----------
    json : str
        In ASCII.
    places : list of Place
        Some places in ascending order, the first of them the start.
    """

    json: str
    places: list[Place]

    def around(self, at: int) -> tuple[Place, int]:
        """Return the place before a character of the JSON, and where the text goes on behind."""
        number = bisect_right(self.places, at, key=lambda place: place.json) - 1
        behind = self.places[number + 1 : number + 2]
        return self.places[number], behind[0].text if behind else sys.maxsize


def whole_as_json(text: str, file: str) -> Rewritten | None:
    """Rewrite a whole text as JSON.

    Parameters
    ----------
    text : str
        Any text.
    file : str
        Name of the file, for messages.

    Returns
    -------
    Rewritten or None
        JSON that is malformed where the text is, or means the same; None for text that needs the
        parser: escapes, double quotes, tuples, arrays, deep nesting, and most damage.
        A string that is cut off by the end of the text becomes a single quotation mark.

    Raises
    ------
    InputError
        For text that would need far more memory than its length.
    """
    weight, pieces, place, places = Weight(len(text), file), [], Place(), []
    for piece in _pieces(text):
        places.append(place)
        if piece == _CUT_OFF:
            pieces.append('"')
            break
        found = None if piece is None else piece_as_json(piece)
        if piece is None or found is None:
            return None
        rewritten, brackets = found
        if not pieces and len(piece) < len(text) and _damaged(rewritten):
            return None  # instead of rewriting all of it for nothing
        if len(place.within) + levels(brackets)[0] > DEEPEST:
            return None
        weight.add(brackets.count(b"["), brackets.count(b"{"))
        pieces.append(rewritten)
        place = Place(
            json=place.json + len(rewritten),
            text=place.text + len(piece),
            within=_still_open(place.within, brackets),
        )
    return Rewritten(json="".join(pieces), places=places)


def _damaged(start: str) -> bool:
    """Whether JSON is malformed before it ends, too early."""
    try:
        json.loads(start)
    except json.JSONDecodeError as error:
        return error.pos < len(start.rstrip()) and not error.msg.startswith("Unterminated")
    except (ValueError, RecursionError):
        return True
    return False


def _still_open(before: bytes, brackets: bytes) -> bytes:
    """Return what is open after some brackets and braces, of them and of those open before."""
    if not brackets:
        return before
    kinds = np.frombuffer(brackets, np.uint8)
    deep = np.cumsum(_STEP[kinds], dtype=np.int32)
    lowest = np.minimum.accumulate(deep[::-1])[::-1]
    own = kinds[(_STEP[kinds] > 0) & (deep == lowest)]
    return before[: max(0, len(before) + min(0, int(lowest[0])))] + bytes(own)


def levels(brackets: bytes) -> tuple[int, int]:
    """Return how deep brackets and braces nest, and how deep they are at their end."""
    deep = np.cumsum(_STEP[np.frombuffer(brackets, np.uint8)], dtype=np.int32)
    return (int(deep.max()), int(deep[-1])) if len(deep) else (0, 0)


def _pieces(text: str) -> Iterator[str | None]:
    """Cut a text between tokens: behind a comma, or before a string that contains commas.

    ``_CUT_OFF`` stands for a string without an end, None for a rest that needs the parser.
    """
    start = 0
    while start < len(text):
        stop = start + _PIECE
        if stop < len(text):
            stop = text.rfind(",", start, stop) + 1
        if text.count("'", start, stop) % 2:
            quote = text.rfind("'", start, stop)
            if stop >= len(text):
                yield text[start:quote]
                rest = text[quote:]
                yield None if '"' in rest or "\\" in rest else _CUT_OFF
                return
            stop = quote
        if stop <= start:
            yield None
            return
        yield text[start:stop]
        start = stop


def flat_value(flat: str) -> Any:
    """Decode a list, dict or tuple without others, quotation marks and backslashes.

    Parameters
    ----------
    flat : str
        From bracket to bracket; in a tuple only numbers.

    Returns
    -------
    list, dict or None
        A tuple as a list; None for text that is damaged or has words in it, and for most text
        longer than ``MOST_DIGITS``.
    """
    items = flat[1:-1]
    if flat[0] == "(":
        items = items.rstrip().removesuffix(",")
        flat = f"[{items}]"
    # NumPy prints 1.0 as "1.", which JSON does not have.
    numbers = flat[0] != "{" and items.count(".") == items.count(",") + 1
    if numbers and _FLOATS.fullmatch(items):
        try:
            return list(map(float, items.split(",")))
        except ValueError:
            return None
    if len(flat) > MOST_DIGITS or any(word in flat for word in _FOREIGN):
        return None
    try:
        return json.loads(flat.replace("'", '"'))
    except ValueError:
        return None


def piece_as_json(piece: str) -> tuple[str, bytes] | None:
    """Rewrite a text that begins and ends outside of strings.

    Parameters
    ----------
    piece : str
        Any text.

    Returns
    -------
    tuple of (str, bytes) or None
        JSON as in :func:`whole_as_json`, and the brackets and braces outside of strings; None for
        text that needs the parser.
    """
    if '"' in piece or "\\" in piece:
        return None
    return _without_split(piece) or _split(piece)


def _without_split(piece: str) -> tuple[str, bytes] | None:
    """Rewrite a text whose strings hold nothing that has a meaning outside of strings."""
    if not piece.isascii():
        return None
    found = _with_open_scalars(piece.encode())
    if found is None:
        return None
    code, bare = found
    groups = bare.translate(None, _NO_GROUPS)
    # Strings between two brackets make an even number of quotation marks.
    if b"'" in groups.replace(b"''", b"") or any(word in bare for word in _SUSPECT):
        return None
    return code.translate(_TO_JSON).decode(), groups.translate(None, _NO_BRACKETS)


def _split(piece: str) -> tuple[str, bytes] | None:
    """Rewrite the text between strings, and put it back between them."""
    parts = piece.split("'")
    if len(parts) % 2 == 0:
        return None
    outside = "'".join(parts[::2])
    if any(word in outside for word in _FOREIGN):
        return None
    for word, written in _WORDS.items():
        outside = outside.replace(word, written)
    found = _with_open_scalars(outside.encode("ascii", "replace"))
    if found is None:
        return None
    code, bare = found
    parts[::2] = code.translate(_WITHOUT_SCALARS).decode().split("'")
    rewritten = '"'.join(parts)
    if not rewritten.isascii():
        # Two surrogates in a row are two characters in Python, and one in JSON.
        if _SURROGATE.search(rewritten):
            return None
        # One character beyond ASCII would double the memory of the whole text, or worse.
        rewritten = _WIDE.sub(lambda match: json.dumps(match.group())[1:-1], rewritten)
    return rewritten, bare.translate(None, _NO_BRACKETS)


def _with_open_scalars(code: bytes) -> tuple[bytes, bytes] | None:
    """Shorten "np.float32(" and the like to one character.

    Returns
    -------
    tuple of (bytes, bytes) or None
        The code, and the same without the characters of numbers; None for other names or
        parentheses, and for numbers that are too long.
    """
    if _LONG.search(code[::_EVERY]) or _OPEN in code:
        return None
    while (start := code.find(b"(")) >= 0:
        name = next((each for each in _SCALARS if code.endswith(each, 0, start + 1)), None)
        if name is None or name + b")" in code:
            return None
        code = code.replace(name, _OPEN)
    bare = code.translate(None, _OF_NUMBERS)
    scalars, closed = bare.count(_OPEN), bare.count(_OPEN + b")")
    if closed < scalars:
        closed += bare.count(_OPEN + b"NaN)") + bare.count(_OPEN + b"Infinity)")
    # Each opens before a number and closes behind it.
    if closed != scalars or scalars != bare.count(b")"):
        return None
    return code, bare
