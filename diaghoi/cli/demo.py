"""``diaghoi demo``: from nothing to tables, JSON and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import options
from diaghoi.cli.options import option, options_class, with_options
from diaghoi.cli.outputs import check_folder
from diaghoi.cli.present import draw, print_result, write_text
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.robustness import robustness as evaluate_robustness
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis import diagnose as diagnosing
from diaghoi.formats import read_annotations, write, write_pair_lists, write_triplet_lists
from diaghoi.report.json import write_json

if TYPE_CHECKING:
    import numpy as np


IMAGES = 100  # that are taken of the annotations, or the files would fill the disk
MODEL = """
[[model]]
label = "{label}"
stage = "{stage}"
clean = "{label}/clean.npz"
files = "{label}/{{corruption}}_{{severity}}.npz"
"""


@options_class
class DemoOptions:
    """What is simulated, and where to."""

    out: options.Folder = Path("demo")
    images: int = option(
        500,
        min=1,
        max=options.MOST_IMAGES,
        help="Images to simulate; 9658 is the size of HICO-DET's test set.",
    )
    seed: int = option(0, min=0, max=options.LARGEST_SEED, help="Seed of the simulation.")
    annotations: Path | None = option(
        None, help="Simulate the detectors on all images of these annotations instead."
    )
    robustness: bool = option(
        False, help="Simulate detectors on corrupted pictures instead, and draw all figures."
    )
    quiet: options.Quiet = False


@with_options
def demo(choices: DemoOptions) -> None:
    """Simulate data and two detectors, and report on both.

    The folder then holds the annotations and the predictions in the formats of the field (.pkl) and
    in the package's own (.npz), and for each detector its report as text and JSON, and one figure.
    With --robustness it holds a study of both under 20 corruptions x 5 severities, its tables,
    figures and JSON.
    """
    import numpy as np

    from diaghoi import simulate

    out, seed = choices.out, choices.seed
    check_folder(out)
    rng = np.random.default_rng(seed)
    with progress(choices.quiet) as bar:
        bar.start("simulating annotations")
        if choices.annotations is None:
            truth = simulate.annotations(choices.images, rng)
        else:
            truth = read_annotations(choices.annotations)
        if choices.robustness:
            study = _write_robustness_study(out, truth, seed, bar)
        else:
            results = _reports(out, truth, rng, bar)
    if choices.robustness:
        json, cache = out / "robustness.json", out / "cache"
        evaluate_robustness(study=study, json=json, figures=out, cache=cache, quiet=choices.quiet)
    if choices.quiet:
        return
    if choices.robustness:
        command = f"robustness {study} --cache {out / 'cache'} --errors"
        typer.echo(f"\n{_closing(out, command)}")
        return
    for result in results:
        print_result(result)
        typer.echo()
    predictions, pairs = out / "one_stage.pkl", out / "one_stage_pairs.pkl"
    command = f"report {predictions} --annotations {out / 'annotations.pkl'} --pairs {pairs}"
    typer.echo(_closing(out, command))


def _closing(out: Path, command: str) -> str:
    names = ", ".join(sorted(path.name for path in out.iterdir() if not path.name.startswith(".")))
    return f"{out} holds {names}.\nTry: diaghoi {command}"


def _reports(
    out: Path, truth: Scenes, rng: np.random.Generator, bar: Progress
) -> list[dict[str, Any]]:
    """Write annotations, predictions, reports and the figure."""
    from diaghoi import simulate

    out.mkdir(parents=True, exist_ok=True)
    _write_annotations(out, truth)
    results = []
    detectors = {"one_stage": simulate.ONE_STAGE, "two_stage": simulate.TWO_STAGE}
    for label, detector in detectors.items():
        bar.start(f"simulating {label}")
        found = simulate.detect(truth, detector, rng)
        results.append(_report(out, label, truth, found, bar))
    bar.start("drawing")
    for suffix in ("pdf", "png"):
        draw(results, out / f"delta_map.{suffix}")
    return results


def _write_annotations(out: Path, truth: Scenes) -> None:
    write_triplet_lists(out / "annotations.pkl", truth)
    write(out / "annotations.npz", truth)


def _report(out: Path, label: str, truth: Scenes, found: Scenes, bar: Progress) -> dict[str, Any]:
    bar.start(f"writing {label}")
    write_triplet_lists(out / f"{label}.pkl", found)
    write_pair_lists(out / f"{label}_pairs.pkl", found)
    write(out / f"{label}.npz", found)
    bar.start(f"diagnosing {label}", total=len(truth))
    result = diagnosing.diagnose(truth, found, label=label, progress=bar.advance).to_dict()
    write_json(out / f"{label}.json", result)
    write_text(out / f"{label}.txt", result)
    return result


def _write_robustness_study(folder: Path, truth: Scenes, seed: int, bar: Progress) -> Path:
    """Simulate two detectors under every corruption and severity; return the description."""
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
