"""Options as the fields of dataclasses, and those that several commands share.

A command takes one dataclass, an :func:`options_class`, whose fields are its options in the order
of its help. A field is declared by :func:`option` or :func:`argument`, or has the type of a shared
option below; a field that is a dataclass itself stands for all options of that one, and those of a
base class come last.
:func:`with_options` shows them to Typer, and fills the dataclass. So a new option is one field.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

from diaghoi.data.memory import DEFAULT_MEGABYTES, MEMORY_VARIABLE, MOST_MEGABYTES, allowing
from diaghoi.data.protocol import PROTOCOLS
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.exceptions import InputError, close_matches, number_of

# Beyond these a command would run for days, or a number not fit into an array.
MOST_RESAMPLES = 1_000_000
MOST_IMAGES = 1_000_000
MOST_ROWS = 1_000_000_000
LARGEST_SEED = 2**63 - 1
Block = TypeVar("Block")

COLUMNS = ("single", "double")
FORMATS = ("pdf", "svg", "png")
"""Kinds of files of figures."""
# Headings of options in the help of commands that have many.
READING, COUNTS, SURE = "Input files", "Evaluation", "Uncertainty"
MEANING = "Semantic similarity"
FILES, EXTRAS = "Output files", "Additional analyses"
SHARDS = "Several prediction files"


if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(kw_only_default=True, frozen_default=True)
    def options_class(block: type[Block]) -> type[Block]:
        """Make a class a frozen dataclass of options."""
else:
    # Without what nobody needs of options: to make it takes longer than all the rest.
    options_class = partial(dataclass, frozen=True, kw_only=True, eq=False, repr=False)


def option(
    default: Any = MISSING,
    *names: str,
    panel: str | None = None,
    rare: bool = False,
    **more: Any,
) -> Any:
    """Declare an option as the field of a dataclass.

    Parameters
    ----------
    default : object, optional
        Required without.
    *names : str
        As typed, if not ``--`` and the name of the field; ``--yes/--no`` for either.
    panel : str, optional
        The heading above it in the help.
    rare : bool
        Listed by ``--help-all`` alone.
    **more
        What Typer takes: ``help``, ``metavar``, bounds ``min`` and ``max`` of a number, a
        ``callback`` that checks the value, ``is_eager`` for one that comes before all others.
    """
    given = {"rich_help_panel": panel, "hidden": rare, **more}
    return field(default=default, metadata={"kind": typer.Option, "names": names, "given": given})


def argument(*, help: str, metavar: str | None = None) -> Any:
    """Declare a required argument as the field of a dataclass; as :func:`option`."""
    given = {"help": help, "metavar": metavar}
    return field(metadata={"kind": typer.Argument, "names": (), "given": given})


def without(block: Callable[[], object], *names: str) -> Any:
    """Declare all options of another dataclass but some, which keep their defaults."""
    return field(default_factory=block, metadata={"without": names})


def with_options(command: Callable[[Any], None]) -> Callable[..., None]:
    """Give a command of one dataclass the parameters that Typer reads: the fields of that one.

    Each command also has ``--memory``, which holds while the command runs, and ``--help-all``.

    Raises
    ------
    InputError
        When it runs, of ``__post_init__`` of a dataclass.
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
        Its line in the list of keys.
    read : callable
        Reads the value, or raises :class:`ValueError` with what to give.
    alone : object
        The value of a key without one; None where a key needs one.
    metavar : str
        Stands for the value in the list of keys; empty for a key that takes none.
    """

    help: str
    read: Callable[[str], Any] = str
    alone: Any = None
    metavar: str = "VALUE"


def keyed(option: str, given: Iterable[str], keys: Mapping[str, Key]) -> dict[str, list[Any]]:
    """Read the values of an option like ``--read objects=coco91,origin=1``.

    Parameters
    ----------
    option : str
        Its name, for messages.
    given : iterable of str
        Pairs with commas between; a comma that no key follows belongs to the value.
    keys : mapping
        The keys that there are.

    Returns
    -------
    dict
        By key, its values in their order.

    Raises
    ------
    InputError
        For an unknown key, and a value that a key cannot have.
    """
    following = re.compile(rf",\s*(?=(?:{'|'.join(map(re.escape, keys))})\s*(?:=|,|$))")
    values: dict[str, list[Any]] = {}
    for part in (part for text in given for part in following.split(text)):
        name, equals, value = (word.strip() for word in part.partition("="))
        if name not in keys:
            name = next((word for word in name.split(",") if word.strip() not in keys), name)
            raise InputError(
                f"{option} {name.strip() or repr('')}: not known"
                f"{close_matches(name.strip(), keys)}; give some of {', '.join(keys)}"
            )
        key = keys[name]
        if equals and not key.metavar:
            raise InputError(f"{option} {part.strip()}: {name} takes no value; leave it out")
        if not value and (equals or key.alone is None):
            raise InputError(f"{option} {name}: give a value: {name}={key.metavar}")
        try:
            values.setdefault(name, []).append(key.read(value) if equals else key.alone)
        except ValueError as error:
            raise InputError(f"{option} {name}={value}: {error}") from None
    return values


def list_of_keys(keys: Mapping[str, Key]) -> str:
    """List the keys of an option, a line each."""
    heads = {
        name: f"{name}={key.metavar}"
        if key.alone is None
        else name + (f"[={key.metavar}]" if key.metavar else "")
        for name, key in keys.items()
    }
    width = max(map(len, heads.values()))
    return "\n".join(f"{heads[name]:{width}}  {key.help}" for name, key in keys.items())


def helping(option: str, keys: Mapping[str, Key]) -> Callable[[Any], Any]:
    """Make the callback of an option that lists its keys for the value ``help``."""

    def callback(given: list[str] | None) -> list[str] | None:
        if given and "help" in given:
            typer.echo(f"{option} KEY[=VALUE],...; the keys are:\n{list_of_keys(keys)}")
            raise typer.Exit
        return given

    return callback


def also(keys: Mapping[str, Key]) -> Any:
    """Declare ``--also``, the additional analyses of a command, as the field of a dataclass."""
    return option(
        None,
        metavar="NAME[=VALUE],...",
        panel=EXTRAS,
        help=f"{', '.join(keys)}; '--also help' explains them. Repeatable.",
        callback=helping("--also", keys),
        is_eager=True,
    )


def choice_of(*names: str) -> Callable[[str], str]:
    """Read one of some names."""

    def read(value: str) -> str:
        if value not in names:
            raise ValueError(f"not known{close_matches(value, names)}; give {', '.join(names)}")
        return value

    return read


def whole(least: int, most: int) -> Callable[[str], int]:
    """Read a whole number between two."""

    def read(value: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,19}", value) or not least <= int(value) <= most:
            raise ValueError(f"give a whole number from {least:,} to {most:,}")
        return int(value)

    return read


def number(value: str) -> float:
    """Read a number."""
    try:
        return float(value)
    except ValueError:
        raise ValueError("give a number") from None


def _members(block: Any, left_out: Collection[str]) -> Iterator[tuple[Field[Any], Any]]:
    """Give the fields of a dataclass with their types, those of its base last."""
    kinds = get_type_hints(block, include_extras=True)
    declared = {each.name: each for each in fields(block) if each.name not in left_out}
    own = [name for name in inspect.get_annotations(block) if name in declared]
    return ((declared[name], kinds[name]) for name in dict.fromkeys([*own, *declared]))


def _parameters(block: Any, left_out: Collection[str] = ()) -> Iterator[inspect.Parameter]:
    for each, kind in _members(block, left_out):
        if is_dataclass(kind):
            yield from _parameters(kind, each.metadata.get("without", ()))
            continue
        if each.metadata:
            names = each.metadata["names"]
            if kind is bool and not names:  # without --no-
                names = (f"--{each.name.replace('_', '-')}",)
            # The reader of a file, not the parser of the command line, reports what is wrong with
            # it, so that all such messages read alike.
            declared = each.metadata["kind"](*names, **each.metadata["given"], readable=False)
            kind = Annotated[kind, declared]
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        yield inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
        )


def _filled(block: Any, given: dict[str, Any], left_out: Collection[str] = ()) -> Any:
    """Make a dataclass of the values of its options."""
    values = {}
    for each, kind in _members(block, left_out):
        if is_dataclass(kind):
            values[each.name] = _filled(kind, given, each.metadata.get("without", ()))
        elif each.name in given:
            values[each.name] = given[each.name]
    return block(**values)


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
    """The options of all commands."""

    memory: int | None = option(
        None,
        rare=True,
        min=1,
        max=MOST_MEGABYTES,
        metavar="MB",
        help=f"What a single image, or compressed arrays, may take of memory [{DEFAULT_MEGABYTES}; "
        f"{MEMORY_VARIABLE} of the environment].",
    )
    help_all: bool = option(
        False, callback=_show_all, is_eager=True, help="Show rare options, too, and exit."
    )


def _file(help: str, *names: str, panel: str | None = None) -> Any:
    """Declare an option of a path; see :func:`_parameters` on ``readable``."""
    return typer.Option(*names, help=help, readable=False, rich_help_panel=panel)


Predictions = Annotated[
    Path, typer.Argument(help="Prediction file (or folder of .mat files).", readable=False)
]
Annotations = Annotated[
    Path | None,
    _file("Annotation file or folder [found in the usual places].", panel=READING),
]
Pairs = Annotated[Path | None, _file("File of predicted pairs.", panel=READING)]
Dataset = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(VOCABULARIES)}, or a .toml file that describes one [recognised].",
        rich_help_panel=READING,
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Evaluate predictions even if they look misread.", rich_help_panel=READING
    ),
]
OnlyPredicted = Annotated[
    bool,
    typer.Option(
        "--only-predicted-images",
        help="Evaluate only the images that annotations and all predictions hold.",
        rich_help_panel=READING,
        hidden=True,
    ),
]


def _protocol_help(given: str | None) -> str | None:
    if given == "help":
        typer.echo(
            f"--protocol NAME,KEY=VALUE,...; the names are:\n{chr(10).join(PROTOCOLS)}\n"
            "The usual keys are iou, ap (11-point, area, 101-point), rare (train, test) and top "
            "(triplets of an image)."
        )
        raise typer.Exit
    return given


ProtocolSpec = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        metavar="NAME,...",
        help="How detectors are evaluated [as is usual on the data set], changed by iou=0.75, "
        "ap=area, rare=test, top=100; or, in quotes, the line that a report ends with. '--protocol "
        "help' lists the names.",
        callback=_protocol_help,
        is_eager=True,
        rich_help_panel=COUNTS,
    ),
]
Images = Annotated[Path, _file("Folder with the pictures.")]
PageImages = Annotated[
    Path | None, _file("Folder with the pictures, to draw cases on.", "--images", panel=FILES)
]
Folder = Annotated[Path, _file("Folder to write to.")]
Confidence = Annotated[
    float,
    typer.Option(help="Confidence level of the intervals.", rich_help_panel=SURE, hidden=True),
]
Resamples = Annotated[
    int,
    typer.Option(
        max=MOST_RESAMPLES, metavar="N", help="Resamples of the images.", rich_help_panel=SURE
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, max=LARGEST_SEED, help="Random seed.", rich_help_panel=SURE),
]
StudyFile = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY.toml", help="A .toml file that lists models and files.", readable=False
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(help="Names of the models, separated by commas [of the files]."),
]
Label = Annotated[
    str | None,
    typer.Option(
        help="Name of the model in tables, figures and files [name of the prediction file].",
        rich_help_panel=FILES,
    ),
]


def _check_column(column: str) -> str:
    if column not in COLUMNS:
        raise InputError(
            f"--column '{column}': not known{close_matches(column, COLUMNS)}; give one of "
            f"{', '.join(COLUMNS)}"
        )
    return column


Column = Annotated[
    str,
    typer.Option(
        callback=_check_column,
        help="Width of figures: a single (3.25 in) or a double (6.875 in) column.",
        rich_help_panel=FILES,
        hidden=True,
    ),
]
WordNet = Annotated[
    Path | None,
    _file("WordNet's dict folder, instead of the extract in the package.", panel=MEANING),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, max=1024, help="Processes on this machine [one per core].", hidden=True),
]
Detail = Annotated[
    bool,
    typer.Option(
        "--detail", help="Print all tables and notes, not one screen.", rich_help_panel=FILES
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=FILES),
]


def split_list(option: str, value: str | None, number: int) -> list[str]:
    """Split an option that lists one value per model at its commas.

    Parameters
    ----------
    option : str
        Its name, for messages.
    value : str or None
        As given.
    number : int
        How many models there are.

    Returns
    -------
    list of str
        One value per model, empty if none is given.

    Raises
    ------
    InputError
        For another number of values.
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
    """Read names that commas separate.

    Raises
    ------
    InputError
        For an unknown name, and for none.
    """
    names = list(dict.fromkeys(name.strip() for name in given.split(",")))
    for name in names:
        if name not in known:
            raise InputError(
                f"{option} '{name}': not known{close_matches(name, known)}; "
                f"give some of {', '.join(known)}"
            )
    return names
