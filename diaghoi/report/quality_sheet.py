"""A page with some questions of a benchmark and their pictures, for a person to check.

The paper (002, section 2.2) has people look at 200 random images, and finds that all have valid
negatives. Each option has a box to tick where it is wrong; the page counts the ticks by itself.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from diaghoi._version import __version__
from diaghoi.choice.ask.sent_pictures import picture_size
from diaghoi.choice.build.build import Benchmark
from diaghoi.choice.build.candidates import Subject
from diaghoi.choice.questions import Box, Question
from diaghoi.data.arrays.seeding import seeded
from diaghoi.exceptions import some_of
from diaghoi.formats.containers.atomic import replacing
from diaghoi.formats.pictures.folder import Pictures
from diaghoi.report.gallery_page import QUALITY, in_html

LONGEST = 640
"""Pixels of the longer side of a picture on the page."""

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --raised: #f4f5f7; --ink: #1b1d21;
  --faint: #565b66; --rule: #d3d6dc; --right: #12652d; --wrong: #8f2a08; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15171b; --raised: #1f2228; --ink: #e7e9ee; --faint: #a6acb8;
    --rule: #3a3f49; --right: #7fd39a; --wrong: #f2a384; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 0 1.25rem 5rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, "Segoe UI", Roboto, Arial, sans-serif;
  counter-reset: present absent; }
h1 { margin: 1.5rem 0 .25rem; font-size: 1.75rem; line-height: 1.2; overflow-wrap: anywhere; }
p { max-width: 48rem; margin: .5rem 0; overflow-wrap: anywhere; }
.faint { color: var(--faint); font-size: .9rem; }
.questions { display: grid; gap: 1.5rem 1.25rem; margin: 1rem 0; align-items: start;
  grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
figure { margin: 0; padding: .75rem; border: 1px solid var(--rule); border-radius: .25rem; }
svg { display: block; width: 100%; height: auto; max-height: 26rem; background: var(--raised); }
.missing { padding: 3rem 1rem; text-align: center; background: var(--raised);
  overflow-wrap: anywhere; }
h2 { margin: .5rem 0 0; font-size: 1rem; overflow-wrap: anywhere; }
fieldset { margin: .5rem 0 0; padding: 0; border: 0; }
legend { padding: 0; font-size: .9rem; color: var(--faint); }
label { display: block; padding: .1rem 0; overflow-wrap: anywhere; }
.right { color: var(--right); }
.wrong { color: var(--wrong); }
.wrong input:checked { counter-increment: present; }
.right input:checked { counter-increment: absent; }
footer { position: fixed; inset: auto 0 0 0; padding: .5rem 1.25rem; background: var(--raised);
  border-top: 1px solid var(--rule); }
#count::after { content: counter(present) " wrong options are there, " counter(absent)
  " right options are not."; }
@media print { footer { position: static; } figure { break-inside: avoid; }
  .questions { grid-template-columns: repeat(2, 1fr); } }
"""


def write_quality_sheet(
    path: Path,
    benchmark: Benchmark,
    pictures: Pictures | None,
    number: int,
    *,
    progress: Callable[[int], Any] | None = None,
) -> list[str]:
    """Write the page; it appears whole or not at all.

    Parameters
    ----------
    path : pathlib.Path
        Where to write.
    benchmark : Benchmark
        Its seed draws the questions, of all settings.
    pictures : Pictures or None
        Where they are; without them the page has names alone.
    number : int
        Questions on the page, at most.
    progress : callable
        Called with the number of questions that are done.

    Returns
    -------
    list of str
        Notes on the pictures.

    Raises
    ------
    InputError
        Where the file cannot be written.
    """
    drawn = _drawn(benchmark, number)
    lacking: list[str] = []
    with replacing(path) as temporary, temporary.open("wb") as stream:
        stream.write(_head(benchmark, len(drawn)).encode())
        for place, (subject, question, box) in enumerate(drawn, 1):
            shown = _picture(subject, box, pictures, lacking)
            stream.write(_figure(place, question, shown).encode())
            if progress is not None:
                progress(1)
        stream.write(_foot().encode())
    if lacking and pictures is not None:
        missing = list(dict.fromkeys(lacking))
        return [f"{path}: {len(missing)} pictures are not shown: {some_of(missing)}"]
    return []


