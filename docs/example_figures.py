"""The figures that the manual shows, of simulated detectors.

Every kind of figure that the package draws appears here once, one or two columns wide. The names
come from :data:`diaghoi.plots.FIGURES` and its siblings.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure

from diaghoi import plots, simulate
from diaghoi.comparison.study import Model, Study
from diaghoi.engines.engine import LocalEngine
from diaghoi.formats import write
from diaghoi.plots.figures.robustness import ROBUSTNESS_FIGURES, models_of
from diaghoi.robustness.corruptions import CORRUPTIONS
from diaghoi.robustness.evaluation import evaluate_study
from diaghoi.robustness.simulated import under_corruption
from diaghoi.robustness.study import read_robustness_study

IMAGES, CORRUPTED, QUESTIONS, RATED = 400, 40, 120, 80
SEVERITIES = (1, 3, 5)
MODELS = (
    ("one-stage", "one", "ResNet-50", simulate.ONE_STAGE),
    ("two-stage", "two", "ResNet-50", simulate.TWO_STAGE),
    ("one-stage", "one", "ResNet-101", replace(simulate.ONE_STAGE, confused_verbs=0.1)),
)
NARROW = (
    *("delta_map", "error_shares", "negatives_curve", "pair_recall", "calibration"),
    *("difference", "transitions", "operating_points"),
    "slices",
)
SINGLE = ("error_profile_verb", "error_profile_object")
"""Figures shown for one model only, to keep the pictures small."""
HOI = "ride bicycle"
CHOICE = ("choice_scores.svg", "choice_positions.svg", "agreement.png")
ROBUSTNESS = """\
annotations = "annotations.npz"
severities = [1, 3, 5]
[[model]]
label = "one-stage"
stage = "one"
clean = "one.npz"
files = "one_{corruption}_{severity}.npz"
[[model]]
label = "two-stage"
stage = "two"
clean = "two.npz"
files = "two_{corruption}_{severity}.npz"
"""


def draw_study() -> Iterator[tuple[str, Figure]]:
    """Draw the figures of a study."""
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(IMAGES, rng)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder / "annotations.npz", annotations)
        models = []
        for number, (label, stage, backbone, detector) in enumerate(MODELS):
            file = folder / f"{number}.npz"
            write(file, simulate.detect(annotations, detector, rng))
            models.append(Model(label=label, file=file, stage=stage, backbone=backbone))
        # The third model is shown only where backbones are compared.
        backbones = [kind for kind in plots.FIGURES.values() if kind.name == "delta_map_backbone"]
        others = [kind for kind in plots.FIGURES.values() if kind not in backbones]
        shown = {}
        for few, kinds in ((models, backbones), (models[:2], others)):
            study = Study(models=tuple(few), annotations=folder / "annotations.npz")
            shown |= plots.collect(study, kinds, hoi=HOI).models
    for name, kind in plots.FIGURES.items():
        width = plots.SINGLE_COLUMN if name in NARROW else plots.DOUBLE_COLUMN
        yield name, plots.figure_of(kind, shown[name][: 1 if name in SINGLE else None], width)


def draw_robustness() -> Iterator[tuple[str, Figure]]:
    """Draw the figures of detectors under corruption."""
    annotations = simulate.annotations(CORRUPTED, np.random.default_rng(0))
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder / "annotations.npz", annotations)
        for _, stage, _, detector in MODELS[:2]:
            found = simulate.detect(annotations, detector, np.random.default_rng(0))
            write(folder / f"{stage}.npz", found)
            for name in CORRUPTIONS:
                for severity in SEVERITIES:
                    worse = under_corruption(detector, name, severity)
                    found = simulate.detect(annotations, worse, np.random.default_rng(severity))
                    write(folder / f"{stage}_{name}_{severity}.npz", found)
        (folder / "study.toml").write_text(ROBUSTNESS, encoding="utf-8")
        with LocalEngine(1) as engine:
            result = evaluate_study(read_robustness_study(folder / "study.toml"), engine).to_dict()
    for name, kind in ROBUSTNESS_FIGURES.items():
        yield name, plots.figure_of(kind, models_of(kind, result), plots.DOUBLE_COLUMN)


def draw_answers(folder: Path) -> None:
    """Draw the figures of multiple choice and of human ratings by running their commands."""
    options = [f"{verb} a/an bicycle" for verb in ("ride", "hold", "wash", "inspect")]
    names = [f"HICO_test2015_{number:08}.jpg" for number in range(1, QUESTIONS + 1)]
    question = {"gt_choices": options[:1], "wrong_choices": options[1:]}
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as temporary:
        desk = Path(temporary)
        (desk / "questions.json").write_text(json.dumps(dict.fromkeys(names, question)))
        for model, luck in (("model-a", 0.7), ("model-b", 0.5)):
            lines = []
            for name in names:
                shown = rng.permutation(options).tolist()
                right = rng.random() < luck
                place = (
                    shown.index(options[0]) if right else int(rng.choice(4, p=[0.5, 0.2, 0.2, 0.1]))
                )
                line = {"image": name, "question": "QA_0", "options": shown, "reply": "ABCD"[place]}
                lines.append(json.dumps(line))
            (desk / f"{model}.jsonl").write_text("\n".join(lines))
        rated = np.clip(
            np.round(rng.uniform(0, 4, (RATED, 1)) + rng.normal(0, 0.6, (RATED, 3))), 0, 4
        )
        rows = [
            f"{n},{','.join(map(str, row))}" for n, row in enumerate(rated.astype(int).tolist())
        ]
        (desk / "ratings.csv").write_text("\n".join(["item,ann,bob,eve", *rows]))
        for command in (
            f"choice compare questions.json model-a.jsonl model-b.jsonl --out {CHOICE[0]}",
            f"choice score questions.json model-b.jsonl --out {CHOICE[1]}",
            f"similarity agreement ratings.csv --out {CHOICE[2]}",
        ):
            words = [sys.executable, "-m", "diaghoi", *command.split(), "--quiet"]
            subprocess.run(words, cwd=desk, check=True)
        for name in CHOICE:
            (folder / name).write_bytes((desk / name).read_bytes())
