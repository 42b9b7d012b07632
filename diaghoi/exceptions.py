"""The one exception for what a user can mend, and how its messages are made."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class InputError(ValueError):
    """Input that cannot be used, with a message for the person who gave it.

    The message names what is wrong, where (file, image, field, value) and what to do. The command
    line prints it as one line and leaves with exit code 2. Whatever names a file may hold, it has
    no line ends, no commands for a terminal, and nothing that cannot be written.

    Parameters
    ----------
    message : str
        What to say.
    """

    def __init__(self, message: str) -> None:
        super().__init__(short(printable(message), LONGEST_MESSAGE))


# Of a message, and of a name in it, so many letters are shown.
LONGEST_MESSAGE, LONGEST_NAME = 2000, 200


def printable(text: str) -> str:
    r"""Write what cannot be seen, or printed at all, as its number: ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def short(text: str, longest: int = LONGEST_NAME) -> str:
    """Leave out the middle of a text that is longer than any real one."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}...{text[-half:]}"


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
    if len(name) > LONGEST_NAME:  # comparing takes the longer, the longer both are
        return ""
    near = [choice for choice in choices if len(choice) <= LONGEST_NAME]
    close = difflib.get_close_matches(name, near, n=3)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def number_of(noun: str, number: int) -> str:
    """Say how many there are of a thing: ``1 image``, ``1,000 images``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def some_of(names: Sequence[str], first: int = 5) -> str:
    """Name the first few of many things: ``a, b, c, d, e and 12 more``."""
    shown = ", ".join(short(str(name)) for name in names[:first])
    more = len(names) - first
    return f"{shown} and {more} more" if more > 0 else shown
