"""How many random cases a comparison with a reference runs through."""

from __future__ import annotations

import os

from hypothesis import settings

WANTED = "DIAGHOI_CASES"


def cases() -> settings:
    """Run the number of cases that ``make agreement`` asks for, else that of the tier."""
    return settings(max_examples=int(os.environ[WANTED])) if WANTED in os.environ else settings()
