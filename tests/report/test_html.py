"""The report as one page: what stands in it, and that nothing in the data can break it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support import v_coco
from support.described import write_description
from support.explorer import page_data_of
from support.scenes import BICYCLE, CAR, HOLD, PERSON, RIDE, image, scenes

from diaghoi import InputError, diagnose, simulate
from diaghoi.comparison.comparison import Comparison, compare
from diaghoi.comparison.selection import difference_in_words
from diaghoi.comparison.slices import slices
from diaghoi.comparison.transitions import transitions
from diaghoi.data.protocol import Group, protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.curves import class_curve
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.formats.pictures import Pictures
from diaghoi.oracles import ORACLES, Oracle
from diaghoi.report.html import (
    page_data,
    page_model,
    write_comparison_html,
    write_html,
)
from diaghoi.report.html.models import PageModel
from diaghoi.report.html.words import MEANINGS, meaning_of
from diaghoi.report.pages import check_installed
from diaghoi.report.text import report_tables
from diaghoi.report.verdict import verdict

pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")

EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """A page in parts: elements with their attributes, and words."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.source = text
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs).get("type") or "", ""))
        if tag in ("script", "style"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.words.append(data)
        elif self._open[-1] == "script":
            kind, text = self.scripts[-1]
            self.scripts[-1] = kind, text + data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def policy(self) -> str:
        found = [found for _, found in self.elements if "http-equiv" in found]
        return found[0]["content"] or ""

    def values(self, attribute: str) -> list[str]:
        return [found[attribute] or "" for _, found in self.elements if attribute in found]

    def data(self) -> dict[str, Any]:
        return page_data_of(self.source)

    def pictures(self) -> Any:
        return json.loads(next(text for kind, text in self.scripts if kind == "application/json"))


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


Detector = tuple[Diagnosis, Scenes, Scenes]


@pytest.fixture(scope="module")
def detectors() -> tuple[Detector, Detector]:
    rng = np.random.default_rng(1)
    annotations = simulate.annotations(60, rng)
    found = []
    for label, profile in (("my model", simulate.ONE_STAGE), ("other", simulate.TWO_STAGE)):
        predictions = simulate.detect(annotations, profile, rng)
        found.append((diagnose(annotations, predictions, label=label), annotations, predictions))
    return found[0], found[1]


@pytest.fixture(scope="module")
def simulated(detectors: tuple[Detector, Detector]) -> Detector:
    return detectors[0]


@pytest.fixture(scope="module")
def models(detectors: tuple[Detector, Detector]) -> list[PageModel]:
    return [page_model(diagnosis, both) for diagnosis, *both in detectors]


@pytest.fixture(scope="module")
def comparison(detectors: tuple[Detector, Detector]) -> Comparison:
    return compare(*(diagnosis for diagnosis, *_ in detectors), explain=True)


@pytest.fixture(scope="module")
def data(models: list[PageModel], comparison: Comparison) -> dict[str, Any]:
    return page_data(models, comparison)


@pytest.fixture(scope="module")
def page(simulated: Detector, tmp_path_factory) -> Page:
    diagnosis, *both = simulated
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(path, diagnosis, (both[0], both[1]), files=["/data/preds.pkl", "gt.json"])
    return read(path)


def small(**more: Any) -> tuple[Diagnosis, tuple[Scenes, Scenes]]:
    """One image, one person, two things; a hit, a duplicate and a wrong action."""
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (20, 0, 29, 9)), (CAR, (40, 0, 49, 9))]
    annotations = scenes([image("a.jpg", boxes, [(0, 1, RIDE), (0, 2, HOLD)])], scored=False)
    found = [(0, 1, RIDE, 0.9), (0, 1, RIDE, 0.8), (0, 1, HOLD, 0.7)]
    predictions = scenes([image("a.jpg", boxes, found)], scored=True)
    return diagnose(annotations, predictions, **more), (annotations, predictions)


# ------------------------------------------------------------------ what stands in the page


