"""``inspect``, ``convert``, ``demo`` and ``--version``."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

import diaghoi


def test_version(run) -> None:
    done = run("--version")
    assert (done.code, done.out, done.err) == (0, f"{diaghoi.__version__}\n", "")


def test_no_command_shows_the_help(run) -> None:
    done = run()
    listed = (done.out + done.err).partition("Commands:")[2]
    assert {line.split()[0] for line in listed.splitlines() if line[2:3].strip()} == {
        *("report", "compare", "figures", "inspect", "convert", "semantic", "similarity"),
        *("robustness", "choice", "demo"),
    }


@pytest.mark.parametrize("command", ["report", "inspect", "convert", "demo", "figures cases"])
def test_help(run, command: str) -> None:
    for option in ("--help", "-h"):
        done = run(*command.split(), option)
        assert done.code == 0
        assert done.out.startswith(f"Usage: diaghoi {command}")


def test_unknown_option(run) -> None:
    done = run("report", "preds.pkl", "--annotation", "x")
    assert done.code == 2
    assert done.out == ""
    assert "No such option" in done.err
    assert "Traceback" not in done.err


def test_inspect_predictions(run, data) -> None:
    done = run("inspect", data.predictions)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"{data.predictions}: predictions"
    assert lines[1].endswith("(triplet-lists, pickle)")
    assert lines[2] == "  images                      12"
    assert lines[-2:] == [
        "Nothing looks wrong in the file itself; add --annotations to compare the file with "
        "annotations.",
        f"Next: diaghoi report {data.predictions} --annotations FILE",
    ]
    assert "  triplets read as            verbs from 0" in lines
    assert "  pair list                   none: the pairs of the triplets are used" in lines
    assert any(line.startswith("  triplet score ") for line in lines)


@pytest.mark.parametrize("kind", [0, 2, 4, "json", "lines"])
def test_inspect_reads_the_first_images_of_a_large_file(run, found, truth, monkeypatch, kind):
    """Python pickles a thousand items at a time."""
    many = [copy.deepcopy(found[1]) | {"filename": f"{n}.jpg"} for n in range(2500)]
    many[2400] = many[2400] | {"predictions": 7}  # not looked at
    file = Path("large.file")
    if isinstance(kind, int):
        file.write_bytes(pickle.dumps(many, protocol=kind))
    else:
        lines = map(json.dumps, many)
        file.write_text(json.dumps(many) if kind == "json" else "\n".join(lines))
    size = file.stat().st_size
    monkeypatch.setattr("diaghoi.cli.inspect.FIRST", size // 2)
    (annotations := Path("gt.pkl")).write_bytes(
        pickle.dumps([truth[1] | {"filename": f"{n}.jpg"} for n in range(2500)])
    )
    result = json.loads(run("inspect", file, "--annotations", annotations, "--json", "-").out)
    sample = result["sample"]
    assert (sample["which"], sample["bytes"]) == ("first", size)
    assert result["facts"]["images"] == sample["images"]
    assert 1000 <= sample["images"] < 2000
    assert result["facts"]["triplets"] == sample["images"]
    assert not any("are not in this file" in warning for warning in result["warnings"])
    shown = run("inspect", file)
    read = f" MB: only the first {sample['images']:,} images are read, and everything below"
    assert f"{read} refers to these images.\n" in shown.out


def test_inspect_reads_all_of_a_large_file_that_has_no_first_images(run, found, truth, monkeypatch):
    monkeypatch.setattr("diaghoi.cli.inspect.FIRST", 100)
    Path("few.pkl").write_bytes(pickle.dumps(found))
    Path("more.json").write_text(json.dumps({"preds": found, "gts": truth}))
    for file in ("few.pkl", "more.json"):
        done = run("inspect", file, "--json", "-")
        assert done.err == ""
        result = json.loads(done.out)
        assert "sample" not in result
        assert result["facts"]["images"] == 2


def test_inspect_spreads_over_a_large_file_of_the_package(run, data, monkeypatch) -> None:
    whole = json.loads(run("inspect", data.columnar, "--json", "-").out)["facts"]
    for name, value in (("ROWS", 100), ("IMAGES", 6), ("RUN", 2)):
        monkeypatch.setattr(f"diaghoi.diagnosis.inspection.{name}", value)
    result = json.loads(run("inspect", data.columnar, "--json", "-").out)
    assert result["sample"] == {
        "images": 6,
        "which": "spread",
        "of": {key: whole[key] for key in ("images", "boxes", "triplets")},
    }
    assert result["facts"]["triplets"] < whole["triplets"]
    assert (
        f"The file has 12 images, {whole['boxes']:,} boxes, {whole['triplets']:,} triplets: only 6 "
        "images spread over the file are read" in run("inspect", data.columnar).out
    )


def test_inspect_pairs_and_annotations(run, data) -> None:
    pairs = run("inspect", data.pairs).out
    assert f"{data.pairs}: pairs\n" in pairs
    assert "images without pairs" in pairs
    assert "triplets" not in pairs
    annotations = run("inspect", data.annotations).out
    assert f"{data.annotations}: annotations\n" in annotations
    assert "score" not in annotations


def test_inspect_against_annotations(run, save, truth, found) -> None:
    found[1]["filename"] = "three.jpg"
    done = run("inspect", save("p.pkl", found), "--annotations", save("gt.pkl", truth))
    assert "Warning: 1 annotated image not in this file: two.jpg\n" in done.out
    assert "Warning: 1 image of this file without annotations: three.jpg\n" in done.out
    assert "Nothing looks wrong" not in done.out


def test_inspect_with_annotations_or_of_annotations(run, data, save, truth) -> None:
    folder = save("set/gt_wo_nointer.pkl", truth).parent
    for words in (
        (data.predictions, "--annotations", data.annotations),
        (data.annotations,),
        (folder / "gt_wo_nointer.pkl", "--annotations", folder),
    ):
        assert "\nNothing looks wrong.\n" in run("inspect", *words).out


def test_inspect_with_pairs(run, data) -> None:
    alone = run("inspect", data.predictions).out
    done = run("inspect", data.predictions, "--pairs", data.pairs)
    assert done.out.startswith(f"{data.predictions}: predictions\n")
    assert "pairs of the triplets" in alone
    assert "pairs of the triplets" not in done.out
    assert "  pair score " in done.out


def test_inspect_json(run, data, alone: Path) -> None:
    assert run("inspect", data.predictions, "--json", "i.json", "-q").out == ""
    found = json.loads((alone / "i.json").read_text())
    assert list(found) == [
        *("file", "kind", "format", "title", "container", "numbering", "annotations"),
        *("facts", "notes", "warnings"),
    ]
    assert found["kind"] == "predictions"
    assert found["facts"]["images"] == 12
    assert json.loads(run("inspect", data.predictions, "--json", "-").out) == found


def test_inspect_shows_notes(run, save, found) -> None:
    for image in found:
        del image["filename"]
    done = run("inspect", save("p.pkl", found))
    assert "\nNote: " in done.out


def test_convert(run, data, alone: Path) -> None:
    done = run("convert", data.predictions, "p.npz", "--pairs", data.pairs)
    assert done.code == 0
    assert done.out.startswith("p.npz: 12 images, ")
    assert run("convert", data.annotations, "gt.npz", "-q").out == ""
    figures = [
        json.loads(run("report", *files, "--label", "x", "--json", "-").out)
        for files in (
            (data.predictions, "--pairs", data.pairs, "--annotations", data.annotations),
            ("p.npz", "--annotations", "gt.npz"),
        )
    ]
    assert figures[0] == figures[1]
    assert {path.name for path in alone.iterdir()} == {"p.npz", "gt.npz"}


def test_convert_says_what_it_cuts(run, shared: Path) -> None:
    source = shared / "conformance" / "hico_det_official" / "one_stage_arrays.pkl"
    done = run("convert", source, "p.npz", "--read", "top=120")
    assert "cut to the 120 best triplets of each image" in done.err
    # The official figures take 100, so no fewer are kept.
    done = run("convert", source, "p.npz", "--read", "top=7")
    assert "19,882 triplets" in done.out
    assert "cut to the 100 best triplets of each image, the fewest that are read" in done.err


def test_convert_of_pairs_alone(run, data) -> None:
    assert run("convert", data.pairs, "pairs.npz").code == 0
    assert ": pairs\n" in run("inspect", "pairs.npz").out


def test_demo(run, alone: Path) -> None:
    done = run("demo", "--out", "a", "--size", 8, "--seed", 3)
    names = sorted(path.name for path in (alone / "a").iterdir())
    assert names == [
        *("annotations.npz", "annotations.pkl", "delta_map.pdf", "delta_map.png"),
        *(f"one_stage{end}" for end in (".json", ".npz", ".pkl", ".txt", "_pairs.pkl")),
        "study.toml",
        *(f"two_stage{end}" for end in (".json", ".npz", ".pkl", ".txt", "_pairs.pkl")),
    ]
    assert f"a holds {', '.join(names)}." in done.out
    shown, command = (
        line.removeprefix("Try: diaghoi ").split() for line in done.out.splitlines()[-2:]
    )
    assert command == ["compare", "a/study.toml"]
    assert run(*shown).out.startswith("one_stage on HICO-DET")
    files = ("a/one_stage.pkl", "--annotations", "a/annotations.pkl")
    again = json.loads(run("report", *files, "--pairs", "a/one_stage_pairs.pkl", "--json", "-").out)
    assert again == json.loads((alone / "a" / "one_stage.json").read_text())
    compared = json.loads(run(*command, "--json", "-").out)
    assert [(each["label"], each["stage"]) for each in compared["models"]] == [
        *(("one_stage", "one"), ("two_stage", "two"))
    ]


@pytest.mark.slow
def test_demo_depends_on_its_seed_alone(run, alone: Path) -> None:
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert run("demo", "--out", folder, "--size", 8, "--seed", seed, "-q").out == ""
    one, same, other = (
        json.loads((alone / folder / "one_stage.json").read_text()) for folder in "abc"
    )
    assert one == same != other


@pytest.mark.slow
def test_demo_on_given_annotations(run, data, alone: Path) -> None:
    assert run("demo", "--annotations", data.annotations, "-q").code == 0
    assert json.loads((alone / "demo" / "two_stage.json").read_text())["counts"]["images"] == 12
