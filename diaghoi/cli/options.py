"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Predictions = Annotated[Path, typer.Argument(help="Prediction file (or folder of .mat files).")]
Annotations = Annotated[
    Path | None,
    typer.Option(help="Annotation file; looked for in the customary places when not given."),
]
Pairs = Annotated[Path | None, typer.Option(help="File of predicted pairs.")]
Dataset = Annotated[str, typer.Option(help="Data set.")]
Format = Annotated[
    str | None,
    typer.Option(help="Format of the predictions; recognised by content when not given."),
]
Origin = Annotated[
    int | None,
    typer.Option(min=0, max=1, help="Whether predicted boxes are counted from 0 or 1."),
]
Objects = Annotated[
    str | None,
    typer.Option(help="Object numbering of the predictions: coco80, coco91 or hico80."),
]
Top = Annotated[
    int | None,
    typer.Option(min=1, help="Triplets an image, best first [dense arrays: 100; others: all]."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]
