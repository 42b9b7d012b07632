"""How figures are drawn: the width of a column, and the kinds of files."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import typer

from diaghoi.cli import options
from diaghoi.exceptions import InputError, close_matches

FORMATS = ("pdf", "svg", "png")

Column = Annotated[
    str,
    typer.Option(
        callback=options.check_column,
        help="Width of figures: a single (3.25 in) or a double (6.875 in) column.",
    ),
]


def named(option: str, given: str, known: Collection[str]) -> list[str]:
    """Read names that commas separate.

    Raises
    ------
    InputError
        For an unknown name, and for none.
    """
    names = list(dict.fromkeys(name.strip() for name in given.split(",")))
    for name in names:
        if name not in known:
            raise InputError(
                f"{option} '{name}': not known{close_matches(name, known)}; "
                f"give some of {', '.join(known)}"
            )
    return names