def test_the_verdict_comes_first(page: Page, simulated: Detector) -> None:
    result = simulated[0].to_dict()
    assert verdict(result) in page.text[:400]
    assert page.text.startswith("my model on HICO-DET: diaghoi Skip to the report")


def test_every_figure_of_the_text_report(page: Page, simulated: Detector) -> None:
    for table in report_tables(simulated[0].to_dict()):
        for row in table.rows:
            texts = (row.title, *(cell.shown for cell in row.cells))
            assert " ".join(filter(None, texts)) in page.text
        for remark in table.caption.splitlines():
            assert " ".join(remark.split()) in page.text


@pytest.mark.parametrize("name", ["hico-det-520", "diag-hoi"])
def test_missed_triplets_are_those_of_the_text(page: Page, name: str) -> None:
    """Also under diag-hoi, whose published rule lets duplicates stand for triplets."""
    rng = np.random.default_rng(0)
    truth = simulate.annotations(100, rng)
    diagnosis = diagnose(truth, simulate.detect(truth, simulate.ONE_STAGE, rng), name)
    matrix = transitions(diagnosis, diagnosis).to_dict()["matrix"]
    lost = diagnosis.to_dict()["lost"]["triplets"]
    missed = matrix["missed_gt"]["missed_gt"]
    assert missed == lost
    assert "missed here are those in the row “on found pairs” below Missed" in page.text


def test_every_error_is_explained(page: Page) -> None:
    for name, oracle in ORACLES.items():
        assert meaning_of(name, categories_count=True) in page.text
        assert " ".join(oracle.definition.replace("`", "").split()) in page.text
        assert f"error-{name}" in page.values("id")


def test_every_error_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ORACLES)
    assert "category" in meaning_of("object_box", categories_count=True)
    assert not [name for name in MEANINGS if "category" in meaning_of(name, categories_count=False)]


def test_protocol_files_and_version(page: Page, simulated: Detector) -> None:
    for choice in simulated[0].protocol.signature.split(" | "):
        assert choice in page.text
    assert "preds.pkl" in page.text
    assert "/data" not in page.text
    assert f"diaghoi {simulated[0].to_dict()['diaghoi']}" in page.text


def test_notes_name_files_without_folders(tmp_path: Path) -> None:
    diagnosis, both = small()
    result = diagnosis.to_dict() | {"notes": ["/secret/preds.pkl: is odd"]}
    write_html(tmp_path / "r.html", diagnosis, both, result=result, files=["/secret/preds.pkl"])
    assert "preds.pkl: is odd" in read(tmp_path / "r.html").text
    assert "secret" not in (tmp_path / "r.html").read_text()


def test_a_sum_of_diagnoses_has_no_cases(tmp_path: Path) -> None:
    (one, _), two = small(), small()[0]
    total = one + replace(two, names=np.array(["b.jpg"]))
    write_html(tmp_path / "r.html", total)
    page = read(tmp_path / "r.html")
    assert page.data()["cases"] is None
    assert "Cases are drawn only if" in page.text


def test_scenes_of_another_diagnosis_are_refused(tmp_path: Path, simulated: Detector) -> None:
    with pytest.raises(InputError, match="does not belong to these annotations"):
        write_html(tmp_path / "r.html", simulated[0], small()[1])
    assert list(tmp_path.iterdir()) == []


def test_an_oracle_of_the_user_has_its_place(tmp_path: Path, monkeypatch) -> None:
    own = Oracle(name="tiny", title="Tiny & small", definition="Repair <tiny>.", repair=lambda x: x)
    monkeypatch.setitem(ORACLES, own.name, own)
    diagnosis, both = small()
    write_html(tmp_path / "r.html", diagnosis, both)
    page = read(tmp_path / "r.html")
    assert "Tiny & small" in page.text
    assert "Repair <tiny>." in page.text
    assert [each["kind"] for each in page.data()["errors"] if each["name"] == "tiny"] == ["own"]


