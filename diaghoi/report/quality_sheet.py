"""A page with a sample of questions and their pictures, for a person to check.

In the CrossHOI-Bench paper (section 2.2), people inspect 200 random images and find that all have
valid negatives. Each option has a checkbox to mark it as a mistake, and the page counts the marks.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi._version import __version__
from diaghoi.choice.build import ChoiceBenchmark
from diaghoi.choice.candidates import ImageTargets
from diaghoi.choice.prompts import question_words
from diaghoi.choice.questions import Box, Question, origin_of, shifted
from diaghoi.data.arrays import seeded
from diaghoi.data.vocabulary import printed_name
from diaghoi.exceptions import some_of
from diaghoi.formats.output import replacing
from diaghoi.formats.pictures import Pictures, picture_size
from diaghoi.report.case_pictures import QUALITY
from diaghoi.report.pages import jpeg_url, template

LONGEST = 640
"""Longer side of a picture on the page, in pixels."""


class Shown(NamedTuple):
    """A picture on the page, or the reason why it is missing.

    Parameters
    ----------
    url : str
        The picture as a data URL; empty if it is missing.
    width, height : int
        Size of the original picture in pixels.
    problem : str
        Why there is no picture.
    """

    url: str = ""
    width: int = 0
    height: int = 0
    problem: str = ""


def write_quality_sheet(
    path: Path,
    benchmark: ChoiceBenchmark,
    pictures: Pictures | None,
    number: int,
    *,
    progress: Callable[[int], Any] | None = None,
) -> list[str]:
    """Write the page; it appears completely or not at all.

    Parameters
    ----------
    path : pathlib.Path
        Where to write.
    benchmark : ChoiceBenchmark
        The questions; its seed determines the sample.
    pictures : Pictures or None
        Source of the pictures; without it, the page shows only image names.
    number : int
        Maximum number of questions on the page.
    progress : callable
        Called with the number of questions done since the last call.

    Returns
    -------
    list of str
        Notes on the pictures.

    Raises
    ------
    InputError
        If jinja2 is missing, or the file cannot be written.
    """
    missing: list[str] = []

    def draw(subject: ImageTargets) -> Shown:
        shown = _shown(subject, pictures)
        if not shown.url and pictures is not None and subject.image not in missing:
            missing.append(subject.image)
        if progress is not None:
            progress(1)
        return shown

    # The page is written part by part, so that not all pictures are in memory.
    page = template("quality_sheet.html.j2").stream(
        title=f"Quality check of questions on {printed_name(benchmark.dataset)}",
        questions=_drawn(benchmark, number),
        whole=len(benchmark.scenes) + len(benchmark.people),
        seed=benchmark.seed,
        draw=draw,
        asked=_asked,
        version=__version__,
    )
    with replacing(path) as temporary, temporary.open("wb") as stream:
        page.dump(stream, encoding="utf-8")
    if missing:
        return [f"{path}: {len(missing)} pictures are not shown: {some_of(missing)}"]
    return []


def _asked(question: Question) -> str:
    """Write a question in the wording shown to models."""
    return question_words(question.options, "scene" if question.human is None else "person")


def _drawn(
    benchmark: ChoiceBenchmark, number: int
) -> list[tuple[ImageTargets, Question, Box | None]]:
    """Draw random questions with their targets and boxes, in benchmark order."""
    subject = dict(
        zip((each.image for each in benchmark.scenes), benchmark.image_targets, strict=True)
    )
    everything = [*benchmark.scenes, *benchmark.people]
    rng = seeded(benchmark.seed, "quality sheet")
    found = []
    for place in sorted(rng.permutation(len(everything))[:number].tolist()):
        each = everything[place]
        box = None if each.human is None else shifted(each.human, -origin_of(benchmark.dataset))
        found.append((subject[each.image], each, box))
    return found


def _shown(subject: ImageTargets, pictures: Pictures | None) -> Shown:
    """Read the picture of a question, or describe why it is missing."""
    if pictures is None:
        return Shown(problem="No pictures: give --images")
    found = pictures.read(subject.image, subject.size)
    if found.image is None:
        return Shown(problem=f"No picture: {found.reason}")
    from PIL import Image

    picture = Image.fromarray(found.image)
    width, height = subject.size or picture_size(pictures.find(subject.image)) or picture.size
    picture.thumbnail((LONGEST, LONGEST))
    stream = BytesIO()
    picture.save(stream, format="JPEG", quality=QUALITY)
    return Shown(jpeg_url(stream.getvalue()), width, height)
