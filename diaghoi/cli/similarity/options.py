"""Options of commands that use semantic similarity: tables, and how they are combined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import options
from diaghoi.cli.progress import Progress
from diaghoi.exceptions import InputError

if TYPE_CHECKING:
    from diaghoi.comparison.study import Study
    from diaghoi.semantic.measure import Measure

_VERBS = typer.Option(
    "--verb-similarity",
    help="Similarity of verbs: CSV a,b,score, or .npz.",
    readable=False,
    rich_help_panel=options.MEANING,
)
_OBJECTS = typer.Option(
    "--object-similarity",
    help="Similarity of objects: CSV a,b,score, or .npz.",
    readable=False,
    rich_help_panel=options.MEANING,
)

VerbTable = Annotated[Path, _VERBS]
ObjectTable = Annotated[Path, _OBJECTS]
MaybeVerbTable = Annotated[Path | None, _VERBS]
MaybeObjectTable = Annotated[Path | None, _OBJECTS]
VerbSenses = Annotated[
    Path | None,
    typer.Option(
        help="CSV that maps verbs to their names in the table, such as synsets.",
        readable=False,
        rich_help_panel=options.MEANING,
    ),
]
ObjectSenses = Annotated[
    Path | None,
    typer.Option(
        help="CSV that maps objects to their names in the table.",
        readable=False,
        rich_help_panel=options.MEANING,
    ),
]
Scale = Annotated[
    float | None,
    typer.Option(
        help="Highest possible score in the tables [1 or 4, inferred from the scores].",
        rich_help_panel=options.MEANING,
    ),
]
Weight = Annotated[
    float,
    typer.Option(
        help="Weight of the verb; that of the object is 1 minus this.",
        rich_help_panel=options.MEANING,
    ),
]
Combine = Annotated[
    str,
    typer.Option(
        help="How verb and object are combined: arithmetic, geometric or minimum.",
        rich_help_panel=options.MEANING,
    ),
]


@dataclass(frozen=True, kw_only=True)
class SimilarityOptions:
    """The tables of similarity, and how similarity is measured with them.

    Parameters
    ----------
    verbs, objects : pathlib.Path
        The tables.
    verb_senses, object_senses : pathlib.Path or None
        Names of the words in the tables.
    scale : float or None
        Highest score of the tables.
    measure : Measure
        How similarity is measured.
    """

    verbs: Path
    objects: Path
    verb_senses: Path | None
    object_senses: Path | None
    scale: float | None
    measure: Measure

    @property
    def inputs(self) -> list[Path | None]:
        """The files that are given."""
        return [self.verbs, self.objects, self.verb_senses, self.object_senses]

    def read(self, bar: Progress) -> dict[str, Any]:
        """Read the tables: keyword arguments of :func:`diaghoi.semantic.evaluate`.

        Raises
        ------
        InputError
            If they cannot be read.
        """
        from diaghoi.semantic.tables.senses import read_senses
        from diaghoi.semantic.tables.similarity import read_similarity

        bar.start("reading tables of similarity")
        verbs, objects = (
            read_similarity(path, scale=self.scale) for path in (self.verbs, self.objects)
        )
        verb_senses, object_senses = (
            None if path is None else read_senses(path)
            for path in (self.verb_senses, self.object_senses)
        )
        return {
            "verbs": verbs,
            "objects": objects,
            "verb_senses": verb_senses,
            "object_senses": object_senses,
            "measure": self.measure,
        }


def tables_if_given(
    verbs: Path | None, objects: Path | None, needed_by: Mapping[str, object], **choices: Any
) -> SimilarityOptions | None:
    """Collect the tables of a command that can do without; None if they are not given.

    Parameters
    ----------
    verbs, objects : pathlib.Path or None
        The tables.
    needed_by : mapping
        Values of options that need tables, by name; None if not given.
    **choices
        Of :class:`SimilarityOptions`.

    Raises
    ------
    InputError
        For one table without the other, and options that need them.
    """
    if verbs is not None and objects is not None:
        return SimilarityOptions(verbs=verbs, objects=objects, **choices)
    both = "give both --verb-similarity and --object-similarity"
    if verbs is not None or objects is not None:
        raise InputError(f"similarity of verbs and of objects are used together: {both}")
    for option, value in needed_by.items():
        if value is not None:
            raise InputError(f"{option}: needs similarity; {both}")
    return None


def tables_of_study(study: Study) -> SimilarityOptions | None:
    """Collect the tables that a study names; None where it names none.

    Similarity is measured as in the paper.
    """
    from diaghoi.semantic.measure import Measure

    if not study.tables:
        return None
    return SimilarityOptions(
        verbs=study.tables["verb_similarity"],
        objects=study.tables["object_similarity"],
        verb_senses=study.tables.get("verb_synsets"),
        object_senses=study.tables.get("object_synsets"),
        scale=None,
        measure=Measure(),
    )