def _drawn(benchmark: Benchmark, number: int) -> list[tuple[Subject, Question, Box | None]]:
    """Draw questions with what they are about; in the order of the images."""
    subject = dict(zip((each.image for each in benchmark.scenes), benchmark.subjects, strict=True))
    shift = benchmark.origin
    everything = [*benchmark.scenes, *benchmark.people]
    rng = seeded(benchmark.seed, "quality sheet")
    found = []
    for place in sorted(rng.permutation(len(everything))[:number].tolist()):
        each = everything[place]
        box = each.human
        if box is not None:
            x1, y1, x2, y2 = (side - shift for side in box)
            box = x1, y1, x2, y2
        found.append((subject[each.image], each, box))
    return found


def _head(benchmark: Benchmark, number: int) -> str:
    title = f"Quality check of questions on {benchmark.dataset}"
    whole = len(benchmark.scenes) + len(benchmark.people)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "img-src data:; style-src 'unsafe-inline'\">\n"
        f"<title>{in_html(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{in_html(title)}</h1>\n"
        f"<p>{number:,} of {whole:,} questions, drawn with seed {benchmark.seed}. Tick a wrong "
        "option if it is, or may be, there in the picture; tick a right option if it is not. A "
        "question with a frame is about that person, one without a frame about everybody.</p>\n"
        '<div class="questions">\n'
    )


def _foot() -> str:
    return (
        '</div>\n<footer><span id="count" aria-live="polite"></span> '
        f'<span class="faint">diaghoi {__version__}</span></footer>\n</body>\n</html>\n'
    )


def _figure(place: int, question: Question, shown: str) -> str:
    lines = [f"<figure>\n{shown}\n<h2>{place}. {in_html(question.image)}</h2>\n"]
    who = "everybody in the picture" if question.human is None else "the person in the frame"
    lines.append(f'<p class="faint">About {who}</p>\n')
    for kind, legend, options in (
        ("wrong", "Wrong options: tick what is there", question.wrong),
        ("right", "Right options: tick what is not there", question.right),
    ):
        if options:
            boxes = "".join(
                f'<label class="{kind}"><input type="checkbox"> {in_html(option)}</label>\n'
                for option in options
            )
            lines.append(f"<fieldset>\n<legend>{legend}</legend>\n{boxes}</fieldset>\n")
    lines.append("</figure>\n")
    return "".join(lines)


def _picture(
    subject: Subject, box: Box | None, pictures: Pictures | None, lacking: list[str]
) -> str:
    """Draw the picture with the person; or say why there is none."""
    if pictures is None:
        return '<div class="missing">No pictures: give --images</div>'
    found = pictures.read(subject.image, subject.size)
    if found.image is None:
        lacking.append(subject.image)
        return f'<div class="missing">{in_html(f"No picture: {found.reason}")}</div>'
    from PIL import Image

    picture = Image.fromarray(found.image)
    width, height = subject.size or _size(subject.image, pictures) or picture.size
    picture.thumbnail((LONGEST, LONGEST))
    stream = BytesIO()
    picture.save(stream, format="JPEG", quality=QUALITY)
    data = base64.b64encode(stream.getvalue()).decode()
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{in_html(f"picture {subject.image}")}">'
        f'<image href="data:image/jpeg;base64,{data}" width="{width}" height="{height}" '
        f'preserveAspectRatio="none"/>{"" if box is None else _frame(box)}</svg>'
    )


def _size(image: str, pictures: Pictures) -> tuple[int, int] | None:
    path = pictures.find(image)
    return None if path is None else picture_size(path)


def _frame(box: Box) -> str:
    """Draw a frame that is seen on light and dark ground, of the same width in any picture."""
    x1, y1, x2, y2 = box
    place = f'x="{x1:g}" y="{y1:g}" width="{x2 - x1:g}" height="{y2 - y1:g}"'
    return "".join(
        f'<rect {place} fill="none" stroke="{colour}" stroke-width="{width}" '
        'vector-effect="non-scaling-stroke"/>'
        for colour, width in (("#fff", 5), ("#d55e00", 3))
    )
