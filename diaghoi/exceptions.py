"""The exception for errors that a user can fix, and helpers for its messages."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice


class InputError(ValueError):
    """Unusable input, with a message for the person who gave it.

    The message states what is wrong, where (file, image, field, value) and what to do. The command
    line prints the message as one line and exits with code 2. Names from files can be hostile, so
    the message never contains line breaks, terminal control sequences or unprintable characters.

    Parameters
    ----------
    message : str
        The text. The message refers to a parameter by its option, ``--image-labels``. Outside a
        command, the option becomes the parameter itself, ```image_labels```, and ``--read
        objects=coco91`` becomes
        ```objects="coco91"```.
    """

    def __init__(self, message: str) -> None:
        if not _commands:
            message = _OPTION.sub(_parameter, message)
        super().__init__(short(printable(message), LONGEST_MESSAGE))


# An option in a message, possibly with a value; options that exist only in commands are kept.
_OPTION = re.compile(
    r"(?<![^\s(])--(?!json\b|to-description\b)(?:read (?=[a-z]))?([a-z][a-z-]*)"
    r"(?:=([\w.-]*\w))?"
)


def _parameter(option: re.Match[str]) -> str:
    """Write an option as a parameter: numbers and placeholders in capitals are not quoted."""
    name, value = option[1].replace("-", "_"), option[2]
    if value is None:
        return f"`{name}`"
    bare = value.lstrip("-").isdigit() or value.isupper()
    return f"`{name}={value}`" if bare else f'`{name}="{value}"`'


_commands: list[None] = []


@contextmanager
def speaking_of_options() -> Iterator[None]:
    """Let messages name command-line options instead of parameters while a command runs."""
    _commands.append(None)
    try:
        yield
    finally:
        _commands.pop()


def running_a_command() -> bool:
    """Check whether messages use command-line options."""
    return bool(_commands)


# Maximum number of characters shown of a message, and of a name within it.
LONGEST_MESSAGE, LONGEST_NAME = 2000, 200
NO_MEMORY = "not enough memory for this input"
_NO_MEMORY = ("failed to map segment", "Cannot allocate memory", "can't start new thread")
# Maximum number of names to search for similar names: more than any vocabulary has, fewer than a
# file could have.
_MOST_CHOICES = 2000


def printable(text: str) -> str:
    r"""Escape characters that cannot be printed: ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def out_of_memory(error: BaseException) -> bool:
    """Check whether an error, including one of an import or a thread, means that memory ran out."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY)


def check_label(text: str) -> str:
    """Check and return the name of a model, or of a part of a model, for figures and tables.

    Raises
    ------
    ValueError
        If the name is blank, has unprintable characters or is too long for a figure.
    """
    if not text.isprintable():
        raise ValueError("contains characters that cannot be printed; remove them")
    if text.isspace():
        raise ValueError("is blank; give a name")
    if len(text) > LONGEST_NAME:
        raise ValueError(f"has {len(text):,} characters; give at most {LONGEST_NAME}")
    return text


def short(text: str, longest: int = LONGEST_NAME) -> str:
    """Remove the middle of a text that is longer than ``longest`` characters."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}...{text[-half:]}"


def close_matches(name: str, choices: Iterable[str]) -> str:
    """Suggest choices similar to ``name``.

    Parameters
    ----------
    name : str
        The name found.
    choices : iterable of str
        The valid names.

    Returns
    -------
    str
        `` (did you mean 'ride'?)``, or an empty string if no choice is similar.
    """
    if len(name) > LONGEST_NAME:  # the time to compare grows with the product of the lengths
        return ""
    near = [choice for choice in islice(choices, _MOST_CHOICES) if len(choice) <= LONGEST_NAME]
    close = difflib.get_close_matches(name, near, n=3)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def number_of(noun: str, number: int) -> str:
    """Write a number with its noun: ``1 image``, ``1,000 images``."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def some_of(names: Sequence[str], first: int = 5) -> str:
    """List the first few of many names: ``a, b, c, d, e and 12 more``."""
    shown = ", ".join(short(str(name)) for name in names[:first])
    more = len(names) - first
    return f"{shown} and {more} more" if more > 0 else shown