def test_a_comparison_says_what_its_tables_say(
    models: list[PageModel], comparison: Comparison, tmp_path: Path
) -> None:
    files = ["/data/a.pkl", "/data/b.pkl"]
    write_comparison_html(tmp_path / "c.html", comparison, models, files=files)
    page = read(tmp_path / "c.html")
    assert page.text.startswith("my model and other on HICO-DET: diaghoi")
    assert difference_in_words(comparison) in page.text[:400]
    assert comparison.explained[0].sentence in page.text
    for table in comparison.tables:
        for row in table.rows:
            cells = (cell.shown for cell in row.cells)
            assert " ".join(filter(None, (*row.titles, *cells))) in page.text
        assert " ".join(table.caption.split()) in page.text
    for note in comparison.notes:
        assert note in page.text
    assert "All tables of other" in page.text


def test_saved_results_make_a_page_of_what_they_hold(
    detectors: tuple[Detector, Detector], tmp_path: Path
) -> None:
    results = [json.loads(json.dumps(diagnosis.to_dict())) for diagnosis, *_ in detectors]
    found = compare(*results)
    write_comparison_html(tmp_path / "c.html", found, [PageModel(result=each) for each in results])
    page = read(tmp_path / "c.html")
    held = page.data()
    assert [each["rows"] for each in held["models"]] == [False, False]
    assert held["classes"] is held["cases"] is held["curves"] is None
    assert held["models"][1]["delta"]["action"]["full"] == round(
        1e4 * results[1]["oracles"]["action"]["delta_map"]["full"]
    )
    assert "classes" not in page.values("id")


def test_a_saved_result_that_is_not_whole_is_refused(simulated: Detector, tmp_path: Path) -> None:
    result = simulated[0].to_dict()
    found = compare(result)
    for key in ("negatives", "official", "actions"):
        broken = {name: value for name, value in result.items() if name != key}
        with pytest.raises(
            InputError, match=r"'my model': is not a complete report .*write it again"
        ):
            write_comparison_html(tmp_path / "c.html", found, [PageModel(result=broken)])
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_without_models_is_its_tables(comparison: Comparison, tmp_path: Path) -> None:
    write_comparison_html(tmp_path / "c.html", comparison)
    page = read(tmp_path / "c.html")
    assert comparison.tables[0].rows[0].title in page.text
    assert "script-src 'none'" in page.policy


def test_the_tests_of_a_comparison_are_above_the_fold(
    detectors: tuple[Detector, Detector], models: list[PageModel], tmp_path: Path
) -> None:
    from diaghoi.statistics.significance import compare_pair

    one, other = (diagnosis for diagnosis, *_ in detectors)
    tests = compare_pair(one, other, 20, oracles=())
    write_comparison_html(tmp_path / "c.html", compare(one, other).with_differences(tests), models)
    page = read(tmp_path / "c.html")
    assert f"{tests[0].sentence}." in page.text[:800]


# ------------------------------------------------------------------ the data


def hundredths(fraction: float) -> int | None:
    return None if np.isnan(fraction) else round(1e4 * fraction)


def test_the_tables_are_those_of_the_diagnosis(data: dict[str, Any], detectors) -> None:
    for place, (diagnosis, *_) in enumerate(detectors):
        mine, table = data["classes"]["models"][place], diagnosis.classes
        assert data["classes"]["name"] == table["name"].tolist()
        assert data["classes"]["annotated"] == table["annotated"].tolist()
        for key in ("predicted", *LABELS, "missed_gt"):
            assert mine[key] == table[key].tolist(), key
            assert data["images"]["models"][place][key] == diagnosis.images[key].tolist(), key
        for key in ("ap", "max_recall"):
            assert mine[key] == pytest.approx([hundredths(each) for each in table[key]], abs=1)
        for name in ORACLES:
            shown = [hundredths(each) for each in table[f"delta_{name}"]]
            assert mine["delta"][name] == pytest.approx(shown, abs=1), name


