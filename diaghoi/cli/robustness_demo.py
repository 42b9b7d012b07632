"""``diaghoi demo --robustness``: a whole study of simulated detectors."""

from __future__ import annotations

from pathlib import Path

from diaghoi.cli.progress import Progress
from diaghoi.data.scenes import Scenes
from diaghoi.formats import write

IMAGES = 100  # that are taken of the annotations, or the files would fill the disk
MODEL = """
[[model]]
label = "{label}"
stage = "{stage}"
clean = "{label}/clean.npz"
files = "{label}/{{corruption}}_{{severity}}.npz"
"""


def write_robustness_study(folder: Path, truth: Scenes, seed: int, bar: Progress) -> Path:
    """Simulate two detectors under every corruption and severity.

    Parameters
    ----------
    folder : Path
        Where the files go; it is made.
    truth : Scenes
        Annotations, of which the first hundred images are taken.
    seed : int
        Each condition has a generator of its own.
    bar : Progress
        Told of each condition.

    Returns
    -------
    Path
        The description of the study.
    """
    import numpy as np

    from diaghoi import simulate
    from diaghoi.robustness.corruptions.registry import CORRUPTIONS, SEVERITIES
    from diaghoi.robustness.simulated import under_corruption

    folder.mkdir(parents=True, exist_ok=True)
    truth = truth.between(0, min(IMAGES, len(truth)))
    write(folder / "annotations.npz", truth)
    text = 'annotations = "annotations.npz"\n'
    for stage, detector in (("one", simulate.ONE_STAGE), ("two", simulate.TWO_STAGE)):
        label = detector.name
        (folder / label).mkdir(exist_ok=True)
        conditions = [(name, each) for name in CORRUPTIONS for each in SEVERITIES]
        bar.start(f"simulating {label} under corruption", total=1 + len(conditions))
        found = simulate.detect(truth, detector, np.random.default_rng([seed, 0]))
        write(folder / label / "clean.npz", found)
        bar.advance(1)
        for number, (name, severity) in enumerate(conditions, 1):
            worse = under_corruption(detector, name, severity)
            found = simulate.detect(truth, worse, np.random.default_rng([seed, number]))
            write(folder / label / f"{name}_{severity}.npz", found)
            bar.advance(1)
        text += MODEL.format(label=label, stage=stage)
    study = folder / "study.toml"
    study.write_text(text, encoding="utf-8")
    return study
