"""Read TOML files that people write by hand: descriptions of data sets, studies."""

from __future__ import annotations

import re
import sys
from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError, close_matches

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


# The time to parse a dotted key grows with the square of the number of parts; the keys that diaghoi
# reads have only a few parts.
_DEEP = re.compile(rb"(?:\.[ \t]*[\w\"'-]{1,500}[ \t]*){100}")

# Largest size: a thousand models with long paths and descriptions need less, and parsing this much
# takes seconds.
_LARGEST = 1 << 22  # bytes


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    InputError
        If the file cannot be opened, is too large, or is invalid.
    """
    try:
        size = ordinary(path).stat().st_size
        with path.open("rb") as stream:
            data = stream.read(_LARGEST)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    try:
        # The rest of a large file is not read, so the text may end in the middle of a character.
        text = getincrementaldecoder("utf-8")().decode(data, final=size <= _LARGEST)
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: not TOML, because it is not UTF-8 text; give a .toml file"
        ) from None
    if size > _LARGEST:
        raise InputError(
            f"{path}: has {size:,} bytes, and a TOML file may have at most {_LARGEST:,}; shorten "
            "or split the file"
        )
    if _DEEP.search(data):
        raise InputError(f"{path}: not a TOML file for diaghoi (a key has too many parts)")
    try:
        content: dict[str, Any] = tomllib.loads(text.replace("\r\n", "\n"))
        return content
    except (ValueError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise InputError(
            f"{path}: not valid TOML ({what:.120}); put strings and paths in quotes"
        ) from None


def check_keys(where: str, content: Mapping[str, Any], known: Sequence[str]) -> None:
    """Reject unknown keys.

    Raises
    ------
    InputError
        If a key is unknown; the message names the first unknown key and lists the known keys.
    """
    for key in content:
        if key not in known:
            raise InputError(
                f"{where}: {key}: unknown key{close_matches(key, known)}; known: {', '.join(known)}"
            )


def text_of(where: str, content: Mapping[str, Any], key: str) -> str | None:
    """Return the string under a key; None if the key is missing.

    Raises
    ------
    InputError
        If the value is empty or not a string.
    """
    value = content.get(key)
    if value is not None and not (isinstance(value, str) and value):
        raise InputError(f"{where}: {key}: is {value!r:.60}; give a string")
    if value is not None and not value.isprintable():
        raise InputError(
            f"{where}: {key}: {value!r:.60} contains unprintable characters; remove them"
        )
    return value
