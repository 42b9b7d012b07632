"""How files are spoilt: their bytes, the text they consist of, and the values that they hold."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 64) - 1)
_LONGEST = 1 << 16


def nested(depth: int, key: str | None = None) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value] if key is None else {key: value}
    return value


# Values that do not belong where they are put; JSON can hold these.
PLAIN: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 600, 10**6, 2**31, 2**53 + 1, 2**63, 2**64),
    *(10**400, -(10**30)),
    *(0.5, -0.0, 1e-320, 1e300, -1e308, float("nan"), float("inf"), float("-inf")),
    *("", "x", "12", "nan", "-1", "one.jpg", "../x", "/etc/passwd", "<script>", "=1+1", "a\0b"),
    *("\ud800", "\udfff\ud800", "\n", "é", "A" * 5000, "９", "QA_0", "{corruption}"),
    *([], {}, [1], ["x"], [[]], [{}], [None], [[1, 2], [3]], {"a": 1}, {"": None}, [1, 2, 3, 4]),
    *([0.0] * 5, [[1, 2, 3, 4]], ["a", "b"], nested(40), nested(40, "filename"), nested(200)),
)  # fmt: skip
# A pickle can hold these as well.
PICKLED: tuple[Any, ...] = (
    *(1j, b"x", b"", (), (1,), (1, 2, 3, 4), ((), ((),)), {1, 2}, frozenset([1]), {1: 2}),
    *({None: 1}, {(1, 2): 3}, np.float32(2.5), np.int8(-3), np.bool_(True), np.str_("x")),
    *(np.array(1.0), np.array([0.5]), np.zeros((2, 0)), np.zeros((1, 2, 3)), np.zeros((0, 4))),
    *(np.array([1 + 1j]), np.array(["a", "b"]), np.array([b"a"]), np.array([True, False])),
    *(np.array([np.nan, np.inf]), np.array([None, {}], dtype=object), np.full(4, 1e300)),
    *(np.array([2**64 - 1], dtype=np.uint64), np.zeros((2, 2), dtype=np.float16)),
    *(np.array([[1, 2], [3]], dtype=object), np.array([], dtype=object), bytearray(b"ab")),
)  # fmt: skip


def spoilt_bytes(data: bytes, random: Random) -> bytes:
    """Flip, overwrite, cut, repeat and swap bytes."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        if not found:
            return bytes(found)
        random.choice(_OF_BYTES)(found, random)
    return bytes(found[: len(data) + _LONGEST])


def _flip(data: bytearray, random: Random) -> None:
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _overwrite(data: bytearray, random: Random) -> None:
    data[random.randrange(len(data))] = random.randrange(256)


def _whole_number(data: bytearray, random: Random) -> None:
    size = random.choice((1, 2, 4, 8))
    place = random.randrange(len(data))
    number = random.choice(_INTERESTING) + random.choice((-1, 0, 0, 1))
    order = random.choice(("little", "big"))
    part = (number % (1 << 8 * size)).to_bytes(size, "big" if order == "big" else "little")
    data[place : place + size] = part


def _cut(data: bytearray, random: Random) -> None:
    del data[random.randrange(len(data)) :]


def _remove(data: bytearray, random: Random) -> None:
    place = random.randrange(len(data))
    del data[place : place + random.choice((1, 2, 4, 8, 100))]


def _repeat(data: bytearray, random: Random) -> None:
    place = random.randrange(len(data))
    part = data[place : place + random.choice((1, 4, 16, 200))]
    target = random.randrange(len(data))
    data[target:target] = part * random.choice((1, 1, 2, 50))


def _swap(data: bytearray, random: Random) -> None:
    size = random.choice((1, 4, 30))
    one, other = random.randrange(len(data)), random.randrange(len(data))
    part = bytes(data[one : one + size])
    data[other : other + size] = part


_OF_BYTES: tuple[Callable[[bytearray, Random], None], ...] = (
    _flip,
    _overwrite,
    _whole_number,
    _cut,
    _remove,
    _repeat,
    _swap,
)

