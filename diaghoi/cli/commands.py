"""The commands."""

from __future__ import annotations

from typing import Annotated

import typer

from diaghoi._version import __version__
from diaghoi.cli.choice.score import choice
from diaghoi.cli.compare import compare
from diaghoi.cli.config import config
from diaghoi.cli.convert import convert
from diaghoi.cli.dataset import dataset
from diaghoi.cli.demo import demo
from diaghoi.cli.figures import figures
from diaghoi.cli.gallery import gallery
from diaghoi.cli.inspect import inspect
from diaghoi.cli.options import sparing
from diaghoi.cli.panel import panel
from diaghoi.cli.report import report
from diaghoi.cli.robustness import corrupt, robustness
from diaghoi.cli.semantic import ask, semantic
from diaghoi.cli.serve import serve
from diaghoi.cli.similarity.commands import similarity
from diaghoi.cli.usage import Commands, HintingCommand

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


app.command(cls=HintingCommand)(sparing(report))
app.command(cls=HintingCommand, short_help="Compare detectors side by side in tables.")(
    sparing(compare)
)
app.command(cls=HintingCommand, short_help="Explore detectors in a browser.")(sparing(serve))
app.command(cls=HintingCommand)(sparing(inspect))
app.command()(sparing(convert))
app.command()(sparing(demo))
app.command(short_help="Draw the figures of a study, for a paper.")(sparing(figures))
app.command(cls=HintingCommand, short_help="Draw the worst cases of each error.")(sparing(gallery))
app.add_typer(panel, name="panel", short_help="Lay out pictures of cases for a paper.")
app.command(short_help="Evaluate detectors on corrupted pictures.")(sparing(robustness))
app.command(cls=HintingCommand, short_help="Evaluate with credit for similar classes.")(
    sparing(semantic)
)
app.command(name="semantic ask", short_help="Ask a model what people do with objects.")(
    sparing(ask)
)
app.command(short_help="Apply the 20 corruptions of RoHOI to pictures.")(corrupt)
app.add_typer(dataset, name="dataset")
app.add_typer(similarity, name="similarity")
app.add_typer(choice, name="choice", short_help="Ask and score multiple-choice questions.")
app.add_typer(config, name="config")
