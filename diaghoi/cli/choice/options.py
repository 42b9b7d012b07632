"""Options that commands of ``diaghoi choice`` share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diaghoi.cli.options import MOST_ROWS, option
from diaghoi.exceptions import InputError

if TYPE_CHECKING:
    from diaghoi.choice.detect import Selection

QuestionFile = Annotated[
    Path, typer.Argument(help="Questions, as the benchmark publishes them.", readable=False)
]
People = Annotated[
    Path | None,
    typer.Option(
        help="Which images show one person or several: JSON or CSV with single, multi or a "
        "number per image, or annotations.",
        readable=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """Which triplets of a detector answer a question."""

    top: int | None = option(
        None,
        min=1,
        max=MOST_ROWS,
        help="Answer by the best triplets of each image, this many [5], as the published script.",
    )
    top_question: int | None = option(
        None,
        min=1,
        max=MOST_ROWS,
        help="Answer each question by the best triplets on its boxes, this many, instead.",
    )
    threshold: float | None = option(
        None, help="Answer by all triplets with at least this score instead."
    )
    top_all: int | None = option(
        None,
        min=1,
        max=MOST_ROWS,
        help="Answer by this many best triplets of the whole prediction file instead.",
    )
    match: str | None = option(
        None,
        help="Where triplets count: scene, person (IoU >= 0.5 with the person asked about) or pair "
        "(both boxes) [person, where the questions have boxes].",
    )

    def selection(self) -> Selection:
        """Choose by one of them.

        Raises
        ------
        InputError
            For several.
        """
        from diaghoi.choice.detect import TOP, Selection

        ways = {name: value for name, value in vars(self).items() if name != "match"}
        ways = {name: value for name, value in ways.items() if value is not None}
        if len(ways) > 1:
            names = " and ".join(f"--{name.replace('_', '-')}" for name in ways)
            raise InputError(f"{names}: choose triplets in different ways; give only one of them")
        return Selection(**({"top": None} | ways if ways else {"top": TOP}))
