"""Draw the pictures of the README and the manual, which are kept in ``docs/pictures``.

    python docs/pictures.py docs/pictures

They are kept in the repository so that they show wherever the Markdown is read. ``make pictures``
runs this; do so when a figure changes, and look at what changed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from error_pictures import draw_errors
from example_figures import draw_answers, draw_robustness, draw_study
from PIL import Image

from diaghoi import plots
from diaghoi.plots.style import SAVED

# These have so many cells, dots or hatches that their SVGs would be large.
PIXELS = (
    "error_profile_object",
    "error_profile_verb",
    "error_shares",
    "robustness_costs",
    "robustness_errors",
    "robustness_shares",
    "sheet",
)
SCREENSHOT, WINDOW = "page", (1300, 820)
"""Picture of the top of a report's page, and its size in pixels; it needs chromium."""
DPI, NARROWEST = 125, 600  # resolution of PNGs, and their least width in pixels
SCALES = {SCREENSHOT: 1.0, "sheet": 0.25}
ENLARGED = 1.4
"""Screens are read from further away than paper."""


def draw(folder: Path) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in chain(draw_errors(), draw_study(), draw_robustness()):
        plots.save(figure, folder / f"{name}.{'png' if name in PIXELS else 'svg'}")
    draw_answers(folder)
    if (browser := shutil.which("chromium")) is not None:
        _photograph(folder / f"{SCREENSHOT}.png", browser)
    for path in folder.glob("*.png"):
        _shrink(path, SCALES.get(path.stem, DPI / SAVED["savefig.dpi"]))
    for path in folder.glob("*.svg"):
        path.write_text(compact(path.read_text(encoding="utf-8")), encoding="utf-8")


def compact(svg: str) -> str:
    """Shorten the SVG that matplotlib writes: two decimals and three fonts are enough."""
    svg = svg[svg.index("<svg ") :]
    svg = re.sub(r"<(metadata)>.*?</\1>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r'(<svg [^>]*width=")([\d.]+)(pt" height=")([\d.]+)',
        lambda found: (
            f"{found[1]}{float(found[2]) * ENLARGED}{found[3]}{float(found[4]) * ENLARGED}"
        ),
        svg,
    )
    svg = re.sub(r"'DejaVu Sans'[^;\"]*sans-serif", "'DejaVu Sans', Verdana, sans-serif", svg)
    # Only within tags: the text of a figure stays.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d+", _rounded, tag[0]), svg)
    return re.sub(r"\s*\n\s*", "\n", svg)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _photograph(path: Path, browser: str) -> None:
    """Take a screenshot of the demo's report page."""
    with TemporaryDirectory() as temporary:
        page = Path(temporary, "page.html")
        for command in (
            "demo --out demo --quiet",
            f"report demo/one_stage.npz --annotations demo/annotations.npz --out {page} --quiet",
        ):
            words = [sys.executable, "-m", "diaghoi", *command.split()]
            subprocess.run(words, cwd=temporary, check=True)
        size = ",".join(map(str, WINDOW))
        # The page unpacks its data before it draws.
        flags = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}"]
        flags.append("--virtual-time-budget=10000")
        words = [browser, *flags, f"--screenshot={path.resolve()}", page.as_uri()]
        subprocess.run(words, capture_output=True, check=True)


def _shrink(path: Path, scale: float) -> None:
    """Reduce a PNG to few pixels and colours."""
    with Image.open(path) as drawn:
        width = max(round(drawn.width * scale), NARROWEST)
        height = round(drawn.height * width / drawn.width)
        small = drawn.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    # Maximum coverage also keeps the colours of few pixels.
    small.quantize(64, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
