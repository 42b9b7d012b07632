"""Hints for command lines that other tools of the field would take."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

# Typer brings its own click, older ones took that of the user: this finds the class in both.
UsageError: Any = typer.BadParameter.__mro__[1]

ANNOTATIONS = "the annotations are given with --annotations FILE"
SEVERAL = "one file of predictions is taken; 'diaghoi compare' takes several"
# Beginnings of what the options for annotations are called elsewhere.
ALIASES = ("--gt", "--ground", "--anno", "--ann", "--truth", "--target")


class HintingCommand(TyperCommand):
    """A command that says how annotations are given, where they are given in another way."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and add the hint to what the parser says."""
        given = set(args)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            option = getattr(error, "option_name", "")
            message = str(getattr(error, "message", ""))
            if option.startswith(ALIASES) or "unexpected extra argument" in message:
                hint = SEVERAL if "--annotations" in given else ANNOTATIONS
                error.message = f"{message.rstrip('.')}; {hint}."
                error.possibilities = None
            raise