def test_means_and_costs_are_those_of_the_result(data: dict[str, Any], detectors) -> None:
    for model, (diagnosis, *_) in zip(data["models"], detectors, strict=True):
        result = diagnosis.to_dict()
        for name, outcome in result["localised"].items():
            assert model["found_pairs"][name]["full"] == round(1e4 * outcome["delta_map"]["full"])
        for split, value in result["map"].items():
            assert model["map"][split] == round(1e4 * value)
        for name, outcome in result["oracles"].items():
            assert model["delta"][name]["rare"] == round(1e4 * outcome["delta_map"]["rare"])


def test_intervals_are_those_of_a_bootstrap(simulated: Detector, tmp_path: Path) -> None:
    diagnosis, *both = simulated
    intervals = {"official.default.full": [0.1, 0.2], "map.full": [0.3, 0.4]}
    intervals["oracles.action.delta_map.rare"] = [-0.01, 0.02]
    settings = {"resamples": 10, "confidence": 0.95, "seed": 0, "method": "x"}
    result = diagnosis.to_dict() | {"intervals": intervals, "bootstrap": settings}
    write_html(tmp_path / "r.html", diagnosis, (both[0], both[1]), result=result)
    page = read(tmp_path / "r.html")
    model = page.data()["models"][0]
    assert "10.0–20.0" in page.text[:2000]
    assert "30.0–40.0" in page.text[:2000]
    assert model["delta_intervals"]["action"]["rare"] == [-100, 200]


@pytest.mark.parametrize("oracle", ["", "action", "false_positive", "missed_gt"])
def test_curves_are_those_of_the_classes(data: dict[str, Any], detectors, oracle: str) -> None:
    for place, (diagnosis, *_) in enumerate(detectors):
        ledger, chosen = diagnosis.ledger, diagnosis.protocol
        if oracle:
            ledger = ORACLES[oracle](ledger, chosen)
        found = data["curves"][place][oracle]
        compared = 0
        for row, number in enumerate(data["classes"]["number"]):
            run = slice(*found["start"][row : row + 2])
            recall, precision = np.array(found["recall"][run]), np.array(found["precision"][run])
            whole = class_curve(ledger, number - 1, chosen)
            assert (len(recall) == 0) == (len(whole.recall) == 0)
            if not len(recall):
                continue
            compared += 1
            # The precision at each of the levels that the curve has lost by being rounded.
            at = np.searchsorted(recall, np.rint(data["fine"] * whole.recall))
            assert precision[at] == pytest.approx(data["fine"] * whole.precision, abs=0.51)
        assert compared > 50


