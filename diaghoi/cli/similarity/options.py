"""Options of commands that use semantic similarity: tables, and how they are combined."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli.options import MEANING, option, options_class
from diaghoi.cli.progress import Progress
from diaghoi.exceptions import InputError

if TYPE_CHECKING:
    from diaghoi.comparison.study import Study
    from diaghoi.semantic.measure import Measure


def _table(what: str) -> Any:
    return typer.Option(
        f"--{what}-similarity",
        help=f"Similarity of {what}s: CSV a,b,score, or .npz.",
        readable=False,
        rich_help_panel=MEANING,
    )


_VERBS, _OBJECTS = _table("verb"), _table("object")
VerbTable = Annotated[Path, _VERBS]
ObjectTable = Annotated[Path, _OBJECTS]
MaybeVerbTable = Annotated[Path | None, _VERBS]
MaybeObjectTable = Annotated[Path | None, _OBJECTS]


@options_class
class CombinationOptions:
    """How the tables are read, and their similarities combined."""

    weight: float = option(
        0.5, panel=MEANING, help="Weight of the verb; that of the object is 1 minus this."
    )
    combine: str = option(
        "arithmetic",
        panel=MEANING,
        help="How verb and object are combined: arithmetic, geometric or minimum.",
    )
    scale: float | None = option(
        None,
        panel=MEANING,
        help="Highest possible score in the tables [1 or 4, inferred from the scores].",
    )
    verb_synsets: Path | None = option(
        None,
        panel=MEANING,
        rare=True,
        help="CSV that maps verbs to their names in the table, such as synsets.",
    )
    object_synsets: Path | None = option(
        None, panel=MEANING, rare=True, help="CSV that maps objects to their names in the table."
    )

    def measure(self, **more: Any) -> Measure:
        """Make the measure of similarity, with more of its settings.

        Raises
        ------
        InputError
            For one out of range or unknown.
        """
        from diaghoi.semantic.measure import Measure

        choices: Any = {"weight": self.weight, "combine": self.combine}
        return Measure(**choices, **more)


@dataclass(frozen=True, kw_only=True)
class SimilarityOptions:
    """The tables of similarity, and how similarity is measured with them.

    Parameters
    ----------
    verbs, objects : pathlib.Path
        The tables.
    reading : CombinationOptions
        How they are read.
    measure : Measure
        How similarity is measured.
    """

    verbs: Path
    objects: Path
    reading: CombinationOptions
    measure: Measure

    @property
    def inputs(self) -> list[Path | None]:
        """The files that are given."""
        return [self.verbs, self.objects, self.reading.verb_synsets, self.reading.object_synsets]

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
        words: dict[str, Any] = {"measure": self.measure}
        for what, table, senses in (
            ("verb", self.verbs, self.reading.verb_synsets),
            ("object", self.objects, self.reading.object_synsets),
        ):
            words[f"{what}s"] = read_similarity(table, scale=self.reading.scale)
            words[f"{what}_senses"] = None if senses is None else read_senses(senses)
        return words


def tables_if_given(
    verbs: Path | None, objects: Path | None, reading: CombinationOptions, kind: object
) -> SimilarityOptions | None:
    """Collect the tables of a command that can do without; None if they are not given.

    Parameters
    ----------
    verbs, objects : pathlib.Path or None
        The tables.
    reading : CombinationOptions
        How they are read and combined.
    kind : object
        The value of ``--kind``, which needs tables, or None.

    Raises
    ------
    InputError
        For one table without the other, and options that need them.
    """
    measure = reading.measure()
    if verbs is not None and objects is not None:
        return SimilarityOptions(verbs=verbs, objects=objects, reading=reading, measure=measure)
    both = "give both --verb-similarity and --object-similarity"
    if verbs is not None or objects is not None:
        raise InputError(f"similarity of verbs and of objects are used together: {both}")
    names = ("scale", "verb_synsets", "object_synsets")
    needed_by = {"--kind": kind}
    needed_by |= {f"--{name.replace('_', '-')}": getattr(reading, name) for name in names}
    for name, value in needed_by.items():
        if value is not None:
            raise InputError(f"{name}: needs similarity; {both}")
    return None


def tables_of_study(study: Study) -> SimilarityOptions | None:
    """Collect the tables that a study names; None where it names none.

    Similarity is measured as in the paper.
    """
    tables = study.tables
    names = ("verb_similarity", "object_similarity", "verb_synsets", "object_synsets")
    verbs, objects, verb_synsets, object_synsets = map(tables.get, names)
    reading = CombinationOptions(verb_synsets=verb_synsets, object_synsets=object_synsets)
    return tables_if_given(verbs, objects, reading, None)