_TOKEN = re.compile(r"[A-Za-z_]+|-?\d+(?:\.\d+)?|[^\w\s]")
_TEXTS = (
    *("", "nan", "inf", "-1", "0", "1e400", "99999999999999999999", "true", "[]", "{}", '"', "'"),
    *(
        ",",
        "\n",
        "\r",
        "\t",
        "\0",
        "=",
        "[",
        "]",
        "{",
        "}",
        "#",
        "\ufeff",
        "\u2028",
        "é",
        "x" * 300,
    ),
    *("[" * 3000, "{a=" * 500, "../../x", "0x10", "1_000", '"""', "=cmd|x", "1979-05-27", "{0.x}"),
)


def spoilt_text(text: str, random: Random) -> str:
    """Replace, repeat, remove and swap words, numbers, signs and lines."""
    for _ in range(random.choice((1, 1, 2, 4))):
        tokens = list(_TOKEN.finditer(text))
        lines = text.splitlines(keepends=True)
        what = random.randrange(6)
        if what < 3 and tokens:
            token, other = random.choice(tokens), random.choice(tokens)
            new = random.choice((random.choice(_TEXTS), other[0], token[0] * 2))
            text = text[: token.start()] + new + text[token.end() :]
        elif what == 3 and lines:
            del lines[random.randrange(len(lines))]
            text = "".join(lines)
        elif what == 4 and lines:
            lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
            text = "".join(lines)
        else:
            place = random.randrange(len(text) + 1)
            text = text[:place] + random.choice(_TEXTS) + text[place:]
    return text


def spoilt_value(value: Any, random: Random, odd: Sequence[Any]) -> Any:
    """Return a copy of lists, dicts and arrays with something in it replaced, added or gone."""
    root = [copy.deepcopy(value)]
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        _spoil(root, random, odd)
    return root[0]


def _spoil(root: list[Any], random: Random, odd: Sequence[Any]) -> None:
    parent, key, chosen = _place(root, random)
    new = copy.deepcopy(random.choice(odd))
    what = random.randrange(10)
    if isinstance(chosen, np.ndarray) and what < 5:
        parent[key] = _spoilt_array(chosen, random, new)
    elif what == 5 and parent is not root:
        del parent[key]
    elif what == 6 and isinstance(parent, list) and len(parent):
        parent.insert(random.randrange(len(parent) + 1), random.choice((new, parent[key])))
    elif what == 7 and isinstance(parent, dict):
        # Two keys change places, or one gets another name.
        other = random.choice(list(parent))
        parent[key], parent[other] = parent[other], parent[key]
    elif what == 8 and isinstance(parent, dict) and isinstance(new, str | int | None):
        parent[new] = parent.pop(key)
    elif what == 9 and isinstance(chosen, list) and chosen:
        parent[key] = chosen * random.choice((0, 2, 3)) if len(chosen) < 1000 else chosen[:1]
    else:
        parent[key] = new


def _place(root: list[Any], random: Random) -> tuple[Any, Any, Any]:
    """Choose a value anywhere: the container, its place there, and the value."""
    parent: Any = root
    key: Any = 0
    for _ in range(random.randrange(8)):
        child = parent[key]
        if not isinstance(child, dict | list) or not child:
            break
        parent = child
        key = (
            random.choice(list(child)) if isinstance(child, dict) else random.randrange(len(child))
        )
    return parent, key, parent[key]


def _spoilt_array(array: Any, random: Random, new: Any) -> Any:
    what = random.randrange(5)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _changed_array(array, random, new, what)
    except (TypeError, ValueError, OverflowError, IndexError):
        return np.zeros((3, 2))


def _changed_array(array: Any, random: Random, new: Any, what: int) -> Any:
    if what == 0:
        return array.astype(random.choice(("f2", "f4", "i1", "i8", "u8", "U5", "S3", "O", "c8")))
    if what == 1:
        return array.reshape(random.choice(((-1,), (1, -1), (-1, 1), (0, -1))))
    if what == 2 and array.ndim:
        return array[: random.randrange(len(array) + 1)]
    changed = array.copy() if what == 3 else array.astype(object)
    changed.flat[random.randrange(array.size)] = new
    return changed
