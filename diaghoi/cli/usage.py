"""Help with headings, and hints for command lines in the style of other tools of the field."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# Recent versions of Typer bundle click, older ones use the installed one: this works for both.
UsageError: Any = typer.BadParameter.__mro__[1]

ANNOTATIONS = "the annotations are given with --annotations FILE"
SEVERAL = "one file of predictions is taken; 'diaghoi compare' takes several"
# Prefixes of options for annotations in other tools.
ALIASES = ("--gt", "--ground", "--anno", "--ann", "--truth", "--target")


class Command(TyperCommand):
    """A command with many options, listed under the headings of their panels in the help."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under their headings, ordered by the first option of each."""
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


class Commands(TyperGroup):
    """Commands of which some have two words: ``semantic ask``, beside ``semantic FILE``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of the first words, the longest first."""
        both = " ".join(args[:2])
        if len(args) > 1 and both in self.commands:
            args = [both, *args[2:]]
        return super().resolve_command(ctx, args)


class HintingCommand(Command):
    """A command that explains --annotations after an option in the style of other tools."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, and add the hint to the error of the parser."""
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
