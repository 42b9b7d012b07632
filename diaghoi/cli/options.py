"""Declare options as dataclass fields, including the options that several commands share.

A command takes one dataclass, an :func:`options_class`, whose fields are the options in help order.
A field is declared by :func:`option` or :func:`argument`, or has the type of a shared option below.
A field whose type is another :func:`options_class` adds all options of that class; options of a
base class come last. :func:`with_options` shows the options to Typer, and fills the dataclass. Each
new option needs only one new field.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_args, get_type_hints

import typer

from diaghoi.cli.progress import Progress
from diaghoi.data.memory import (
    DEFAULT_MEGABYTES,
    MEMORY_VARIABLE,
    MOST_MEGABYTES,
    allowing,
    cores,
)
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.exceptions import InputError, check_label, close_matches, number_of, short

# Beyond these limits, a command would run for days, or a value would not fit into an array.
MOST_RESAMPLES = 1_000_000
MOST_IMAGES = 1_000_000
MOST_ROWS = 1_000_000_000
LARGEST_SEED = 2**63 - 1
Block = TypeVar("Block")

FORMATS = ("pdf", "svg", "png")
"""File types of figures."""
# Option headings in the help of commands with many options.
READING, COUNTS, SURE = "Input files", "Evaluation", "Uncertainty"
MEANING = "Semantic similarity"
FILES, EXTRAS = "Output files", "Additional analyses"
SHARDS = "Several prediction files"


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    from diaghoi.engines.engine import Engine

    @dataclass_transform(kw_only_default=True, frozen_default=True)
    def options_class(block: type[Block]) -> type[Block]:
        """Turn a class into a frozen dataclass of options."""
else:
    # The dataclasses lack ``__eq__`` and ``__repr__``, because creating the methods takes longer
    # than everything else.
    options_class = partial(dataclass, frozen=True, kw_only=True, eq=False, repr=False)


def option(
    default: Any = MISSING,
    *names: str,
    panel: str | None = None,
    rare: bool = False,
    among: Collection[str] = (),
    **more: Any,
) -> Any:
    """Declare an option as a dataclass field, or in the type of a shared option.

    Parameters
    ----------
    default : object, optional
        Required without.
    *names : str
        The option as typed, by default ``--`` and the field name; ``--yes/--no`` declares two
        flags.
    panel : str, optional
        Heading in the help.
    rare : bool
        Whether only ``--help-all`` lists the option.
    among : collection of str
        All allowed values, if there are only a few.
    **more
        Arguments for Typer: ``help``, ``metavar``, bounds ``min`` and ``max`` of a number, a
        ``callback`` that checks the value, ``is_eager`` for an option processed before all others.
    """
    given = {"rich_help_panel": panel, "hidden": rare, **more}
    if among:
        given["callback"] = checked(choice_of(*among))
    return field(default=default, metadata={"kind": typer.Option, "names": names, "given": given})


def argument(*, help: str, metavar: str | None = None, default: Any = MISSING) -> Any:
    """Declare an argument as a dataclass field, required unless it has a default."""
    given = {"help": help, "metavar": metavar}
    return field(default=default, metadata={"kind": typer.Argument, "names": (), "given": given})


def without(block: Callable[..., Any], *names: str) -> Any:
    """Declare the options of another dataclass, except for some that keep their defaults."""
    return field(default_factory=block, metadata={"without": names})


def with_options(command: Callable[[Any], None]) -> Callable[..., None]:
    """Give a command the parameters that Typer reads: the fields of its dataclass.

    Each command also has ``--help-all``, and ``--memory``, which applies while the command runs.

    Raises
    ------
    InputError
        When the command runs, if ``__post_init__`` of a dataclass rejects the values.
    """
    (block,) = (kind for name, kind in get_type_hints(command).items() if name != "return")

    @wraps(command)
    def run(*, memory: int | None = None, help_all: bool = False, **given: Any) -> None:
        with nullcontext() if memory is None else allowing(memory):
            command(_filled(block, given))

    parameters = [*_parameters(block), *_parameters(_Always)]
    # Typer reads both.
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


class Key(NamedTuple):
    """A key of an option that takes ``KEY=VALUE,...``.

    Parameters
    ----------
    help : str
        Description in the list of keys.
    read : callable
        Parses the value, or raises :class:`ValueError` with the accepted values.
    alone : object
        Value of a key that the user gives without a value; None if the key requires a value.
    metavar : str
        Placeholder for the value in the list of keys; empty for a key without a value.
    several : bool
        Whether the key may be repeated, in which case its value is a list.
    """

    help: str
    read: Callable[[str], Any] = str
    alone: Any = None
    metavar: str = "VALUE"
    several: bool = False


def flag(help: str) -> Key:
    """Create a key without a value."""
    return Key(help, alone=True, metavar="")


def keyed(option: str, given: Iterable[str], keys: Mapping[str, Key]) -> dict[str, Any]:
    """Parse the values of an option like ``--read objects=coco91,origin=1``.

    Parameters
    ----------
    option : str
        Name of the option, for messages.
    given : iterable of str
        Comma-separated pairs; a comma that no key follows belongs to the value.
    keys : mapping
        The known keys.

    Returns
    -------
    dict
        Value, or list of values, of each key.

    Raises
    ------
    InputError
        If a key is unknown, a value is invalid for its key, or a key that takes one value has two.
    """
    following = re.compile(rf",\s*(?=(?:{'|'.join(map(re.escape, keys))})\s*(?:=|,|$))")
    values: dict[str, Any] = {}
    for part in (part for text in given for part in following.split(text)):
        name, equals, text = (word.strip() for word in part.partition("="))
        if name not in keys:
            name = next((word for word in name.split(",") if word.strip() not in keys), name)
            name = name.strip()
            raise InputError(f"{option} {name or repr('')}: {_unknown(name, keys, 'some')}")
        key = keys[name]
        if equals and not key.metavar:
            raise InputError(f"{option} {part.strip()}: {name} takes no value; leave the value out")
        if not text and (equals or key.alone is None):
            raise InputError(f"{option} {name}: give a value: {name}={key.metavar}")
        try:
            value = key.read(text) if equals else key.alone
        except ValueError as error:
            raise InputError(f"{option} {name}={text}: {error}") from None
        if key.several:
            values.setdefault(name, []).append(value)
        elif key.metavar and name in values:
            raise InputError(f"{option} {name}: is given twice; give one value")
        else:
            values[name] = value
    return values


def list_of_keys(keys: Mapping[str, Key]) -> str:
    """List the keys of the option, one per line."""
    heads = {}
    for name, key in keys.items():
        value = f"={key.metavar}" if key.metavar else ""
        heads[name] = name + (value if key.alone is None or not value else f"[{value}]")
    width = max(map(len, heads.values()))
    return "\n".join(f"{heads[name]:{width}}  {key.help}" for name, key in keys.items())


def helping(option: str, keys: Mapping[str, Key]) -> Callable[[Any], Any]:
    """Create a callback for an option; the callback lists the option's keys for ``help``."""
    text = f"{option} KEY[=VALUE],...; the keys are:\n{list_of_keys(keys)}"
    return explaining(lambda: text)


