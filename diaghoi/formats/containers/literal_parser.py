"""Parse Python literals by hand, value by value: the careful half of the literals.

It reads everything that :mod:`diaghoi.formats.containers.literals` promises, and says where a text
is damaged. Lists and dicts within the text that are plain are decoded in C here, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from diaghoi.exceptions import InputError
from diaghoi.formats.containers.literal_json import (
    DEEPEST,
    MOST_DIGITS,
    Place,
    Weight,
    flat_value,
    levels,
    piece_as_json,
)
from diaghoi.formats.containers.literal_tokens import (
    CLOSE,
    CONSTANTS,
    ENDS,
    ESCAPE,
    FACTORY,
    FLAT,
    KEYWORD,
    LETTERS,
    NAME,
    NUMBER,
    SCALARS,
    SETS,
    SPACE,
)

# The parser takes some microseconds per value; a file of 9,658 images with an array per box has
# four million.
_MOST_VALUES = 6_000_000
# Results have at least this many characters per value that is not decoded in C.
_FREE_VALUES = 1 << 18
_LEAST_CHARACTERS = 12
_LONGEST_TOKEN = 5000
_LONGEST_STRING = 1 << 20
_LONGEST_PLAIN = 1 << 16
_CREDIT = 1 << 24
# Larger keys can be chosen such that all have the same hash, which takes quadratic time.
_LARGEST_KEY = 1 << 60
_EXCERPT = 40

_SAVE = "save plain lists and numbers: array.tolist(), float(score)"


def cut_off(text: str, file: str) -> InputError:
    """Return the error for a text that ends too early."""
    if not text.strip():
        return InputError(f"{file}: the text of the Python object is empty; write it again")
    return InputError(
        f"{file}: the text of the Python object is cut off: it ends after {len(text):,} characters "
        f"with {text[-_EXCERPT:]!r}; copy or write it again"
    )


class _PassedError(Exception):
    """The parser has passed the place where it was to stop."""


class Parser:
    """Reads one value after the other, from left to right.

    Parameters
    ----------
    text : str
        Any text.
    file : str
        Name of the file, for messages.
    """

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.at = self.level = self.values = 0
        self.weight = Weight(len(text), file)
        self.credit = _CREDIT
        self.stop = len(text)

    def whole(self) -> Any:
        """Read the only value of the text.

        Raises
        ------
        InputError
            For text that is damaged, not plain data, or too much to be held.
        """
        value = self.value()
        self.end()
        return value

    def end(self) -> None:
        """Check that nothing follows."""
        self.next()
        if self.at < len(self.text):
            self.fail("more text follows after the value", "write one object")

    def check_from(self, place: Place, behind: int) -> None:
        """Read from a place on, up to which the text is right, and not beyond another.

        Raises
        ------
        InputError
            If the text is damaged between them.
        """
        self.at, self.level, self.stop = place.text, len(place.within), behind
        ahead = self.text[max(0, self.at - _EXCERPT) : self.at].rstrip()[-1:] == ":"
        try:
            if ahead or not place.text:
                self.value()
            for opening in reversed(place.within.decode()):
                if ahead:
                    self.separator(CLOSE[opening])
                self.rest(opening)
                self.level -= 1
                ahead = True
            self.end()
        except _PassedError:
            return

    def fail(self, what: str, remedy: str = "copy or write it again") -> NoReturn:
        """Raise the error at the present place."""
        if self.at >= len(self.text):
            raise cut_off(self.text, self.file)
        excerpt = self.text[self.at : self.at + _EXCERPT]
        raise InputError(
            f"{self.file}: character {self.at + 1:,} of the text of a Python object, at "
            f"{excerpt!r}: {what}; {remedy}"
        )

    def next(self) -> str:
        """Skip white space, and return the next character; an empty string at the end."""
        character = self.text[self.at : self.at + 1]
        if character.isspace():
            self.at = SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
            character = self.text[self.at : self.at + 1]
        return character

    def expect(self, character: str) -> None:
        """Skip a character that must follow."""
        if self.next() != character:
            self.fail(f"{character!r} is missing")
        self.at += 1

    def count(self) -> None:
        """Count what takes time."""
        if self.at > self.stop:
            raise _PassedError
        self.values += 1
        most = min(_MOST_VALUES, _FREE_VALUES + self.at // _LEAST_CHARACTERS)
        if self.values > most:
            self.fail(f"more than {most:,} values that are damaged or not printed plainly", _SAVE)

    def value(self) -> Any:
        """Read a value."""
        self.count()
        first = self.next()
        if first in CLOSE:
            return self.container(first)
        if first in ENDS:
            return self.string(first)
        return self.token()

    def token(self) -> Any:
        """Read a number, a constant, or what looks like a call."""
        stop = self.at + _LONGEST_TOKEN
        number = NUMBER.match(self.text, self.at, stop)
        if number:
            return self.number(number.group())
        name = NAME.match(self.text, self.at, stop)
        if not name:
            if self.text.startswith("...", self.at):
                self.fail(
                    "'...' stands for values that NumPy left out when it printed a long array",
                    "save array.tolist() instead",
                )
            self.fail("a value is missing")
        word = name.group()
        after = self.text[name.end() : name.end() + 1]
        if not after and word not in CONSTANTS:
            raise cut_off(self.text, self.file)
        if after == "(":
            return self.call(word, name.end() + 1)
        if after in ("'", '"'):
            self.fail(
                "bytes or a string with a prefix"
                if word.lower() in ("b", "br", "rb", "r", "u", "f")
                else f"{word!r:.60} is not a value",
                "save plain strings",
            )
        if word not in CONSTANTS:
            self.fail(f"the name {word!r:.60} is not a value", _SAVE)
        self.at = name.end()
        return CONSTANTS[word]

    def number(self, digits: str) -> int | float:
        """Convert a number, and skip it."""
        if len(digits) > MOST_DIGITS:
            self.fail(f"a number of more than {MOST_DIGITS:,} digits")
        plain = digits.lstrip("+-")
        if not plain.isdigit():
            value: int | float = float(digits)
        elif plain[0] == "0" and plain.strip("0"):
            self.fail("an integer must not start with 0")
        else:
            value = int(digits)
        self.at += len(digits)
        return value

    def string(self, quote: str) -> str:
        """Read a string."""
        start = self.at
        place, stop = start + 1, start + _LONGEST_STRING
        while True:
            end = ENDS[quote].search(self.text, place, stop)
            if end is None:
                if stop < len(self.text):
                    self.fail(f"a string of more than {_LONGEST_STRING:,} characters")
                raise cut_off(self.text, self.file)
            if end.group() != "\\":
                break
            self.count()
            place = end.end() + 1
        if end.group() != quote:
            self.fail("a string that does not end in its line")
        content = self.text[start + 1 : end.start()]
        if "\\" in content:
            content = ESCAPE.sub(self.escaped, content)
        self.at = end.end()
        if self.text[self.at : self.at + 1] in ENDS:
            self.fail("a string right after another")
        return content

    def escaped(self, match: re.Match[str]) -> str:
        """Return the character of an escape."""
        *numbers, octal, letter = match.groups()
        code = next((int(each, 16) for each in numbers if each), None)
        if octal:
            code = int(octal, 8)
        if letter:
            return LETTERS[letter]
        if code is None or code > 0x10FFFF:
            self.fail(f"the escape {match.group()!r:.20} in a string")
        return chr(code)

    def container(self, opening: str) -> Any:
        """Read a list, a tuple or a dict."""
        self.enter()
        value = self.plain()
        if value is None:
            self.weight.add(opening != "{", opening == "{")
            self.at += 1
            value = self.rest(opening)
        self.level -= 1
        return value

    def rest(self, opening: str) -> Any:
        """Read the rest of a list, a tuple or a dict, from a comma or its start to its end."""
        value = self.pairs() if opening == "{" else self.items(CLOSE[opening])
        self.expect(CLOSE[opening])
        return value

    def separator(self, close: str) -> None:
        """Skip the comma after a value, which only the end may lack."""
        if self.next() == ",":
            self.at += 1
        elif self.text[self.at : self.at + 1] != close:
            self.fail(f"',' or {close!r} is missing")

    def plain(self) -> Any:
        """Read a list, a dict or a list of dicts the fast way; None where that is not possible."""
        start, stop = self.at, min(self.at + _LONGEST_PLAIN, len(self.text))
        if self.credit > 0 and self.text.startswith("[{", start):
            end = self.text.find("}]", start, stop) + 2
            value = self.decoded(end) if end > start else None
            if value is not None:
                self.credit += end - start
                return value
            # Each time, it may look far ahead for nothing.
            self.credit -= stop - start
        flat = FLAT.match(self.text, self.at, stop)
        if not flat:
            return None
        value = flat_value(flat.group())
        if value is None:
            # Short ones are read by hand sooner than rewritten.
            return self.decoded(flat.end()) if flat.end() - start > MOST_DIGITS else None
        self.weight.add(type(value) is list, type(value) is dict)
        self.at = flat.end()
        return value

    def decoded(self, end: int) -> Any:
        """Read the text up to a place as JSON; None where it is not a whole value."""
        found = piece_as_json(self.text[self.at : end])
        if found is None:
            return None
        rewritten, brackets = found
        if self.level + levels(brackets)[0] > DEEPEST + 1:
            return None
        try:
            value = json.loads(rewritten)
        except ValueError:
            return None
        self.weight.add(brackets.count(b"["), brackets.count(b"{"))
        self.at = end
        return value

    def enter(self) -> None:
        """Count a level of nesting."""
        self.level += 1
        if self.level > DEEPEST:
            self.fail(f"nested more than {DEEPEST} levels deep", _SAVE)

    def items(self, close: str) -> Any:
        """Read the items of a list or tuple, up to its end."""
        items: list[Any] = []
        while self.next() != close:
            items.append(self.value())
            self.separator(close)
            if close == ")" and len(items) == 1 and self.text[self.at - 1] != ",":
                return items[0]  # (1) is a number, (1,) a tuple
        return items

    def pairs(self) -> dict[Any, Any]:
        """Read keys and values of a dict, up to its end."""
        found: dict[Any, Any] = {}
        while (first := self.next()) != "}":
            key = self.string(first) if first in ENDS else self.value()
            if not found and self.next() in (",", "}"):
                self.fail("a set instead of a dict or list", "save lists")
            self.check_key(key)
            self.expect(":")
            found[key] = self.value()
            self.separator("}")
        return found

    def check_key(self, key: Any) -> None:
        """Check the key of a dict that was just read."""
        if not isinstance(key, str | int) or (isinstance(key, int) and abs(key) >= _LARGEST_KEY):
            self.fail(f"the key before it is {key!r:.60}", "use strings or small integers as keys")

    def call(self, name: str, inside: int) -> Any:
        """Read what is printed as a call of a type."""
        if name not in _CALLS:
            if not SCALARS.fullmatch(name):
                self.fail(
                    "a set" if name in SETS else f"{name!r:.60} is not a plain value",
                    "save lists" if name in SETS else _SAVE,
                )
            self.at = inside
            value = self.scalar(name)
        else:
            self.enter()
            self.at = inside
            value = _CALLS[name](self)
            self.level -= 1
        self.expect(")")
        return value

    def scalar(self, name: str) -> Any:
        """Read the value of a NumPy scalar."""
        if self.next() in ENDS and name in ("np.str_", "np.longdouble"):
            start = self.at
            value = self.string(self.text[start])
            if name == "np.str_":
                return value
            try:
                return float(value)
            except ValueError:
                self.at = start
                self.fail("not a number", _SAVE)
        number = NUMBER.match(self.text, self.at, self.at + _LONGEST_TOKEN)
        if number:
            return self.number(number.group())
        word = NAME.match(self.text, self.at, self.at + _LONGEST_TOKEN)
        if not word or CONSTANTS.get(word.group()) is None:
            self.fail(f"not the value of {name}", _SAVE)
        self.at = word.end()
        return CONSTANTS[word.group()]

    def array(self) -> Any:
        """Read the values of an array or tensor."""
        value, sizes = self.value(), ""
        if not isinstance(value, list | int | float) and value is not None:
            self.fail("the values of the array before it are not a list", _SAVE)
        while self.next() == ",":
            self.count()
            self.at += 1
            keyword = KEYWORD.match(self.text, self.at)
            if not keyword:
                self.next()
                self.fail("not what is printed behind the values of an array", _SAVE)
            self.at = keyword.end()
            if keyword[1] in ("shape", "size"):
                sizes = keyword[2]
        if value == [] and sizes and not sizes.startswith("(0,"):
            self.fail(f"an empty array of shape {sizes:.60} before it", _SAVE)
        return value

    def ordered(self) -> dict[Any, Any]:
        """Read the content of an ``OrderedDict``: a dict, or a list of pairs in older Pythons."""
        if self.next() == ")":
            return {}
        value = self.value()
        if isinstance(value, dict):
            return value
        if not isinstance(value, list) or any(
            not isinstance(pair, list) or len(pair) != 2 for pair in value
        ):
            self.fail("the content of the OrderedDict before it is not a list of pairs")
        for key, _ in value:
            self.check_key(key)
        return dict(value)

    def default(self) -> dict[Any, Any]:
        """Read the factory and the dict of a ``defaultdict``."""
        factory = FACTORY.match(self.text, self.at)
        if not factory:
            self.fail("not the factory of a defaultdict")
        self.at = factory.end()
        value = self.value()
        if not isinstance(value, dict):
            self.fail("the content of the defaultdict before it is not a dict")
        return value


_CALLS: dict[str, Callable[[Parser], Any]] = {
    **dict.fromkeys(("array", "np.array", "tensor"), Parser.array),
    "OrderedDict": Parser.ordered,
    "defaultdict": Parser.default,
}