def test_thresholds_count_what_detections_count(data: dict[str, Any], detectors) -> None:
    scores = data["thresholds"]["score"]
    assert scores == sorted(set(scores))
    assert len(scores) <= 110
    classes = len(data["classes"]["name"])
    for place, (diagnosis, *_) in enumerate(detectors):
        counts = np.array(data["thresholds"]["models"][place]).reshape(
            len(LABELS), classes, len(scores)
        )
        for step in (0, 1, len(scores) // 2, scores.index(diagnosis.best_threshold)):
            wanted = diagnosis.detections(scores[step])
            assert counts[:, :, step].sum() == wanted["full"]["predicted"]
            assert counts[0, :, step].sum() == wanted["full"]["true_positive"]
            for row in (0, classes // 2):
                named = wanted["classes"].get(data["classes"]["name"][row], {"predicted": 0})
                assert counts[:, row, step].sum() == named["predicted"]
        assert counts[:, :, 0].sum() == diagnosis.counts["predicted_triplets"]


def test_fates_make_the_matrix_of_transitions(data: dict[str, Any], detectors) -> None:
    one, other = (diagnosis for diagnosis, *_ in detectors)
    matrix = np.zeros((len(data["fates"]),) * 2, dtype=int)
    for pair in zip(*data["annotations"]["models"], strict=True):
        matrix[int(pair[0]), int(pair[1])] += 1
    assert matrix.tolist() == transitions(one, other).matrix().tolist()


def test_differences_are_those_that_are_explained(
    data: dict[str, Any], comparison: Comparison
) -> None:
    found = data["differences"][0]
    assert found["labels"] == ["my model", "other"]
    of_class = comparison.explained[0].ap.of_class
    assert sum(each or 0 for each in found["classes"]["total"]) == pytest.approx(
        1e4 * np.nansum(of_class), abs=len(of_class) / 2
    )
    parts = np.array([[each or 0 for each in found["classes"][label]] for label in LABELS])
    totals = np.array([each or 0 for each in found["classes"]["total"]])
    assert np.abs(parts.sum(axis=0) - totals).max() <= len(LABELS) / 2


def test_groups_are_those_of_the_protocol() -> None:
    own = protocol("hico-det-520", groups=(Group("wheels, big", (18, 113)),))
    diagnosis, _ = small(protocol=own)
    splits = page_data([page_model(diagnosis)])["splits"]
    assert [each["title"] for each in splits] == ["Full", "Rare", "Non-rare", "wheels, big"]
    assert splits[0]["classes"] is None
    assert len(splits[3]["classes"]) == 2


def test_images_without_names_are_numbered() -> None:
    diagnosis, _ = small()
    unnamed = replace(diagnosis, names=np.array([""]))
    assert page_data([page_model(unnamed)])["images"]["name"] == ["image 1"]


def test_nothing_annotated_in_a_class_is_undefined() -> None:
    classes = page_data([page_model(small()[0])])["classes"]
    row = classes["annotated"].index(0)
    assert classes["models"][0]["ap"][row] is None
    assert classes["models"][0]["delta"]["action"][row] is None


def test_a_class_that_the_mean_leaves_out_has_no_ap() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (20, 0, 29, 9)), (BICYCLE, (70, 0, 79, 9))]
    truth = scenes([image("a.jpg", boxes[:2], [(0, 1, RIDE), (0, 1, HOLD)])], scored=False)
    found = [(0, 1, RIDE, 0.9), (0, 2, HOLD, 0.7)]
    predictions = scenes([image("a.jpg", boxes, found)], scored=True)
    diagnosis = diagnose(truth, predictions, "diag-hoi")
    classes = page_data([page_model(diagnosis)])["classes"]
    model, table = classes["models"][0], diagnosis.classes
    left = [row for row, means in enumerate(table["means"].tolist()) if "full" not in means]
    assert any(model["predicted"][row] and classes["annotated"][row] for row in left)
    assert all(model["ap"][row] is None for row in left)


# Errors that are the same where predictions are matched by the person.
SHARED = ("duplicate", "missed_gt", "false_positive", "false_negative")


def test_a_data_set_of_people_has_its_page(tmp_path: Path) -> None:
    person, thing = (0, 0, 9, 9), (20, 0, 29, 9)
    truth = [
        {
            "people": [{"box": person, "doing": {"hold": [0]}, "ignored": False}],
            "things": [thing],
        }
    ]
    found = [[{"box": person, "scores": {"hold obj": (thing, 0.5), "cut obj": (None, 0.4)}}]]
    both = v_coco.annotations(truth), v_coco.predictions(found)
    diagnosis = diagnose(*both)
    write_html(tmp_path / "r.html", diagnosis, both)
    page = read(tmp_path / "r.html")
    assert "of its category" not in page.text
    for name in MEANINGS:
        meaning = meaning_of(name, categories_count=False)
        assert (meaning == meaning_of(name, categories_count=True)) == (name in SHARED)
        assert meaning in page.text
    held = page.data()
    assert "hold obj" in held["classes"]["name"]
    for scenario in ("Official, scenario 1", "Official, scenario 2"):
        assert scenario in page.text[:2500]
    assert held["cases"]["models"][0]["object"].count(-1) == 1


def test_slices_have_figures_and_images(tmp_path: Path) -> None:
    diagnosis, both = small()
    found = slices(
        diagnosis,
        annotations=both[0],
        own={"weather": {diagnosis.names[0]: EVIL}},
        attributes=False,
        resamples=None,
    )
    write_html(tmp_path / "r.html", diagnosis, both, slices=found)
    page = read(tmp_path / "r.html")
    held = page.data()["slices"]
    columns = {each["title"]: each["values"] for each in held["columns"]}
    assert columns["Slice"][0] == f"weather: {EVIL}"
    assert columns["Images"][0] == 1
    assert columns["mAP"][0] == round(1e4 * (found.slices[0].models[0].figures["map"] or 0))
    assert held["images"][0] == "1" + "0" * (len(diagnosis.names) - 1)
    assert "slices" in page.values("id")
    assert EVIL not in page.text


