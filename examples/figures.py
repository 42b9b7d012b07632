"""The figures of a study of several detectors, in the column width of a paper.

    python examples/figures.py [STUDY.toml]

Without a file, a study of two simulated detectors is made. On the command line:
``diaghoi figures STUDY.toml --out figures``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from diaghoi import plots, simulate
from diaghoi.comparison.study import Study, read_study
from diaghoi.formats import write

STUDY = """\
annotations = "annotations.npz"

[[model]]
label = "one-stage"
file = "one.npz"
stage = "one"

[[model]]
label = "two-stage"
file = "two.npz"
stage = "two"
"""
WANTED = ("delta_map", "delta_map_rare", "error_shares")  # plots.FIGURES has more


def make_study(folder: Path) -> Path:
    """Write what you already have, and the study that names the files."""
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(200, rng)
    write(folder / "annotations.npz", annotations)
    write(folder / "one.npz", simulate.detect(annotations, simulate.ONE_STAGE, rng))
    write(folder / "two.npz", simulate.detect(annotations, simulate.TWO_STAGE, rng))
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    return folder / "study.toml"


def draw(study: Study, output: Path) -> None:
    """Draw each figure, two columns wide."""
    kinds = [plots.FIGURES[name] for name in WANTED]
    collection = plots.collect(study, kinds)  # reads and diagnoses one model after another
    for kind in kinds:
        try:
            figure = plots.figure_of(kind, collection.models[kind.name], plots.DOUBLE_COLUMN)
        except plots.NotApplicable as reason:
            print(f"{kind.name}: not drawn: {reason}")
        else:
            plots.save(figure, output / f"{kind.name}.pdf", caption=kind.title)
            print(f"{output / kind.name}.pdf: {kind.title}")


def main() -> None:
    """Draw the figures of the given study, or of one that is made here."""
    output = Path(__file__).parent / "output"
    output.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        draw(read_study(sys.argv[1] if sys.argv[1:] else make_study(Path(folder))), output)


if __name__ == "__main__":
    main()