def explaining(text: Callable[[], str]) -> Callable[[Any], Any]:
    """Create a callback for an option; the callback prints a text for the value ``help``."""

    def callback(given: Any) -> Any:
        if "help" in ([given] if isinstance(given, str) else given or ()):
            typer.echo(text())
            raise typer.Exit
        return given

    return callback


def also(keys: Mapping[str, Key]) -> Any:
    """Declare ``--also``, the additional analyses of a command, as a dataclass field."""
    return option(
        None,
        metavar="NAME[=VALUE],...",
        panel=EXTRAS,
        help=f"{', '.join(keys)}; --also help explains them. Repeatable.",
        callback=helping("--also", keys),
        is_eager=True,
    )


def choice_of(*names: str) -> Callable[[str], str]:
    """Return a function that parses one of a set of names."""

    def read(value: str) -> str:
        if value not in names:
            raise ValueError(_unknown(value, names))
        return value

    return read


def checked(read: Callable[[Any], Any]) -> Callable[..., Any]:
    """Create the callback of an option from the parser of its values."""

    def callback(parameter: typer.CallbackParam, value: Any) -> Any:
        try:
            return None if value is None else read(value)
        except ValueError as error:
            shown = short(repr(value).removesuffix(".0"))
            raise InputError(f"{parameter.opts[0]} {shown}: {error}") from None

    return callback


