"""``diaghoi config``: the user's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diaghoi.cli.labels import read_labels
from diaghoi.cli.locate import in_folder
from diaghoi.cli.options import sparing
from diaghoi.cli.progress import progress
from diaghoi.cli.settings import (
    KEYS,
    change_setting,
    check_key,
    read_settings,
    settings_file,
)
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations
from diaghoi.formats.datasets import vocabulary as vocabulary_named

config = typer.Typer(no_args_is_help=True, help="Show and change your settings.")

Key = Annotated[str, typer.Argument(help=f"One of: {', '.join(KEYS)}.")]


@config.command("set")
@sparing
def set_(key: Key, path: Annotated[Path, typer.Argument(help="The file.", readable=False)]) -> None:
    """Set the path of a file of a data set.

    For example `diaghoi config set hico-det.annotations PATH`. The file is read, so that a wrong
    one is noticed now and not in every report.
    """
    check_key(key)
    dataset, what = key.split(".")
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.is_dir() and what != "annotations":
        raise InputError(f"{path}: not a file")
    with progress(quiet=False) as bar:
        bar.start(f"reading {path}")
        if what == "annotations":
            path = in_folder(path, vocabulary_named(dataset)).path
            holds = f"{len(read_annotations(path, dataset=dataset)):,} annotated images"
        else:
            holds = f"labels of {len(read_labels(path).names):,} images"
    change_setting(key, str(path.resolve()))
    typer.echo(f"{key} = {path.resolve()} ({holds})")


@config.command()
def unset(key: Key) -> None:
    """Remove a setting."""
    change_setting(key, None)


@config.command()
def show() -> None:
    """Show all settings and the file that holds them."""
    typer.echo(f"# {settings_file()}")
    settings = read_settings()
    for key, value in sorted(settings.items()):
        typer.echo(f"{key} = {value}{'' if Path(value).exists() else ' (no such file)'}")
    if not settings:
        typer.echo(f"Nothing is set. To set a path: diaghoi config set {KEYS[0]} FILE")
