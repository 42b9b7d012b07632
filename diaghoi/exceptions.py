"""The one exception for what a user can mend, and how its messages are made."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class InputError(ValueError):
    """Input that cannot be used, with a message for the person who gave it.

    The message names what is wrong, where (file, image, field, value) and what to do. The command
    line prints it as one line and leaves with exit code 2.
    """


def close_matches(name: str, choices: Iterable[str]) -> str:
    """Suggest the choices that look like ``name``.

    Parameters
    ----------
    name : str
        What was found.
    choices : iterable of str
        What would have been right.

    Returns
    -------
    str
        `` (did you mean 'ride'?)``, or an empty string where nothing is close.
    """
    close = difflib.get_close_matches(name, list(choices), n=3)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def some_of(names: Sequence[str], first: int = 5) -> str:
    """Name the first few of many things: ``a, b, c, d, e and 12 more``."""
    shown = ", ".join(map(str, names[:first]))
    more = len(names) - first
    return f"{shown} and {more} more" if more > 0 else shown
