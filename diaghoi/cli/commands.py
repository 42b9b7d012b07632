"""The commands, their help, and hints for command lines in the style of other tools."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from diaghoi._version import __version__
from diaghoi.cli.analyses import ALSO, EXPLAIN
from diaghoi.cli.cases import cases
from diaghoi.cli.choice import choice
from diaghoi.cli.compare import compare
from diaghoi.cli.demo import demo
from diaghoi.cli.figures import figures
from diaghoi.cli.inspect import convert, inspect
from diaghoi.cli.reading import READ
from diaghoi.cli.report import report
from diaghoi.cli.robustness import corrupt, robustness
from diaghoi.cli.semantic import ask, semantic
from diaghoi.cli.similarity import similarity

# Recent versions of Typer bundle click, and older versions use the installed package; the base
# class of BadParameter is right in either case.
UsageError: Any = typer.BadParameter.__mro__[1]

ANNOTATIONS = "give annotations with --annotations FILE"
SEVERAL = "only one prediction file is accepted; 'diaghoi compare' accepts several"
CHANGES = ("iou", "ap", "rare", "top")
"""Common changes to a protocol."""
# Prefixes of annotation options in other tools.
ALIASES = ("--gt", "--ground", "--anno", "--ann", "--truth", "--target")


class Command(TyperCommand):
    """A command whose help has headings, and lists rare options only with ``--help-all``.

    If a user types an option of another tool, the error suggests --annotations.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under their headings, in the order of the headings' first options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Options" if parameter.param_type_name == "option" else "Arguments"
                title = getattr(parameter, "rich_help_panel", None) or usual
                sections.setdefault(title, []).append(record)
        last = sections.pop("Options", [])
        for title, records in [*sections.items(), ("Options", last)]:
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, and add a hint to the parser's error if there is a hint."""
        given = set(args)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            option = getattr(error, "option_name", "")
            message = str(getattr(error, "message", ""))
            words = {word for parameter in self.params for word in parameter.opts}
            hint = _key_hint(option, words)
            if "--annotations" in words and not hint:
                if option.startswith(ALIASES) and "--annotations" not in given:
                    hint = ANNOTATIONS
                elif "unexpected extra argument" in message:
                    hint = SEVERAL if "--annotations" in given else ANNOTATIONS
            if hint:
                error.message = f"{message.rstrip('.')}; {hint}."
                error.possibilities = None
            raise


def _key_hint(option: str, words: Collection[str]) -> str:
    """Suggest what replaces an unknown option that is an old name, or a key of another option."""
    if option in ("--verb-similarity", "--object-similarity") and "--similarity" in words:
        return "give --similarity VERBS,OBJECTS"
    if option == "--similarity" and "--also" in words:
        return "give --also semantic=VERBS,OBJECTS"
    key = option.removeprefix("--")
    for word, keys in {"--protocol": CHANGES, "--read": READ, "--also": ALSO | EXPLAIN}.items():
        if word in words and key in keys:
            value = "" if word == "--also" and not (ALSO | EXPLAIN)[key].metavar else "=VALUE"
            return f"give {word} {key}{value}"
    return ""


class Commands(TyperGroup):
    """Group whose commands may have two words: ``semantic ask`` exists beside ``semantic FILE``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command named by the first two words or, failing that, by the first word."""
        both = " ".join(args[:2])
        if len(args) > 1 and both in self.commands:
            args = [both, *args[2:]]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Diagnose human-object interaction detectors: which errors they make and what each costs."""


COMMANDS: dict[str, tuple[Any, str | None]] = {
    "report": (report, None),
    "compare": (compare, "Compare detectors side by side in tables."),
    "figures": (figures, "Draw the figures of a study, for a paper."),
    "figures cases": (cases, None),
    "inspect": (inspect, None),
    "convert": (convert, None),
    "semantic": (semantic, "Evaluate with credit for similar classes."),
    "semantic ask": (ask, None),
    "similarity": (similarity, None),
    "robustness": (robustness, "Evaluate detectors on corrupted pictures."),
    "robustness corrupt": (corrupt, None),
    "choice": (choice, None),
    "demo": (demo, None),
}
"""Function or group, and help line, of each command; None takes the help of the function or group.
"""
for name, (run, line) in COMMANDS.items():
    if isinstance(run, typer.Typer):
        for part in run.registered_commands:
            part.cls = Command
        app.add_typer(run, name=name)
    else:
        app.command(name=name, cls=Command, short_help=line, hidden=" " in name)(run)