def _unknown(name: str, names: Collection[str], number: str = "one") -> str:
    return f"not known{close_matches(name, names)}; give {number} of {', '.join(names)}"


def whole(least: int, most: int) -> Callable[[str], int]:
    """Return a function that parses an integer in a range."""

    def read(value: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,19}", value) or not least <= int(value) <= most:
            raise ValueError(f"give a whole number from {least:,} to {most:,}")
        return int(value)

    return read


def number(value: str) -> float:
    """Read a number."""
    with suppress(ValueError):
        if isfinite(read := float(value)):
            return read
    raise ValueError("give a number")


def fraction(value: object) -> float:
    """Parse a number between 0 and 1."""
    read = number(str(value))
    if not 0 < read < 1:
        raise ValueError("must lie between 0 and 1")
    return read


def _at_least_two(resamples: int) -> int:
    if resamples < 2:
        raise ValueError("give at least two resamples, usually 1000")
    return resamples


def _members(block: Any, left_out: Collection[str]) -> Iterator[tuple[Field[Any], Any]]:
    """Return the fields of a dataclass and their types; fields of the base class come last."""
    kinds = get_type_hints(block, include_extras=True)
    declared = {each.name: each for each in fields(block) if each.name not in left_out}
    own = [name for name in inspect.get_annotations(block) if name in declared]
    return ((declared[name], kinds[name]) for name in dict.fromkeys([*own, *declared]))


def _parameters(block: Any, left_out: Collection[str] = ()) -> Iterator[inspect.Parameter]:
    for each, kind in _members(block, left_out):
        if is_dataclass(kind):
            yield from _parameters(kind, (*left_out, *each.metadata.get("without", ())))
            continue
        declared: Any = each.metadata
        if not declared:  # a shared option: its type has the declaration
            kind, shared = get_args(kind)
            declared = shared.metadata
        names = declared["names"]
        if kind is bool and not names:  # without --no-
            names = (f"--{each.name.replace('_', '-')}",)
        # The reader of a file, not the command-line parser, reports problems, so that all messages
        # about files read alike.
        shown = declared["kind"](*names, **declared["given"], readable=False)
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        yield inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, shown],
        )


def _filled(block: Any, given: dict[str, Any], left_out: Collection[str] = ()) -> Any:
    """Create a dataclass from the values of its options."""
    values = {}
    for each, kind in _members(block, left_out):
        if is_dataclass(kind):
            inner = (*left_out, *each.metadata.get("without", ()))
            values[each.name] = _filled(kind, given, inner)
        elif each.name in given:
            values[each.name] = given[each.name]
    return block(**values)


def given(block: Any) -> Iterator[str]:
    """List the options with non-default values, including nested dataclasses."""
    for each in fields(block):
        value = getattr(block, each.name)
        if is_dataclass(value):
            yield from given(value)
        elif value != each.default:
            yield each.name


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        rare = [vars(each) for each in context.command.params if vars(each).get("hidden")]
        for each in rare:
            each["hidden"] = False
        typer.echo(context.get_help())
        for each in rare:
            each["hidden"] = True
        raise typer.Exit


@options_class
class _Always:
    """Options of all commands."""

    memory: int | None = option(
        None,
        rare=True,
        min=1,
        max=MOST_MEGABYTES,
        metavar="MB",
        help=f"Memory for a single image, or for compressed arrays, in MB [{DEFAULT_MEGABYTES}, "
        f"or the environment variable {MEMORY_VARIABLE}].",
    )
    help_all: bool = option(
        False, callback=_show_all, is_eager=True, help="Show all options and exit."
    )


