"""Read text: JSON, JSON Lines, and plain data as Python prints it.

Some code bases save ``json.dump(str(results), file)``: a JSON file with one string. Printed Python
data is never executed: regular expressions rewrite the text as JSON, and the JSON decoder rejects
whatever is not plain data.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diaghoi.exceptions import InputError
from diaghoi.formats.pickle import collector_off

STARTS = (b"[", b"{", b'"')
"""Possible beginnings of readable texts."""

# A text with more lists than these limits allow is a memory bomb: "[]," takes three bytes in the
# file, and an empty list 56 in Python. A dict takes three times as much memory as a list.
_FREE_LISTS, _BYTES_PER_LIST, _LISTS_PER_DICT = 1 << 20, 6, 3
# Separator that precedes every list or dict but the first.
_BETWEEN = re.compile(r"[\s,]*(?=[\[{])")
_EXCERPT = 40
# Maximum length, in characters, of texts that are searched for duplicate keys in an object. The
# search adds a third to the decoding time. Longer files come from programs, whose dicts have unique
# keys.
_LOOKED_AT = 1 << 26

# The escapes that Python prints.
_ESCAPE = re.compile(r"\\(?:[\\'\"nrt]|x[\da-f]{2}|u[\da-f]{4}|U00(?:0[\da-f]|10)[\da-f]{4})")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t"}
_CONTENT = rf"[^%s\\\0-\x1f]*(?:{_ESCAPE.pattern}[^%s\\\0-\x1f]*)*"
_QUOTED = "|".join(f"{quote}{_CONTENT}{quote}" % (quote, quote) for quote in ("'", '"'))
_STRING = re.compile(f"({_QUOTED})")
# A string with the text before it, and the ")" of np.str_(...). The first pattern is for texts
# without '"' and "\\".
_PLAIN_PIECE, _PIECE = r"[^']*'[^']*'\)?", rf"[^'\"]*(?:{_QUOTED})\)?"
# A character that JSON lacks. If invalid text contains this character, it stays; other invalid text
# is marked with it. In both cases, the JSON decoder rejects the text.
_WRONG = "!"
_SCALAR = re.compile(r"np\.(?:float(?:16|32|64)|u?int(?:8|16|32|64))\(([-+.\de]+|nan|-?inf)\)")
# Spaces on each side of a NumPy scalar, in place of its name and parentheses, so that offsets in
# the text and in the JSON stay close.
_AROUND = " " * 6
_ARRAY = re.compile(
    r"(?:np\.)?array\((\[[^()']*\]|[-+.\w]+)(?:,\s*(?:shape=\(0[, \d]*\)|dtype=\w+))*\)"
)
# NumPy prints 1.0 as "1.", which is not valid JSON.
_POINT = re.compile(r"(?<=\d)\.(?!\d)")
# Each word below has a letter other than "e", the only letter that numbers contain.
_LETTER, _WORD = re.compile("[A-Zac-df-z_]"), re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")
_WORDS = {"True": "true", "False": "false", "None": "null", "nan": "NaN", "inf": "Infinity"}
_WORDS |= {"np.True_": "true", "np.False_": "false", "np.nan": "NaN", "np.inf": "Infinity"}
_WORDS |= {word: _WRONG + word for word in ("true", "false", "null", "NaN", "Infinity")}
# Prefix of keys that are integers. Keys have at most 18 digits: longer integers could be chosen to
# have equal hashes, and then building a dict would take quadratic time.
_INTEGER = "\udbff"
_TOKEN = re.compile(
    r"(?<!\w)\(\)?|(?<![(\[{,:]),\)|[\[{,\]})]|(?<=[{,\s])(?:0|-?[1-9]\d{0,17})(?=\s*:)"
)
# An opening bracket and its closing bracket; in tuples, with the comma after the first value.
_PAIRS = {("[", "]"), ("{", "}"), ("(", ",)"), ("(,", ")"), ("(,", ",)")}


def load_json(path: Path) -> tuple[Any, tuple[int, ...], tuple[str, ...]]:
    """Read a file with JSON, one JSON value per line, or printed Python data.

    Parameters
    ----------
    path : pathlib.Path
        The file, in UTF-8.

    Returns
    -------
    value : object
        Plain dicts, lists, strings, numbers, booleans and None.
    lines : tuple of int
        Line number of each value in a JSON Lines file; otherwise empty.
    notes : tuple of str
        Note on a key that appears twice in an object.

    Raises
    ------
    InputError
        If the file is truncated, damaged or a memory bomb.
    """
    try:
        with collector_off():
            text = path.read_text(encoding="utf-8-sig")
            objects = _Objects(look=len(text) <= _LOOKED_AT)
            if text.startswith(("{'", "[{'")):  # print(results), not json.dump
                return load_literal(text, str(path)), (), ()
            _check_lists(text, str(path))
            try:
                value = objects.loads(text)
            except json.JSONDecodeError as error:
                if not error.msg.startswith("Extra data"):
                    raise
                return *_json_lines(path, text, objects), objects.notes
            if isinstance(value, str):  # json.dump(str(results)): text within the text
                text = value
                value = load_literal(text, str(path))
            return value, (), objects.notes
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}: cut off or damaged JSON ({error!s:.120}); copy or write it again"
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not a readable JSON file ({what:.120})") from error


class _Objects:
    """A decoder that remembers the first key that appears twice in one object of a file."""

    def __init__(self, *, look: bool) -> None:
        self.notes: tuple[str, ...] = ()
        self.hook = self.of if look else None

    def loads(self, text: str) -> Any:
        return json.loads(text, object_pairs_hook=self.hook)

    def of(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs) and not self.notes:
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            self.notes = (f"an object has the key {twice!r:.60} twice; the last value counts",)
        return value


def _json_lines(path: Path, text: str, objects: _Objects) -> tuple[list[Any], tuple[int, ...]]:
    values, numbers = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(objects.loads(line.lstrip("\ufeff")))
            numbers.append(number)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}: line {number}: cut off or damaged JSON ({error!s:.120}); give one JSON "
                "value for the whole file, or one per line"
            ) from None
    return values, tuple(numbers)


def first_of_json(path: Path, most: int) -> list[Any]:
    """Read the first lists and dicts of a JSON list or of JSON Lines.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    most : int
        Number of characters to read.

    Raises
    ------
    InputError
        If the file is a memory bomb. At a damaged value, reading stops without an error.
    """
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        text = stream.read(most)
    _check_lists(text, str(path))
    decoder, values = json.JSONDecoder(), []
    place = 1 if text.startswith("[") else 0
    while start := _BETWEEN.match(text, place):
        try:
            value, place = decoder.raw_decode(text, start.end())
        except (ValueError, RecursionError):
            break  # cut off here; reading the whole file reports any other error
        values.append(value)
    return values


def _check_lists(text: str, file: str) -> None:
    lists = text.count("[") + text.count("(") + _LISTS_PER_DICT * text.count("{")
    if lists > _FREE_LISTS + len(text) // _BYTES_PER_LIST:
        raise InputError(
            f"{file}: consists mostly of empty or tiny lists and dicts, as in a memory bomb; "
            "write the file again without empty or tiny ones"
        )


def load_literal(text: str, file: str) -> Any:
    """Read plain data as printed by Python, without executing any of the text.

    Parameters
    ----------
    text : str
        Text printed by ``str`` or ``repr``. The text may contain dicts, lists, tuples, strings,
        numbers, ``nan``, ``inf``, ``True``, ``False``, ``None``, and printed NumPy scalars and
        arrays.
    file : str
        Name of the file, for messages.

    Returns
    -------
    object
        Plain dicts, lists, strings, numbers, booleans and None. Tuples and arrays become lists;
        dict keys are strings and integers. Numbers keep their printed digits: ``np.float32(0.1)``
        is 0.1.

    Raises
    ------
    InputError
        If the text is damaged or truncated, contains code, or cannot be represented. The message
        gives the location, an excerpt and advice. The error is also raised for objects of other
        types, and for arrays that NumPy abbreviated.
    """
    first, last = text[:_EXCERPT].lstrip()[:1], text[-_EXCERPT:].rstrip()[-1:]
    if last != {"[": "]", "{": "}"}.get(first, last):
        raise _cut_off(text, file)
    _check_lists(text, file)
    try:
        with collector_off():
            try:
                return json.loads("".join(_as_json(text, None)))
            except ValueError:
                code = "".join(_as_json(text, []))
            return json.loads(code, object_pairs_hook=_with_integers)
    except json.JSONDecodeError as error:
        if not error.doc[error.pos :].strip() or error.msg.startswith("Unterminated"):
            raise _cut_off(text, file) from None
        raise _damaged(text, error, file) from None
    except (ValueError, RecursionError, MemoryError) as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{file}: text of a Python object that cannot be loaded ({what:.120}); write it as JSON"
        ) from error


def _cut_off(text: str, file: str) -> InputError:
    if not text.strip():
        return InputError(f"{file}: the text of the Python object is empty; write it again")
    return InputError(
        f"{file}: the text of the Python object is cut off: it ends after {len(text):,} characters "
        f"with {text[-_EXCERPT:]!r}; copy or write it again"
    )


def _damaged(text: str, error: json.JSONDecodeError, file: str) -> InputError:
    """Report the location of an error in the text, with an excerpt."""
    place, left = 0, error.pos
    for piece, code in zip(_pieces(text, 1), _as_json(text, [], 1), strict=True):
        if left < len(code):
            break
        place, left = place + len(piece), left - len(code)
    excerpt = error.doc[error.pos : error.pos + _EXCERPT]
    excerpt = excerpt.replace(_WRONG, "").replace(_INTEGER, "")
    what, remedy = f"damaged ({error.msg})", "copy or write it again"
    if excerpt.startswith("..."):
        what = "'...' means values that NumPy left out when it printed a long array"
        remedy = "save array.tolist() instead"
    elif name := _WORD.match(excerpt):
        what = f"{name[0]!r:.60} is not a plain value"
        remedy = "save plain lists and numbers: array.tolist(), float(score)"
    return InputError(
        f"{file}: near character {place + left + 1:,} of the text of a Python object, "
        f"at {excerpt!r}: {what}; {remedy}"
    )


def _pieces(text: str, strings: int) -> Iterator[str]:
    """Split a text into pieces with at most ``strings`` quoted strings, never inside a string."""
    piece = _PIECE if '"' in text or "\\" in text else _PLAIN_PIECE
    pattern, start = re.compile(f"(?:{piece}){{1,{strings}}}"), 0
    while start < len(text):
        match = pattern.match(text, start)
        yield match[0] if match else text[start:]
        start = match.end() if match else len(text)


def _as_json(text: str, brackets: list[str] | None, strings: int = 1000) -> Iterator[str]:
    """Rewrite a text as JSON; where the text is malformed, the JSON is malformed, too.

    Tuples and integer keys are rewritten, too, if ``brackets`` is a list, which collects the open
    brackets.
    """
    for piece in _pieces(text, strings):
        plain = '"' not in piece and "\\" not in piece
        parts = piece.split("'") if plain else _STRING.split(piece)
        code = "'".join(parts[::2])
        if not plain and code.count("'") != len(parts) // 2:
            yield _WRONG + piece
            continue
        code = _code_as_json(code)
        if brackets is not None:
            code = _TOKEN.sub(lambda token: _token_as_json(token[0], brackets), code)
        parts[::2] = code.split("'")
        if not plain:
            parts[1::2] = [
                json.dumps(_ESCAPE.sub(_character, content), ensure_ascii=False)
                if "\\" in content or '"' in content
                else f'"{content}"'
                for content in (string[1:-1] for string in parts[1::2])
            ]
        yield ('"' if plain else "").join(parts)


def _character(escape: re.Match[str]) -> str:
    letter, digits = escape[0][1], escape[0][2:]
    return chr(int(digits, 16)) if digits else _LETTERS.get(letter, letter)


def _code_as_json(code: str) -> str:
    """Rewrite the text outside of strings; a quotation mark takes the place of each string."""
    code = code.replace("np.str_(')", "        ' ")
    if "np." in code:
        code = _AROUND.join(_SCALAR.split(code))
    if "array(" in code:
        code = _ARRAY.sub(_array_as_json, code)
    if _LETTER.search(code):
        code = _WORD.sub(lambda word: _WORDS.get(word[0], word[0]), code)
    return code


def _array_as_json(array: re.Match[str]) -> str:
    """Return the values of a printed array, or the call unchanged if they do not form one list."""
    values = array[1]
    depth = len(values) - len(values.lstrip("["))
    if depth and values.count("]" * depth) != 1:
        return array[0]
    return _POINT.sub(".0", values).center(len(array[0]))


def _token_as_json(token: str, brackets: list[str]) -> str:
    """Rewrite a bracket of a tuple, or an integer key, as JSON; mark a wrong bracket."""
    if token in ("[", "{", "("):
        brackets.append(token)
        return token.replace("(", "[")
    if token == "()":
        return "[]"
    if token == ",":
        if brackets and brackets[-1] == "(":
            brackets[-1] = "(,"
        return token
    if token[-1].isdigit():
        return f'"{_INTEGER}{token}"'
    if not brackets or (brackets.pop(), token) not in _PAIRS:
        return _WRONG + token
    return token.replace(",)", "]").replace(")", "]")


def _with_integers(pairs: list[tuple[str, Any]]) -> dict[str | int, Any]:
    return {int(key[1:]) if key[:1] == _INTEGER else key: value for key, value in pairs}