# ------------------------------------------------------------------ cases


def test_the_worst_cases_are_described(tmp_path: Path) -> None:
    diagnosis, both = small()
    write_html(tmp_path / "r.html", diagnosis, both)
    held = read(tmp_path / "r.html").data()
    mine, name = held["cases"]["models"][0], held["classes"]["name"]
    shown = [(name[hoi], score) for hoi, score in zip(mine["class"], mine["score"], strict=True)]
    assert shown == [("ride bicycle", 0.9), ("ride bicycle", 0.8), ("hold bicycle", 0.7)]
    assert [held["labels"][label] for label in mine["label"]] == [
        *("true_positive", "duplicate", "action")
    ]
    assert list(mine["sentences"]) == ["1", "2"]
    assert mine["sentences"]["1"].startswith("A prediction that ranks higher (score 0.90) has")
    assert mine["sentences"]["1"].endswith("Repaired, it is removed.")
    boxes = np.array(held["cases"]["boxes"]).reshape(-1, 4)
    assert boxes[mine["object"][0]].tolist() == [20, 0, 29, 9]
    assert boxes[held["cases"]["annotated"]["human"][0]].tolist() == [0, 0, 9, 9]


def test_at_most_so_many_cases_are_described(tmp_path: Path, simulated: Detector) -> None:
    diagnosis, *both = simulated
    found = {}
    for top in (1, 3):
        write_html(tmp_path / "r.html", diagnosis, (both[0], both[1]), top=top)
        found[top] = len(read(tmp_path / "r.html").data()["cases"]["models"][0]["sentences"])
    assert found == {1: 6, 3: 18}  # nothing is missed here


def test_predictions_point_to_what_they_are_meant_for(data: dict[str, Any], detectors) -> None:
    meant = data["cases"]["annotated"]["triplet"]
    for place, (diagnosis, *_) in enumerate(detectors):
        mine = data["cases"]["models"][place]
        for row, at in zip(mine["row"], mine["annotated"], strict=True):
            wanted = int(diagnosis.ledger.row_annotation[row])
            assert (at >= 0) == (wanted >= 0)
            if at >= 0:
                hoi = int(diagnosis.ledger.annotation_class[wanted])
                row_of = data["annotations"]["class"][meant[at]]
                assert data["classes"]["number"][row_of] == hoi + 1
                # A true positive is of the triplet that is found.
                if diagnosis.ledger.true[row]:
                    assert data["annotations"]["models"][place][meant[at]] == "0"
        # All true positives are there, however low their scores are.
        assert mine["label"].count(0) == diagnosis.errors["true_positive"]


def test_files_may_list_images_in_another_order(data: dict[str, Any], detectors, models) -> None:
    _, annotations, predictions = detectors[1]
    order = np.arange(len(annotations))[::-1]
    both = annotations.take(order), predictions.take(order)
    turned = page_data([models[0], page_model(diagnose(*both, label="other"), both)])
    for key in ("annotations", "images", "classes", "curves"):
        assert turned[key] == data[key], key
    mine, theirs = (each["cases"]["models"][1] for each in (turned, data))
    chosen = [each["cases"]["images"]["image"] for each in (turned, data)]
    shown = [
        sorted(
            (images[at], hoi, score, label)
            for at, hoi, score, label in zip(
                each["image"], each["class"], each["score"], each["label"], strict=True
            )
        )
        for images, each in zip(chosen, (mine, theirs), strict=True)
    ]
    assert shown[0] == shown[1]


