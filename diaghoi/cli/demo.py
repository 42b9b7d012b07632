"""``diaghoi demo``: from nothing to tables, JSON and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import options
from diaghoi.cli.outputs import check_folder
from diaghoi.cli.present import draw, print_result, write_text
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.robustness import robustness as evaluate_robustness
from diaghoi.cli.robustness_demo import write_robustness_study
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis import diagnose as diagnosing
from diaghoi.formats import read_annotations, write, write_pair_lists, write_triplet_lists
from diaghoi.report.json import write_json

if TYPE_CHECKING:
    import numpy as np


def demo(
    out: options.Folder = Path("demo"),
    images: Annotated[
        int,
        typer.Option(
            min=1,
            max=options.MOST_IMAGES,
            help="Images to simulate; 9658 is the size of HICO-DET's test set.",
        ),
    ] = 500,
    seed: Annotated[
        int, typer.Option(min=0, max=options.LARGEST_SEED, help="Seed of the simulation.")
    ] = 0,
    annotations: Annotated[
        Path | None,
        typer.Option(
            help="Simulate the detectors on all images of these annotations instead.",
            readable=False,
        ),
    ] = None,
    robustness: Annotated[
        bool,
        typer.Option(
            "--robustness",
            help="Simulate detectors on corrupted pictures instead, and draw all figures.",
        ),
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Simulate data and two detectors, and report on both.

    The folder then holds the annotations and the predictions in the formats of the field (.pkl) and
    in the package's own (.npz), and for each detector its report as text and JSON, and one figure.
    With --robustness it holds a study of both under 20 corruptions x 5 severities, its tables,
    figures and JSON.
    """
    import numpy as np

    from diaghoi import simulate

    check_folder(out)
    rng = np.random.default_rng(seed)
    with progress(quiet) as bar:
        bar.start("simulating annotations")
        if annotations is None:
            truth = simulate.annotations(images, rng)
        else:
            truth = read_annotations(annotations)
        if robustness:
            study = write_robustness_study(out, truth, seed, bar)
        else:
            results = _reports(out, truth, rng, bar)
    if robustness:
        json, cache = out / "robustness.json", out / "cache"
        evaluate_robustness(study, json=json, figures=out, cache=cache, quiet=quiet)
    if quiet:
        return
    if robustness:
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
