"""Draw the pictures of README and manual, which are kept in ``docs/pictures``.

    python docs/pictures.py docs/pictures

They are kept so that they show wherever the Markdown is read. ``make pictures`` runs this; do so
when a figure changes, and look at what changed.
"""

from __future__ import annotations

import re
import sys
from itertools import chain
from pathlib import Path

from error_pictures import draw_errors
from example_figures import draw_answers, draw_robustness, draw_study
from PIL import Image

from diaghoi import plots
from diaghoi.plots.style import PAPER

# So many cells, dots or hatches that they would be large as SVG.
PIXELS = (
    "class_ap",
    "error_profile_object",
    "error_profile_verb",
    "error_shares",
    "robustness_costs",
    "robustness_errors",
    "robustness_shares",
)
SCREENSHOT = "page"
"""Of a report as a page (CONTRIBUTING.md says how it is taken): the one picture not drawn here."""
DPI, NARROWEST = 125, 600  # what PNGs are reduced to, and the least width of one in pixels
ENLARGED = 1.4
"""Screens are read from further away than paper."""


def draw(folder: Path) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in chain(draw_errors(), draw_study(), draw_robustness()):
        plots.save(figure, folder / f"{name}.{'png' if name in PIXELS else 'svg'}")
    draw_answers(folder)
    for path in folder.glob("*.png"):
        if path.stem != SCREENSHOT:
            _shrink(path)
    for path in folder.glob("*.svg"):
        path.write_text(compact(path.read_text(encoding="utf-8")), encoding="utf-8")


def compact(svg: str) -> str:
    """Shorten what matplotlib writes: two decimals are enough, and so are three fonts."""
    svg = re.sub(r"<(metadata)>.*?</\1>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r'(<svg [^>]*width=")([\d.]+)(pt" height=")([\d.]+)',
        lambda found: (
            f"{found[1]}{float(found[2]) * ENLARGED}{found[3]}{float(found[4]) * ENLARGED}"
        ),
        svg,
    )
    svg = re.sub(r"'DejaVu Sans'[^;\"]*sans-serif", "'DejaVu Sans', Verdana, sans-serif", svg)
    svg = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), svg)
    return re.sub(r"\s*\n\s*", "\n", svg)


def _shrink(path: Path) -> None:
    """Reduce a PNG to few pixels and colours."""
    with Image.open(path) as drawn:
        width = max(round(drawn.width * DPI / PAPER["savefig.dpi"]), NARROWEST)
        height = round(drawn.height * width / drawn.width)
        small = drawn.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    small.quantize(48).save(path, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
