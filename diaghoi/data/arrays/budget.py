"""How much memory may be taken by what can grow without bounds: one image, a compressed array.

Everything else is worked through in parts of a few megabytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from diaghoi.data.arrays.types import Array
from diaghoi.exceptions import InputError, running_a_command

VARIABLE = "DIAGHOI_MEMORY"
"""Environment variable: the budget in megabytes; ``--memory`` sets it."""

DEFAULT, MOST = 512, 1_000_000
MEGABYTE = 1_000_000


class BudgetError(InputError):
    """Input that takes more memory than it may."""


def budget() -> int:
    """Return the budget in bytes.

    Raises
    ------
    InputError
        For a variable that is no number of megabytes.
    """
    given = os.environ.get(VARIABLE, "")
    if not given:
        return DEFAULT * MEGABYTE
    if not (given.isascii() and given.isdecimal() and len(given) <= 7 and 0 < int(given) <= MOST):
        raise InputError(f"{VARIABLE}={given}: expected megabytes, a whole number up to {MOST:,}")
    return int(given) * MEGABYTE


@contextmanager
def allowing(megabytes: int) -> Iterator[None]:
    """Set the budget of this process, and of those that it starts, for a while."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(megabytes)
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def check_budget(size: int, what: str) -> None:
    """Refuse what takes more than the budget.

    Parameters
    ----------
    size : int
        Bytes.
    what : str
        What takes them, as the beginning of the message.

    Raises
    ------
    BudgetError
        With how to raise the budget.
    """
    if size > budget():
        needed = -(-size // MEGABYTE)
        raise BudgetError(
            f"{what}: about {needed:,} MB of memory, more than the {budget() // MEGABYTE:,} MB "
            f"that may be taken; {_option()}{needed} allows it"
        )


def _option() -> str:
    return "--memory " if running_a_command() else f"{VARIABLE}="


def gathered(parts: Iterable[tuple[Array, ...]], what: str) -> tuple[Array, ...]:
    """Join the columns of parts, as long as they fit into the budget.

    Parameters
    ----------
    parts : iterable of tuples of arrays
        At least one, with the same number of columns each.
    what : str
        What they are, for the message.

    Raises
    ------
    BudgetError
        With how to raise the budget.
    """
    kept, size = [], 0
    for part in parts:
        kept.append(part)
        size += sum(column.nbytes for column in part)
        if size > budget():
            raise BudgetError(
                f"{what}: more than the {budget() // MEGABYTE:,} MB of memory that may be taken; "
                f"raise {_option().strip(' =')}"
            )
    return tuple(np.concatenate(column) for column in zip(*kept, strict=True))
