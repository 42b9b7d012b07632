"""Options as the fields of dataclasses, and those that several commands share.

A command takes one dataclass, an :func:`options_class`, whose fields are its options in the order
of its help. A field is declared by :func:`option` or :func:`argument`, or has the type of a shared
option below; a field that is a dataclass itself stands for all options of that one, and those of a
base class come last.
:func:`with_options` shows them to Typer, and fills the dataclass. So a new option is one field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

import typer

from diaghoi.data.arrays.budget import DEFAULT, MOST, VARIABLE, allowing
from diaghoi.data.pixels import LAYOUTS
from diaghoi.data.protocol import PROTOCOLS, AveragePrecision
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.exceptions import InputError, close_matches, number_of

LEAST_RESAMPLES = 100
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
    help: str,
    panel: str | None = None,
    min: float | None = None,
    max: float | None = None,
    metavar: str | None = None,
) -> Any:
    """Declare an option as the field of a dataclass.

    Parameters
    ----------
    default : object, optional
        Required without.
    *names : str
        As typed, if not ``--`` and the name of the field; ``--yes/--no`` for either.
    help : str
        Its line in the help.
    panel : str, optional
        The heading above it there.
    min, max : float, optional
        Bounds of a number.
    metavar : str, optional
        Stands for the value in the help.
    """
    given = {"help": help, "rich_help_panel": panel, "min": min, "max": max, "metavar": metavar}
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

    Raises
    ------
    InputError
        When it runs, of ``__post_init__`` of a dataclass.
    """
    (block,) = (kind for name, kind in get_type_hints(command).items() if name != "return")

    @wraps(command)
    def run(**given: Any) -> None:
        command(_filled(block, given))

    return _showing(run, list(_parameters(block)))


