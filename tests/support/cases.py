"""How many random cases a comparison with a reference runs through."""

from __future__ import annotations

import os

from hypothesis import settings


def cases(usual: int = 20) -> settings:
    """Run as many cases as the environment asks for (``make agreement``), else the usual number."""
    return settings(max_examples=int(os.environ.get("DIAGHOI_CASES", usual)))
