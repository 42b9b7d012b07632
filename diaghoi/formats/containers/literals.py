"""Python literals as text: what ``str`` and ``repr`` print for results in memory.

Some code bases save ``json.dump(str(results), file)``: a JSON file that is one string. Nothing in
such a text is ever run. Text of plain data and NumPy 2 scalars is rewritten as JSON and decoded in
C (:mod:`diaghoi.formats.containers.literal_json`); all other text goes through a parser
(:mod:`diaghoi.formats.containers.literal_parser`), which gives the same values.
"""

from __future__ import annotations

import json
from typing import Any

from diaghoi.exceptions import InputError
from diaghoi.formats.containers.literal_json import whole_as_json
from diaghoi.formats.containers.literal_parser import Parser, cut_off
from diaghoi.formats.pickle import collector_off

# Characters at both ends that are searched for brackets.
_EDGE = 100


def load_literal(text: str, file: str) -> Any:
    """Read the text that Python prints for plain data, without running any of it.

    Parameters
    ----------
    text : str
        What ``str`` or ``repr`` printed. Read are dicts, lists, tuples, strings, numbers, ``nan``,
        ``inf``, ``True``, ``False`` and ``None``; as printed, NumPy scalars and arrays, PyTorch
        tensors, ``OrderedDict`` and ``defaultdict``.
    file : str
        Name of the file, for messages.

    Returns
    -------
    object
        Plain dicts, lists, strings, numbers, truth values and None. Tuples, arrays and tensors
        become lists; keys of dicts are strings and integers. Numbers keep the digits printed:
        ``np.float32(0.1)`` is 0.1.

    Raises
    ------
    InputError
        For a text that is damaged or cut off, runs something, or cannot be held: with the place,
        an excerpt and what to do. Also for bytes, sets and arrays that NumPy printed in part.
    """
    if _ends_early(text):
        raise cut_off(text, file)
    try:
        with collector_off():
            rewritten = whole_as_json(text, file)
            if rewritten is not None:
                try:
                    return json.loads(rewritten.json)
                except json.JSONDecodeError as error:
                    # The parser would come to the same place, but far later.
                    if error.pos >= len(rewritten.json) or error.msg.startswith("Unterminated"):
                        raise cut_off(text, file) from None
                    place, behind = rewritten.around(error.pos)
                    rewritten = None
                    Parser(text, file).check_from(place, behind)
                except ValueError:  # integers that are too long: the parser says where
                    pass
            rewritten = None
            return Parser(text, file).whole()
    except (RecursionError, MemoryError) as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{file}: text of a Python object that cannot be held ({what})") from error


def _ends_early(text: str) -> bool:
    """Whether a list or dict has no end, which is the same however long it is."""
    first, last = text[:_EDGE].lstrip()[:1], text[-_EDGE:].rstrip()[-1:]
    return last != "" and {"[": "]", "{": "}"}.get(first, last) != last
