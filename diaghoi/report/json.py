"""Write results as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

from diaghoi.formats.output import replacing


def to_json(result: Mapping[str, Any]) -> str:
    """Convert a result to JSON text.

    Parameters
    ----------
    result : mapping
        What to convert. Undefined values are None, which becomes ``null``.

    Raises
    ------
    ValueError
        If a number is NaN or infinite, which JSON cannot express.
    """
    return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)


def write_json(path: str | PathLike[str], result: Mapping[str, Any]) -> None:
    """Write a result; the file appears completely or not at all.

    Parameters
    ----------
    path : path
        Where to write.
    result : mapping
        As for :func:`to_json`.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    text = to_json(result) + "\n"
    with replacing(path) as temporary:
        # File names may be invalid Unicode, and a result may quote them.
        temporary.write_text(text, encoding="utf-8", errors="replace")
