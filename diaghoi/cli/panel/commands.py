"""``diaghoi panel``: pictures in rows and columns, for a paper."""

from __future__ import annotations

import typer

from diaghoi.cli.memory import sparing
from diaghoi.cli.panel.corruptions import corruptions
from diaghoi.cli.panel.errors import errors
from diaghoi.cli.panel.models import models
from diaghoi.cli.usage import HintingCommand

panel = typer.Typer(no_args_is_help=True, help="Lay out pictures of cases for a paper.")


@panel.callback()
def _group() -> None:
    """Figures of pictures in rows and columns, in the width of a column."""


panel.command(cls=HintingCommand)(sparing(errors))
panel.command(cls=HintingCommand)(sparing(models))
panel.command()(corruptions)
