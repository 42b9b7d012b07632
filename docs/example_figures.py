"""The figures that the site shows, of two simulated detectors.

python docs/example_figures.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from diaghoi import plots, simulate
from diaghoi.comparison.study import Model, Study
from diaghoi.formats import write

IMAGES = 600
DETECTORS = {"one": simulate.ONE_STAGE, "two": simulate.TWO_STAGE}
WIDTHS = {
    "delta_map": plots.SINGLE_COLUMN,
    "error_shares": plots.SINGLE_COLUMN,
    "waterfall": plots.DOUBLE_COLUMN,
    "calibration": plots.DOUBLE_COLUMN,
}


def _study(folder: Path) -> Study:
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(IMAGES, rng)
    write(folder / "annotations.npz", annotations)
    models = []
    for stage, detector in DETECTORS.items():
        file = folder / f"{stage}.npz"
        write(file, simulate.detect(annotations, detector, rng))
        models.append(Model(label=f"{stage}-stage", file=file, stage=stage))
    return Study(models=tuple(models), annotations=folder / "annotations.npz")


def draw_examples(folder: Path) -> None:
    """Write ``NAME.svg`` for some figures of :data:`diaghoi.plots.FIGURES` into a folder.

    Parameters
    ----------
    folder : pathlib.Path
        Made where it is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kinds = [plots.FIGURES[name] for name in WIDTHS]
    with TemporaryDirectory() as temporary:
        collection = plots.collect(_study(Path(temporary)), kinds)
    for kind in kinds:
        figure = plots.figure_of(kind, collection.models[kind.name], WIDTHS[kind.name])
        plots.save(figure, folder / f"{kind.name}.svg", caption=kind.title)


if __name__ == "__main__":
    draw_examples(Path(sys.argv[1]))