def sparing(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--memory``, which holds while it runs."""

    @wraps(command)
    def run(*, memory: int | None = None, **given: Any) -> None:
        with nullcontext() if memory is None else allowing(memory):
            command(**given)

    signature = inspect.signature(command, eval_str=True)
    memory = inspect.Parameter(
        "memory", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Memory
    )
    return _showing(run, [*signature.parameters.values(), memory])


def _showing(run: Callable[..., None], parameters: list[inspect.Parameter]) -> Callable[..., None]:
    # Typer reads both.
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


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


# readable=False: see above.

Memory = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST,
        metavar="MB",
        help=f"What a single image, or compressed arrays, may take of memory [{DEFAULT}; "
        f"{VARIABLE} of the environment].",
        rich_help_panel=READING,
    ),
]

Predictions = Annotated[
    Path, typer.Argument(help="Prediction file (or folder of .mat files).", readable=False)
]
Annotations = Annotated[
    Path | None,
    typer.Option(
        help="Annotation file or its folder [searched for in the usual places].",
        readable=False,
    ),
]
Pairs = Annotated[Path | None, typer.Option(help="File of predicted pairs.", readable=False)]
Dataset = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(VOCABULARIES)}, or a .toml file that describes a data set [recognised "
        "from the content].",
        rich_help_panel=READING,
    ),
]
ProtocolName = Annotated[
    str | None,
    typer.Option(
        help=f"One of {', '.join(PROTOCOLS)} [that of the data set].",
        rich_help_panel=COUNTS,
    ),
]
Ap = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help=f"How average precision is taken: {', '.join(get_args(AveragePrecision))} [that of "
        "the protocol].",
        rich_help_panel=COUNTS,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="Format of the predictions [recognised from the content].",
        rich_help_panel=READING,
    ),
]
Origin = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1,
        help="Whether coordinates of predicted boxes start at 0 or 1.",
        rich_help_panel=READING,
    ),
]
Objects = Annotated[
    str | None,
    typer.Option(
        help="Object numbering of the predictions: coco80, coco91, hico80, coco80-1 or coco91-0.",
        rich_help_panel=READING,
    ),
]
Verbs = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1,
        help="Triplets of the predictions are numbered by verb, from 0 or 1.",
        rich_help_panel=READING,
    ),
]
Classes = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1,
        help="Triplets of the predictions are numbered by HOI class, from 0 or 1.",
        rich_help_panel=READING,
    ),
]
Boxes = Annotated[
    str | None,
    typer.Option(
        help=f"What the numbers of predicted boxes are: {', '.join(LAYOUTS)} [xyxy or xywh, "
        "determined from the boxes].",
        rich_help_panel=READING,
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MOST_ROWS,
        help="Triplets kept per image, best first [dense arrays: 100; others: all].",
        rich_help_panel=READING,
    ),
]
OnlyPredicted = Annotated[
    bool,
    typer.Option(
        "--only-predicted-images",
        help="Evaluate only the images that annotations and all predictions hold.",
        rich_help_panel=COUNTS,
    ),
]
Instances = Annotated[
    Path | None,
    typer.Option(
        help="COCO instances of V-COCO annotations [beside vcoco_test.json].",
        readable=False,
        rich_help_panel=READING,
    ),
]
Ids = Annotated[
    Path | None,
    typer.Option(
        help="Image ids of the split of V-COCO annotations [vcoco_test.ids beside the file].",
        readable=False,
        rich_help_panel=READING,
    ),
]
ImageId = Annotated[
    str | None,
    typer.Option(
        help="Image of a V-COCO prediction file that holds one image and does not name it.",
        rich_help_panel=READING,
    ),
]
Images = Annotated[Path, typer.Option(help="Folder with the pictures.", readable=False)]
Folder = Annotated[Path, typer.Option(help="Folder to write to.", readable=False)]
Json = Annotated[
    Path | None,
    typer.Option(
        help="Write all results to this JSON file; - for stdout.",
        readable=False,
        rich_help_panel=FILES,
    ),
]
Confidence = Annotated[
    float, typer.Option(help="Confidence level of the intervals.", rich_help_panel=SURE)
]
Resamples = Annotated[
    int,
    typer.Option(
        max=MOST_RESAMPLES,
        metavar="N",
        help="Resamples and permutations of the images for the tests.",
        rich_help_panel=SURE,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0,
        max=LARGEST_SEED,
        help="Seed of the random number generator.",
        rich_help_panel=SURE,
    ),
]
StudyFile = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY.toml", help="A .toml file that lists models and files.", readable=False
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(help="Names of the models, separated by commas [names of the files]."),
]
Label = Annotated[
    str | None,
    typer.Option(
        help="Name of the model in tables, figures and files [name of the prediction file].",
        rich_help_panel=FILES,
    ),
]
ClassTable = Annotated[
    Path | None,
    typer.Option(
        help="Write the numbers of each HOI class to this .csv or .json file.",
        readable=False,
        rich_help_panel=FILES,
    ),
]


def _check_resamples(resamples: int | None) -> int | None:
    """Return the resamples of ``--bootstrap``; the ends of intervals of fewer are chance.

    Raises
    ------
    InputError
        For fewer than :data:`LEAST_RESAMPLES`.
    """
    if resamples is not None and resamples < LEAST_RESAMPLES:
        raise InputError(
            f"--bootstrap {resamples}: too few for intervals; give at least {LEAST_RESAMPLES} "
            "resamples, usually 1000"
        )
    return resamples


Bootstrap = Annotated[
    int | None,
    typer.Option(
        callback=_check_resamples,
        max=MOST_RESAMPLES,
        metavar="N",
        help="Compute confidence intervals from N resamples of the images.",
        rich_help_panel=SURE,
    ),
]


def check_column(column: str) -> str:
    """Return the width of ``--column``.

    Raises
    ------
    InputError
        For an unknown one.
    """
    if column not in COLUMNS:
        raise InputError(
            f"--column '{column}': not known{close_matches(column, COLUMNS)}; give one of "
            f"{', '.join(COLUMNS)}"
        )
    return column


Column = Annotated[
    str,
    typer.Option(
        callback=check_column,
        help="Width of figures: a single (3.25 in) or a double (6.875 in) column.",
    ),
]
WordNet = Annotated[
    Path | None,
    typer.Option(
        help="WordNet's dict folder, instead of the extract in the package.",
        readable=False,
        rich_help_panel=MEANING,
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, max=1024, help="Processes on this machine [one per core].")
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Evaluate predictions even if they look numbered or measured in another way.",
        rich_help_panel=READING,
    ),
]
Detail = Annotated[
    bool, typer.Option("--detail", help="Print all tables and notes, not one screen of them.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


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
