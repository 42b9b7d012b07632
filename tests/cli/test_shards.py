"""``diaghoi report`` on several prediction files, here and at addresses."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from diaghoi import read_annotations, read_predictions
from diaghoi.formats import write

ALONE = ("--workers", "1")


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, data) -> Path:
    path = tmp_path_factory.mktemp("whole") / "detector.npz"
    write(path, read_predictions(data.columnar).between(0, 11))
    return path


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory, whole: Path) -> Path:
    """A folder of three files with the same predictions."""
    folder = tmp_path_factory.mktemp("shards")
    found = read_predictions(whole)
    for number, (first, stop) in enumerate([(0, 4), (4, 5), (5, 11)]):
        write(folder / f"{number}.npz", found.between(first, stop))
    return folder


@pytest.fixture
def report(run, data):
    """Return a function that reports on files as a detector and gives the JSON as it is written."""

    def command(predictions: object, *words: object) -> str:
        given = ("--annotations", data.annotations, "--label", "x", "--json", "-")
        done = run("report", predictions, *given, *words)
        assert done.code == 0, done.err
        return done.out

    return command


@pytest.fixture
def refused(run, data):
    """Return a function that gives the message of a report that fails."""

    def command(predictions: object, *words: object) -> str:
        done = run("report", predictions, "--annotations", data.annotations, *words)
        assert (done.code, done.out) == (2, "")
        return done.err

    return command


@pytest.mark.parametrize(
    "words",
    [
        ("--protocol", "diag-hoi"),
        ("--protocol", "iou=0.3,ap=area", "--bootstrap", 100),
        ("--also", "rosetta,attribution,calibration,score-threshold=0.5"),
    ],
)
def test_several_files_give_the_bytes_of_one(report, shards: Path, whole: Path, words) -> None:
    assert report(shards / "*.npz", *ALONE, *words) == report(whole, *words)


def test_images_may_be_in_any_order_and_any_file(report, whole: Path, alone: Path) -> None:
    found = read_predictions(whole)
    found = found.with_names(np.array([*found.names[:-1], "not annotated.jpg"]))
    coarse = replace(found, triplet_score=np.round(found.triplet_score, 1))
    write("one.npz", coarse)
    for number, images in enumerate([[10, 3, 8], [2, 9, 0], [7, 1, 5, 4, 6]]):
        write(f"part{number}.npz", coarse.take(images))
    write("mixed.npz", coarse.take([10, 3, 8, 2, 9, 0, 7, 1, 5, 4, 6]))
    expected = report("one.npz", "--bootstrap", 100)
    assert report("mixed.npz", "--bootstrap", 100) == expected
    assert report("part*.npz", *ALONE, "--bootstrap", 100) == expected


def test_tables_are_those_of_one_file(report, shards: Path, whole: Path, alone: Path) -> None:
    for name, predictions, words in (("several", shards / "*.npz", ALONE), ("one", whole, ())):
        tables = ("--out", f"{name}_classes.csv", "--out", f"{name}_images.csv")
        report(predictions, *tables, *words)
    for kind in ("classes", "images"):
        assert Path(f"several_{kind}.csv").read_bytes() == Path(f"one_{kind}.csv").read_bytes()


def test_the_label_is_the_name_of_the_folder(run, data, shards: Path) -> None:
    given = ("--annotations", data.annotations, "--json", "-")
    done = run("report", shards / "*.npz", *given, *ALONE)
    assert json.loads(done.out)["label"] == shards.name
    done = run("report", shards / "1.npz", *given, *ALONE)
    assert json.loads(done.out)["label"] == "1"


def test_addresses_are_read_by_fsspec(report, shards: Path, whole: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    for each in shards.iterdir():
        with fsspec.open(f"memory://detector/{each.name}", "wb") as stream:
            stream.write(each.read_bytes())
    assert report("memory://detector/*.npz", *ALONE) == report(whole)


@pytest.fixture
def served(shards: Path) -> Iterator[str]:
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(shards))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_web_server_and_processes_give_the_bytes_of_one_file(report, served, whole) -> None:
    pytest.importorskip("aiohttp")
    assert report(f"{served}/*.npz", "--workers", 2) == report(whole)


@pytest.mark.slow
def test_a_cluster_gives_the_bytes_of_one_file(report, shards: Path, whole: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        there = ("--engine", "dask", "--scheduler", cluster.scheduler_address)
        assert report(shards / "*.npz", *there) == report(whole)


OF_BOXES = ("causes", "operating-points", "slices", "pair-nms=0.5", "detection-threshold=0.5")


@pytest.mark.parametrize(
    "words",
    [
        *("--pairs pairs.pkl", "--out page.html", "--open", "--also shortcuts"),
        *(f"--also {name}" for name in OF_BOXES),
    ],
)
def test_what_needs_all_boxes_is_refused(refused, shards: Path, words: str) -> None:
    named = words.partition("=")[0].removesuffix(" pairs.pkl")
    assert f"{named}: needs the boxes of all images" in refused(shards / "*.npz", *words.split())


@pytest.mark.slow
def test_a_folder_gets_all_but_the_page(report, shards: Path, alone: Path) -> None:
    report(shards / "*.npz", *ALONE, "--out", "all")
    kinds = {path.suffix for path in (alone / "all").iterdir()}
    assert kinds == {".json", ".txt", ".pdf", ".svg", ".png", ".csv", ".md", ".tex"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--engine", "dusk"), "--engine 'dusk': not known (did you mean 'dask'?); give one of lo"),
        (("--scheduler", "tcp://a:1"), "--scheduler: applies to a Dask cluster; add --engine dask"),
    ],
)
def test_engines_that_are_not_there(refused, shards: Path, words, message: str) -> None:
    assert message in refused(shards / "*.npz", *words)


@pytest.mark.parametrize("pattern", ["none/*.npz", "none.npz", "memory://none/*.npz"])
def test_no_file(refused, pattern: str) -> None:
    if "://" in pattern:
        pytest.importorskip("fsspec")
    found = refused(pattern, *ALONE)
    assert f"{pattern}: no such file; check the path or the pattern" in found


def test_a_folder_is_not_several_files_by_chance(report, shards: Path, alone: Path) -> None:
    # A name with brackets is that of a file where there is one.
    name = Path("run[1].npz")
    name.write_bytes((shards / "0.npz").read_bytes())
    assert json.loads(report(name))["counts"]["predicted_triplets"] > 0


def test_a_damaged_file_is_named(refused, shards: Path, alone: Path) -> None:
    for each in shards.iterdir():
        Path(each.name).write_bytes(each.read_bytes())
    Path("1.npz").write_bytes(b"PK\3\4 damaged")
    assert "1.npz: " in refused("*.npz", *ALONE)


def test_files_with_an_image_in_common(refused, shards: Path, alone: Path) -> None:
    for name in ("a.npz", "b.npz"):
        Path(name).write_bytes((shards / "0.npz").read_bytes())
    assert "share images" in refused("*.npz", *ALONE)


def test_images_of_another_split_are_named_with_the_file(refused, shards, alone) -> None:
    found = read_predictions(shards / "0.npz")
    write("a.npz", found)
    write("b.npz", found.with_names(np.array([f"other{n}.jpg" for n in range(len(found))])))
    message = refused("*.npz", *ALONE)
    assert "b.npz" in message
    assert "annotated" in message


def test_a_file_without_predictions_counts_with_force(report, refused, shards, alone) -> None:
    found = read_predictions(shards / "0.npz")
    write("a.npz", found)
    none = read_predictions(shards / "1.npz")
    write("b.npz", none.keep(np.zeros(len(none.pair_human), dtype=bool)))
    assert "b.npz: holds no predicted triplet" in refused("*.npz", *ALONE)
    notes = json.loads(report("*.npz", *ALONE, "--force"))["notes"]
    assert any(note.startswith("b.npz: holds no predicted triplet") for note in notes)


def test_outputs_do_not_overwrite_a_file(refused, shards: Path, alone: Path) -> None:
    for each in shards.iterdir():
        Path(each.name).write_bytes(each.read_bytes())
    assert "1.npz" in refused("*.npz", "--json", "1.npz", *ALONE)


def test_image_labels_are_those_of_all_images(report, shards: Path, whole: Path, data) -> None:
    names = read_annotations(data.annotations).names
    listed = np.empty((len(names), 1), dtype=object)
    listed[:, 0] = names
    labels = np.random.default_rng(0).choice([-1.0, 1.0], (600, len(names)))
    savemat("anno.mat", {"anno_test": labels, "list_test": listed})
    given = ("--image-labels", "anno.mat")
    assert report(shards / "*.npz", *ALONE, *given) == report(whole, *given)
    assert report(whole, *given) != report(whole)
