"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diaghoi.data.protocol import PROTOCOLS
from diaghoi.data.vocabulary import VOCABULARIES

# Headings of options in the help of commands that have many.
READING, COUNTS, SURE = "How files are read", "What counts", "How sure"
MEANING = "What is close in meaning"
FILES, FURTHER = "Files to write", "Further figures"

# readable=False here and in the commands: what is wrong with a file is told by its reader, in the
# same words as everything else, and not by the parser.

Predictions = Annotated[
    Path, typer.Argument(help="Prediction file (or folder of .mat files).", readable=False)
]
Annotations = Annotated[
    Path | None,
    typer.Option(
        help="Annotation file or its folder; looked for in the customary places when not given.",
        readable=False,
    ),
]
Pairs = Annotated[Path | None, typer.Option(help="File of predicted pairs.", readable=False)]
Dataset = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(VOCABULARIES)}, or a .toml file that describes a data set; recognised by "
        "content when not given.",
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
Format = Annotated[
    str | None,
    typer.Option(
        help="Format of the predictions; recognised by content when not given.",
        rich_help_panel=READING,
    ),
]
Origin = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=1,
        help="Whether predicted boxes are counted from 0 or 1.",
        rich_help_panel=READING,
    ),
]
Objects = Annotated[
    str | None,
    typer.Option(
        help="Object numbering of the predictions: coco80, coco91 or hico80.",
        rich_help_panel=READING,
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Triplets an image, best first [dense arrays: 100; others: all].",
        rich_help_panel=READING,
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
        help="Images of the split of V-COCO annotations [vcoco_test.ids beside the file].",
        readable=False,
        rich_help_panel=READING,
    ),
]
ImageId = Annotated[
    str | None,
    typer.Option(
        help="The image of V-COCO predictions of one image that do not name it.",
        rich_help_panel=READING,
    ),
]
Images = Annotated[Path, typer.Option(help="Folder with the pictures.", readable=False)]
Folder = Annotated[Path, typer.Option(help="Folder to write to.", readable=False)]
Json = Annotated[
    Path | None,
    typer.Option(
        help="Write all figures shown to this file; - for stdout.",
        readable=False,
        rich_help_panel=FILES,
    ),
]
Confidence = Annotated[
    float, typer.Option(help="Share of the resamples that an interval holds.", rich_help_panel=SURE)
]
Resamples = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Resamples and exchanges of the images for the tests.",
        rich_help_panel=SURE,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of what is random.", rich_help_panel=SURE)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
