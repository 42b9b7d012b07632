"""Results as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

from diaghoi.formats.atomic import replacing


def write_json(path: str | PathLike[str], result: Mapping[str, Any]) -> None:
    """Write a result; the file appears whole or not at all.

    Parameters
    ----------
    path : path
        Where to write.
    result : mapping
        Fractions as numbers, None (``null``) for what is undefined; NaN is not allowed.
    """
    with replacing(path) as temporary:
        text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
