"""What the text of a Python literal consists of, for the parser of literals."""

from __future__ import annotations

import re
from typing import Any

SPACE = re.compile(r"[ \t\r\n]*")
NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?![\w.])", re.ASCII)
NAME = re.compile(r"[-+]?[A-Za-z_][\w.]*", re.ASCII)
ENDS = {quote: re.compile(rf"[{quote}\\\n\r\0]") for quote in "'\""}
ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|([\\'\"abfnrtv])|.?)"
)
LETTERS = dict(zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True))
# A list or dict without others, or a tuple of numbers: JSON once it is rewritten.
FLAT = re.compile(
    r"\[[^\[\]{}()\"\\]*\]|\{[^\[\]{}()\"\\]*\}|\((?:[-+0-9.eE \t\r\n]+,[-+0-9.eE, \t\r\n]*)?\)"
)
CLOSE = {"[": "]", "{": "}", "(": ")"}

CONSTANTS: dict[str, Any] = {"True": True, "False": False, "None": None}
CONSTANTS |= {f"{np}{name}": float(name) for np in ("", "np.") for name in ("nan", "inf")}
CONSTANTS |= {f"-{name}": -value for name, value in CONSTANTS.items() if name[-3:] in "nan inf"}
CONSTANTS |= {"np.True_": True, "np.False_": False}
SCALARS = re.compile(
    r"np\.(?:u?int(?:8|16|32|64|c|p)|u?longlong|float(?:16|32|64|96|128)|longdouble|bool_?|str_)"
)
SETS = {"set", "frozenset"}
FACTORY = re.compile(
    r"\s*(?:None|<class '[\w.]{1,100}'>|<[^<>]{0,200}(?:<\w{1,100}>[^<>]{0,200}){0,4}>)\s*,",
    re.ASCII,
)
# What is printed behind the values of an array.
KEYWORD = re.compile(
    r"\s*(dtype|device|shape|size|requires_grad|grad_fn|layout)="
    r"(<[^<>]{1,200}>|'[^'\\\n]{0,100}'|\([0-9, ]{0,100}\)|[\w.]{1,100})",
    re.ASCII,
)