def test_a_page_holds_the_images_of_the_worst_cases(models: list[PageModel]) -> None:
    few = page_data(models, images=20)["cases"]
    assert len(few["images"]["image"]) == 20
    described = [
        (model, number) for model, each in enumerate(few["models"]) for number in each["sentences"]
    ]
    first = {few["models"][model]["image"][int(number)] for model, number in described}
    assert set(range(10)) <= first


@pytest.mark.parametrize("box", [(float("nan"),) * 4, (0.0, 0.0, float("inf"), 1.0)])
def test_boxes_that_cannot_be_drawn_are_left_out(box: Any) -> None:
    both = small()[1]
    xyxy = both[1].box_xyxy.copy()
    xyxy[1] = box
    odd = replace(both[1], box_xyxy=xyxy)
    found = page_data([page_model(diagnose(both[0], odd), (both[0], odd))])["cases"]
    assert found["models"][0]["object"] == [-1, -1, -1]


def test_cases_are_drawn_on_their_pictures(tmp_path: Path) -> None:
    diagnosis, both = small()
    (tmp_path / "images").mkdir()
    Image.new("RGB", (64, 48), (90, 120, 150)).save(tmp_path / "images" / "a.jpg")
    pictures = Pictures(tmp_path / "images")
    assert write_html(tmp_path / "r.html", diagnosis, both, pictures=pictures) == []
    page = read(tmp_path / "r.html")
    assert page.pictures()[0].startswith("data:image/jpeg;base64,")
    # The files do not tell the size of the image; its picture does.
    assert page.data()["cases"]["images"] == {"image": [0], "width": [64], "height": [48]}
    assert "; img-src data:; base-uri 'none';" in page.policy
    (tmp_path / "images" / "a.jpg").unlink()
    notes = write_html(tmp_path / "r.html", diagnosis, both, pictures=pictures)
    assert "1 of 1 pictures are not in" in notes[0]
    assert read(tmp_path / "r.html").pictures() == [None]


def test_the_page_of_a_detector_without_scores_shows_none(tmp_path: Path) -> None:
    _, (annotations, predictions) = small()
    predictions = replace(predictions, unread=np.zeros((1, 3), dtype=np.int64))
    diagnosis = diagnose(annotations, predictions)
    write_html(tmp_path / "r.html", diagnosis, (annotations, predictions))
    page = read(tmp_path / "r.html")
    assert page.data()["cases"]["models"][0]["score"] is None
    assert page.data()["thresholds"] is None
    assert "threshold" not in page.values("id")
    assert "the predictions, which have no scores, are in the order of the file" in page.text
    assert "highest scores" not in page.text


# ------------------------------------------------------------------ one file, whatever is in it


def test_without_scripts_the_classes_can_be_read(
    data: dict[str, Any], models: list[PageModel], comparison: Comparison, tmp_path: Path
) -> None:
    write_comparison_html(tmp_path / "r.html", comparison, models)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    plain = Page("".join(re.findall(r"<noscript>(.*?)</noscript>", text, re.S)))
    columns = [each["ap"] for each in data["classes"]["models"]]
    for row, name in enumerate(data["classes"]["name"]):
        shown = ["–" if each[row] is None else f"{each[row] / 100:.2f}" for each in columns]
        assert " ".join([name, f"{data['classes']['annotated'][row]:,}", *shown]) in plain.text


def test_nothing_is_loaded(page: Page) -> None:
    for attribute in ("src", "srcset", "action", "poster", "background"):
        assert page.values(attribute) == []
    assert all(link.startswith("#") for link in page.values("href"))
    targets = {f"#{name}" for name in page.values("id")}
    assert set(page.values("href")) <= targets


def test_ids_are_unique(page: Page) -> None:
    ids = page.values("id")
    assert len(ids) > 40
    assert len(ids) == len(set(ids))


def test_no_script_but_its_own_may_run(page: Page) -> None:
    running = [text for kind, text in page.scripts if not kind]
    digests = [
        base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in running
    ]
    allowed = " ".join(f"'sha256-{each}'" for each in digests)
    assert len(running) == 3
    assert page.policy == (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        f"script-src {allowed}"
    )


