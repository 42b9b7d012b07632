"""Options of ``diaghoi choice``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diaghoi.cli import options

QuestionFile = Annotated[
    Path, typer.Argument(help="Questions, as the benchmark publishes them.", readable=False)
]
AnswerFile = Annotated[
    Path, typer.Argument(help="Answers: JSON lines with options and reply.", readable=False)
]
Files = Annotated[
    list[Path],
    typer.Argument(help="Answers and prediction files of detectors.", readable=False),
]
People = Annotated[
    Path | None,
    typer.Option(
        help="Which images show one person or several: JSON or CSV with single, multi or a "
        "number per image, or annotations.",
        readable=False,
    ),
]
Diagnose = Annotated[
    bool,
    typer.Option(
        "--diagnose",
        help="Show which wrong options attract the model, how many it picks, and its position "
        "bias.",
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(help="Draw the picks by position to this .pdf, .png or .svg.", readable=False),
]
ScoreFigure = Annotated[
    Path | None,
    typer.Option(help="Draw the scores of all models to this .pdf, .png or .svg.", readable=False),
]
Top = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=options.MOST_ROWS,
        help="Answer by the best triplets of each image, this many [5], as the published script.",
    ),
]
TopQuestion = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=options.MOST_ROWS,
        help="Answer each question by the best triplets on its boxes, this many, instead.",
    ),
]
Threshold = Annotated[
    float | None, typer.Option(help="Answer by all triplets with at least this score instead.")
]
TopAll = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=options.MOST_ROWS,
        help="Answer by this many best triplets of the whole prediction file instead.",
    ),
]
Match = Annotated[
    str | None,
    typer.Option(
        help="Where triplets count: scene, person (IoU >= 0.5 with the person asked about) or pair "
        "(both boxes) [person, where the questions have boxes]."
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(help="Groups of the models, separated by commas [VLM, HOI-specific methods]."),
]
