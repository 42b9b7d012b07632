"""A small study of two simulated detectors on clean and corrupted pictures."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from diaghoi import simulate
from diaghoi.formats import write

IMAGES = 24
FEW = 12  # enough for each fault to be seen in the figures
CORRUPTIONS = ("motion_blur", "gaussian_noise", "occlusion")
SEVERITIES = (1, 5)
# What each corruption makes worse, by severity.
FAULTS = {
    "motion_blur": ("missed_persons", 0.12),
    "gaussian_noise": ("confused_verbs", 0.15),
    "occlusion": ("confused_labels", 0.12),
}
HEAD = f"""annotations = "gt.npz"
corruptions = {list(CORRUPTIONS)}
severities = {list(SEVERITIES)}
"""
MODEL = """
[[model]]
label = "{0}"
stage = "{1}"
backbone = "R50"
clean = "{0}/clean.npz"
files = "{0}/{{corruption}}_{{severity}}.npz"
"""
TEXT = HEAD + MODEL.format("A", "one") + MODEL.format("B", "two")
RUNS = 2 * (1 + len(CORRUPTIONS) * len(SEVERITIES))


def write_study(folder: Path, images: int = IMAGES) -> Path:
    """Write annotations, predictions and the description of the study."""
    truth = simulate.annotations(images, np.random.default_rng(0))
    write(folder / "gt.npz", truth)
    for label, detector in (("A", simulate.ONE_STAGE), ("B", simulate.TWO_STAGE)):
        (folder / label).mkdir()
        found = simulate.detect(truth, detector, np.random.default_rng(1))
        write(folder / label / "clean.npz", found)
        for name, (fault, step) in FAULTS.items():
            for severity in SEVERITIES:
                rate = getattr(detector, fault) + step * severity
                worse = replace(detector, **{fault: rate})
                found = simulate.detect(truth, worse, np.random.default_rng(severity))
                write(folder / label / f"{name}_{severity}.npz", found)
    (folder / "study.toml").write_text(TEXT)
    return folder


def link_study(written: Path, folder: Path) -> Path:
    """Make a folder of the study that may be changed: its files are links."""
    for path in sorted(written.rglob("*")):
        other = folder / path.relative_to(written)
        if path.is_dir():
            other.mkdir()
        elif path.suffix == ".npz":
            other.symlink_to(path)
    (folder / "study.toml").write_text(TEXT)
    return folder


def mri_by_loops(table: dict[str, list[float | None]]) -> float | None:
    """Equation 1 of the RoHOI paper over the scores that are there."""
    total, corruptions = 0.0, 0
    for row in table.values():
        known = [score for score in row if score is not None]
        if known:
            total += sum(known) / len(known)
            corruptions += 1
    return total / corruptions if corruptions else None


def cri_by_loops(table: dict[str, list[float | None]], clean: float | None) -> float | None:
    """Equation 2, in percent; sigma is the population deviation over the severities."""
    total, corruptions = 0.0, 0
    for row in table.values():
        known = [100 * score for score in row if score is not None]
        if known and clean:
            mean = sum(known) / len(known)
            sigma = math.sqrt(sum((score - mean) ** 2 for score in known) / len(known))
            total += mean / (100 * clean) / (math.log(1 + sigma) + 1)
            corruptions += 1
    return total / corruptions if corruptions else None
