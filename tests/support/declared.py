"""What the commands declare: their options and arguments."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.models import OptionInfo


@dataclass(frozen=True)
class Given:
    name: str
    words: tuple[str, ...]
    required: bool
    is_path: bool
    is_count: bool
    kind: Any
    help: str | None


def commands(group: typer.Typer, *names: str) -> Iterator[tuple[str, list[Given]]]:
    for info in group.registered_commands:
        assert info.callback is not None
        name = info.name or info.callback.__name__.rstrip("_")
        hints = get_type_hints(info.callback, include_extras=True)
        yield (
            " ".join((*names, name)),
            [
                given(each, hints[each.name])
                for each in inspect.signature(info.callback).parameters.values()
            ],
        )
    for below in group.registered_groups:
        assert below.typer_instance is not None
        yield from commands(below.typer_instance, *names, str(below.name))


def given(parameter: inspect.Parameter, hint: Any) -> Given:
    # Python 3.10 wraps hints of what is None by default.
    kind, info = get_args(hint if hasattr(hint, "__metadata__") else get_args(hint)[0])
    declared = next(
        (
            each
            for each in (info.default, *(info.param_decls or ()))
            if isinstance(each, str) and each.startswith("--")
        ),
        None,
    )
    option = declared or f"--{parameter.name.strip('_').replace('_', '-')}"
    return Given(
        name=parameter.name,
        words=(option,) if isinstance(info, OptionInfo) else (),
        required=parameter.default is parameter.empty,
        is_path=kind is Path or Path in get_args(kind) or kind == list[Path],
        is_count=kind is int or int in get_args(kind),
        kind=kind,
        help=info.help,
    )
