"""``diaghoi demo``: simulate data, and create reports, JSON and a figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import typer

from diaghoi import simulate
from diaghoi.cli import options
from diaghoi.cli.compare import compare
from diaghoi.cli.options import option, options_class, with_options
from diaghoi.cli.outputs import check_folder
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.report import report
from diaghoi.cli.robustness import FIGURES, robustness
from diaghoi.data.scenes import Scenes
from diaghoi.formats import read_annotations, write, write_pair_lists, write_triplet_lists

# Most images in a robustness study, because the files of more images could fill the disk.
IMAGES = 100
DETECTORS = {each.name: each for each in (simulate.ONE_STAGE, simulate.TWO_STAGE)}
PREDICTIONS = 'file = "{label}.npz"'
CORRUPTED = """clean = "{label}/clean.npz"
files = "{label}/{{corruption}}_{{severity}}.npz\""""


@options_class
class DemoOptions:
    """Options for the simulation and its output folder."""

    out: options.Folder = Path("demo")
    size: int = option(
        500,
        min=1,
        max=options.MOST_IMAGES,
        help="Images to simulate; HICO-DET has 9658 for testing.",
    )
    seed: int = option(0, min=0, max=options.LARGEST_SEED, help="Seed of the simulation.")
    annotations: Path | None = option(
        None,
        help="Simulate the detectors on the images of these annotations, not on simulated images.",
    )
    robustness: bool = option(
        False, help="Simulate a study of detectors on corrupted pictures, and draw all figures."
    )
    quiet: options.Quiet = False


@with_options
def demo(choices: DemoOptions) -> None:
    """Simulate data and two detectors, and report on both detectors.

    The folder then contains the annotations and predictions in the formats of the field (.pkl) and
    of this package (.npz), each detector's report as text and JSON, a figure of both detectors, and
    a study for 'compare' and 'figures'. With --robustness, the folder contains a study of both
    detectors under 20 corruptions x 5 severities, with figures and JSON.
    """
    out, quiet = choices.out, choices.quiet
    check_folder(out)
    rng = np.random.default_rng(choices.seed)
    with progress(quiet) as bar:
        bar.start("simulating annotations")
        if choices.annotations is None:
            truth = simulate.annotations(choices.size, rng)
        else:
            truth = read_annotations(choices.annotations)
        out.mkdir(parents=True, exist_ok=True)
        if choices.robustness:
            _write_study(out, truth, choices.seed, bar)
        else:
            _write_detectors(out, truth, rng, bar)
    if choices.robustness:
        study, cache = out / "study.toml", out / "cache"
        files = [out / "robustness.json", *(out / f"robustness_{name}.pdf" for name in FIGURES)]
        robustness(study=study, cache=cache, out=files, quiet=quiet)
        typer.echo("", nl=not quiet)
        commands = [f"robustness {study} --cache {cache} --detail"]
    else:
        annotations = out / "annotations.npz"
        for label in DETECTORS:
            file = out / f"{label}.npz"
            files = [file.with_suffix(".json"), file.with_suffix(".txt")]
            report(predictions=str(file), annotations=annotations, out=files, quiet=quiet)
            typer.echo("", nl=not quiet)
        results = [out / f"{label}.json" for label in DETECTORS]
        figures = [out / "delta_map.pdf", out / "delta_map.png"]
        compare(models=results, out=figures, quiet=True)
        commands = [
            f"report {out / 'one_stage.npz'} --annotations {annotations} --detail",
            f"compare {out / 'study.toml'}",
        ]
    if not quiet:
        names = sorted(path.name for path in out.iterdir() if not path.name.startswith("."))
        typer.echo(f"{out} holds {', '.join(names)}.")
        for command in commands:
            typer.echo(f"Try: diaghoi {command}")


def _write_detectors(folder: Path, truth: Scenes, rng: np.random.Generator, bar: Progress) -> None:
    """Write annotations, and the predictions of two detectors."""
    write_triplet_lists(folder / "annotations.pkl", truth)
    write(folder / "annotations.npz", truth)
    for label, detector in DETECTORS.items():
        bar.start(f"simulating {label}")
        found = simulate.detect(truth, detector, rng)
        write_triplet_lists(folder / f"{label}.pkl", found)
        write_pair_lists(folder / f"{label}_pairs.pkl", found)
        write(folder / f"{label}.npz", found)
    _describe(folder, PREDICTIONS)


def _write_study(folder: Path, truth: Scenes, seed: int, bar: Progress) -> None:
    """Simulate two detectors under every corruption and severity, and describe the study."""
    from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES
    from diaghoi.robustness.simulated import under_corruption

    truth = truth.between(0, min(IMAGES, len(truth)))
    write(folder / "annotations.npz", truth)
    for label, detector in DETECTORS.items():
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
    _describe(folder, CORRUPTED)


def _describe(folder: Path, files: str) -> None:
    """Describe the detectors and their files in a study."""
    text = 'annotations = "annotations.npz"\n'
    for label in DETECTORS:
        stage = label.partition("_")[0]
        text += f'\n[[model]]\nlabel = "{label}"\nstage = "{stage}"\n{files.format(label=label)}\n'
    (folder / "study.toml").write_text(text, encoding="utf-8")