def test_the_licences_of_what_draws_the_charts_come_along() -> None:
    from importlib import resources

    vendor = resources.files("diaghoi.report.html") / "vendor"
    for script, licence in (("d3.min.js", "LICENSE.d3"), ("plot.umd.min.js", "LICENSE.plot")):
        assert "Permission to use, copy, modify" in (vendor / licence).read_text()
        text = (vendor / script).read_text(encoding="utf-8")
        # A page holds them between the tags of a script element.
        assert "</script" not in text
        assert "<!--" not in text


def test_equal_diagnoses_make_equal_files(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        diagnosis, both = small(label="x")
        write_html(tmp_path / name, diagnosis, both)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_a_page_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    diagnosis, both = small()
    with pytest.raises(InputError, match=r"r\.html: cannot be written: "):
        write_html(tmp_path / "no" / "r.html", diagnosis, both)
    assert list(tmp_path.iterdir()) == []


def test_without_jinja2(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(InputError, match=re.escape("pip install 'diaghoi[html]'")):
        check_installed()
    with pytest.raises(InputError, match="a page needs jinja2"):
        write_html(tmp_path / "r.html", small()[0])
    assert list(tmp_path.iterdir()) == []


def test_names_are_no_markup(tmp_path: Path) -> None:
    """Class, image, data set, label, note and file named like markup stay words."""
    description = write_description(
        tmp_path,
        needed='name = "zoo\\"><b>"\nobjects = ["person", "ball"]\n'
        f'verbs = ["{EVIL}", "</noscript><b>"]\n',
    )
    from diaghoi.formats.description import vocabulary

    words = vocabulary(str(description))
    boxes = [(0, (0, 0, 9, 9)), (1, (20, 0, 29, 9))]
    name = f"</script>{EVIL}<!--.jpg"
    truth = scenes([image(name, boxes, [(0, 1, 0)])], scored=False)
    found = scenes([image(name, boxes, [(0, 1, 1, 0.9), (0, 1, 0, 0.5)])], scored=True)
    both = tuple(replace(each, vocabulary=words) for each in (truth, found))
    diagnosis = diagnose(both[0], both[1], label=f"\"'>{EVIL}&amp;")
    result = diagnosis.to_dict() | {"notes": [f"note {EVIL}"]}
    files = [f"{EVIL[:8]}.pkl"]
    write_html(tmp_path / "r.html", diagnosis, (both[0], both[1]), result=result, files=files)

    page = read(tmp_path / "r.html")
    assert "b" not in [tag for tag, _ in page.elements]
    assert f'"\'>{EVIL}&amp; on zoo"><b>' in page.text
    assert f"note {EVIL}" in page.text
    assert f"{EVIL} ball" in page.text
    held = page.data()
    assert f"{EVIL} ball" in held["classes"]["name"]
    assert held["images"]["name"] == [name]
    raw = (tmp_path / "r.html").read_text()
    assert raw.count("<script") == raw.count("</script>") == 5
    assert raw.count("<noscript>") == raw.count("</noscript>") == 3


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    """Names of files may be any bytes; Python shows them as lone surrogates."""
    diagnosis, both = small(label="m\udcff\x01odel")
    names = np.array(["a\udcff.jpg"])
    both = tuple(replace(each, names=names) for each in both)
    diagnosis = replace(diagnosis, names=names)
    write_html(tmp_path / "r.html", diagnosis, (both[0], both[1]), files=["p\udcff.pkl"])
    page = read(tmp_path / "r.html")
    assert "m\ufffd\ufffdodel on HICO-DET" in page.text
    assert "p\ufffd.pkl" in page.text
    assert page.data()["images"]["name"] == ["a?.jpg"]


def test_models_of_one_page_are_few_bytes_each(data: dict[str, Any], models) -> None:
    """A page of all 9,658 images of HICO-DET must stay small: nothing is held twice."""
    text = json.dumps(data, separators=(",", ":"))
    assert len(zlib.compress(text.encode(), 9)) < 250_000
    for one, other in combinations(data["curves"], 2):
        assert one != other