Predictions = Annotated[Path, argument(help="Prediction file (or folder of .mat files).")]
Annotations = Annotated[
    Path | None,
    option(panel=READING, help="Annotation file or folder [found in the usual places]."),
]
Pairs = Annotated[Path | None, option(panel=READING, help="File of predicted pairs.")]
Dataset = Annotated[
    str | None,
    option(
        panel=READING,
        help=f"{', '.join(VOCABULARIES)}, or a .toml description [recognised].",
    ),
]
OnlyPredicted = Annotated[
    bool,
    option(
        panel=READING,
        rare=True,
        help="Evaluate only the images that are in the annotations and all predictions.",
    ),
]
Images = Annotated[Path, option(help="Folder with the pictures.")]
Folder = Annotated[Path, option(panel=FILES, help="Folder to write to.")]
Confidence = Annotated[
    float,
    option(
        panel=SURE,
        rare=True,
        callback=checked(fraction),
        help="Confidence level of the intervals.",
    ),
]
Resamples = Annotated[
    int,
    option(
        panel=SURE,
        max=MOST_RESAMPLES,
        metavar="N",
        callback=checked(_at_least_two),
        help="Resamples of the images.",
    ),
]
Seed = Annotated[int, option(panel=SURE, min=0, max=LARGEST_SEED, help="Random seed.")]
StudyFile = Annotated[
    Path,
    argument(
        metavar="STUDY.toml", help="A .toml file that lists one or more models with their files."
    ),
]
Labels = Annotated[
    str | None,
    option(
        help="Names of the models, separated by commas [names of the files].",
        callback=checked(lambda text: ",".join(map(check_label, text.split(",")))),
    ),
]
Label = Annotated[
    str | None,
    option(
        panel=FILES,
        help="Name of the model in tables, figures and files [name of the prediction file].",
        callback=checked(check_label),
    ),
]
COLUMNS = ("single", "double")
COLUMN_HELP = "Width of figures: a single (3.25 in) or a double (6.875 in) column."
Column = Annotated[
    str,
    option(
        panel=FILES,
        rare=True,
        among=COLUMNS,
        help=COLUMN_HELP,
    ),
]
WordNet = Annotated[
    Path | None,
    option(panel=MEANING, help="WordNet's dict folder [the extract in the package]."),
]
Workers = Annotated[
    int | None,
    option(rare=True, min=1, max=1024, help="Processes on this machine [one per core]."),
]
Detail = Annotated[
    bool, option(panel=FILES, help="Print all tables and notes instead of one screen.")
]
Quiet = Annotated[
    bool, option(MISSING, "--quiet", "-q", panel=FILES, help="Print nothing but errors.")
]


@options_class
class EngineOptions:
    """Options for the workers."""

    engine: str | None = option(
        None,
        panel=SHARDS,
        rare=True,
        among=("local", "dask"),
        help="local: processes on this machine [the default]; dask: a Dask cluster.",
    )
    scheduler: str | None = option(
        None,
        metavar="ADDRESS",
        panel=SHARDS,
        rare=True,
        help="A running Dask scheduler [start a cluster on this machine].",
    )
    workers: Workers = None

    @property
    def asked(self) -> bool:
        """Whether the user has set any of the options for the workers."""
        return any(value is not None for value in vars(self).values())

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.engine != "dask":
            raise InputError("--scheduler: applies to a Dask cluster; add --engine dask")

    @contextmanager
    def started(self, bar: Progress) -> Iterator[Engine]:
        """Start and stop the workers; the bar shows the current step."""
        number = self.workers or cores()
        if self.engine in (None, "local"):
            from diaghoi.engines.engine import LocalEngine

            with LocalEngine(number) as local:
                yield local
            return
        from diaghoi.engines.cluster import DaskEngine

        address = self.scheduler
        bar.start("starting the cluster" if address is None else f"connecting to {address}")
        with DaskEngine(address, number) as cluster:
            yield cluster


def split_list(option: str, value: str | None, number: int) -> list[str]:
    """Split the value of an option at commas into one value per model.

    Parameters
    ----------
    option : str
        Name of the option, for messages.
    value : str or None
        As given.
    number : int
        Number of models.

    Returns
    -------
    list of str
        One value per model; an empty string for a model without a value.

    Raises
    ------
    InputError
        If the number of values differs from the number of models.
    """
    if value is None:
        return [""] * number
    values = [each.strip() for each in value.split(",")]
    if len(values) != number:
        raise InputError(
            f"{option} {value}: has {number_of('value', len(values))} for "
            f"{number_of('model', number)}; give one per model, separated by commas (leave a value "
            "empty to skip a model)"
        )
    return values


def named(option: str, given: str, known: Collection[str]) -> list[str]:
    """Parse comma-separated names.

    Raises
    ------
    InputError
        If a name is unknown, or none is given.
    """
    names = list(dict.fromkeys(name.strip() for name in given.split(",")))
    for name in names:
        if name not in known:
            raise InputError(f"{option} '{name}': {_unknown(name, known, 'some')}")
    return names
