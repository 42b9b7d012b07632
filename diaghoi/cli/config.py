"""``diaghoi config``: settings of this user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diaghoi.cli.settings import (
    KEYS,
    change_setting,
    check_key,
    read_settings,
    settings_file,
)
from diaghoi.exceptions import InputError

config = typer.Typer(no_args_is_help=True, help="Show and change the settings of this user.")

Key = Annotated[str, typer.Argument(help=f"One of: {', '.join(KEYS)}.")]


@config.command("set")
def set_(key: Key, path: Annotated[Path, typer.Argument(help="The file.", readable=False)]) -> None:
    """Set where a file of a data set lies: `diaghoi config set hico-det.annotations PATH`."""
    check_key(key)
    if not path.is_file():
        raise InputError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
    change_setting(key, str(path.resolve()))


@config.command()
def unset(key: Key) -> None:
    """Remove a setting."""
    change_setting(key, None)


@config.command()
def show() -> None:
    """Show all settings and the file that holds them."""
    typer.echo(f"# {settings_file()}")
    for key, value in sorted(read_settings().items()):
        typer.echo(f"{key} = {value}")
