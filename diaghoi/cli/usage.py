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


class Command(TyperCommand):
    """A command of many options: those of one panel stand under its heading in the help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under their headings, in the order in which the first of each come."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Options" if parameter.param_type_name == "option" else "Arguments"
                title = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class HintingCommand(Command):
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
