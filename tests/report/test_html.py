"""The report as one page: what stands in it, and that nothing in the data can break it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support import v_coco
from support.described import write_description
from support.scenes import BICYCLE, CAR, HOLD, PERSON, RIDE, image, scenes

from diaghoi import InputError, diagnose, simulate
from diaghoi.cases.cases import ERRORS, Case
from diaghoi.data.protocol import Group, protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.formats.pictures.folder import Pictures
from diaghoi.oracles import ORACLES, Oracle
from diaghoi.report.html import write_html
from diaghoi.report.html.figures import SHOWN, as_element, dark_colours
from diaghoi.report.html.sketches import HEIGHT, WIDTH, sketch
from diaghoi.report.html.sortable import (
    SortableColumn,
    SortableTable,
    sortable_classes,
    sortable_images,
)
from diaghoi.report.html.words import MEANINGS, meaning_of
from diaghoi.report.pages import check_installed
from diaghoi.report.text import report_tables
from diaghoi.report.verdict import headline, verdict

pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")

EMPTY = {"meta", "link", "br", "img", "input"}
EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """A page in parts: elements with their attributes, and words."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag in ("script", "style"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.words.append(data)
        elif self._open[-1] == "script":
            self.scripts[-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def values(self, attribute: str) -> list[str]:
        return [found[attribute] or "" for _, found in self.elements if attribute in found]

    def data(self) -> list[Any]:
        return [json.loads(script) for script in self.scripts[:-1]]


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def simulated() -> tuple[Diagnosis, Scenes, Scenes]:
    rng = np.random.default_rng(1)
    annotations = simulate.annotations(60, rng)
    predictions = simulate.detect(annotations, simulate.ONE_STAGE, rng)
    return diagnose(annotations, predictions, label="my model"), annotations, predictions


@pytest.fixture(scope="module")
def page(simulated: tuple[Diagnosis, Scenes, Scenes], tmp_path_factory) -> Page:
    diagnosis, *both = simulated
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(path, diagnosis, (both[0], both[1]), files=["/data/preds.pkl", "gt.json"])
    return read(path)


@pytest.fixture
def one_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the first figure alone."""
    monkeypatch.setattr("diaghoi.report.html.figures.SHOWN", SHOWN[:1])


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures out, which take most of the time."""
    monkeypatch.setattr("diaghoi.report.html.figures.SHOWN", ())


def small(**more: Any) -> tuple[Diagnosis, tuple[Scenes, Scenes]]:
    """One image, one person, two things; a hit, a duplicate and a wrong action."""
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (20, 0, 29, 9)), (CAR, (40, 0, 49, 9))]
    annotations = scenes([image("a.jpg", boxes, [(0, 1, RIDE), (0, 2, HOLD)])], scored=False)
    found = [(0, 1, RIDE, 0.9), (0, 1, RIDE, 0.8), (0, 1, HOLD, 0.7)]
    predictions = scenes([image("a.jpg", boxes, found)], scored=True)
    return diagnose(annotations, predictions, **more), (annotations, predictions)


# ------------------------------------------------------------------ what stands in the page


def test_the_verdict_comes_first(page: Page, simulated) -> None:
    result = simulated[0].to_dict()
    assert f"{headline(result)} {verdict(result)}" in page.text[:300]
    assert page.text.startswith("my model on hico-det: diaghoi Skip to the report")


def test_every_figure_of_the_text_report(page: Page, simulated) -> None:
    for table in report_tables(simulated[0].to_dict()):
        for row in table.rows:
            texts = (row.title, *(cell.shown for cell in row.cells))
            assert " ".join(filter(None, texts)) in page.text


def test_every_error_is_explained(page: Page) -> None:
    for name, oracle in ORACLES.items():
        assert meaning_of(name, categories_count=True) in page.text
        assert " ".join(oracle.definition.replace("`", "").split()) in page.text
        assert f"error-{name}" in page.values("id")


def test_every_error_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ORACLES)
    assert "category" in meaning_of("object_box", categories_count=True)
    assert "category" not in meaning_of("object_box", categories_count=False)
    assert not [name for name in MEANINGS if "{" in meaning_of(name, categories_count=False)]


def test_protocol_files_and_version(page: Page, simulated) -> None:
    for choice in simulated[0].protocol.signature.split(" | "):
        assert choice in page.text
    assert "preds.pkl" in page.text
    assert "/data" not in page.text
    assert f"diaghoi {simulated[0].to_dict()['diaghoi']}" in page.text


@pytest.mark.usefixtures("bare")
def test_notes_name_files_without_folders(tmp_path: Path) -> None:
    diagnosis, both = small()
    result = diagnosis.to_dict() | {"notes": ["/secret/preds.pkl: is odd"]}
    write_html(tmp_path / "r.html", diagnosis, both, result=result, files=["/secret/preds.pkl"])
    assert "preds.pkl: is odd" in read(tmp_path / "r.html").text
    assert "secret" not in (tmp_path / "r.html").read_text()


@pytest.mark.usefixtures("bare")
def test_the_cases_are_drawn_worst_first(tmp_path: Path) -> None:
    diagnosis, both = small()
    write_html(tmp_path / "r.html", diagnosis, both)
    text = read(tmp_path / "r.html").text
    section = text[text.index("Duplicate Count") :]
    assert section.index("ride bicycle 0.80") < section.index("Repaired, it is removed.")
    assert text.count("There is none.") == len(ERRORS) - 2  # duplicate and action


@pytest.mark.usefixtures("bare")
def test_at_most_so_many_cases(tmp_path: Path, simulated) -> None:
    diagnosis, *both = simulated
    drawn = {}
    for top in (1, 3):
        write_html(tmp_path / "r.html", diagnosis, (both[0], both[1]), top=top)
        drawn[top] = read(tmp_path / "r.html").values("class").count("case")
    assert drawn == {1: len(ERRORS) - 1, 3: 3 * (len(ERRORS) - 1)}  # nothing is missed here


@pytest.mark.usefixtures("bare")
def test_a_sum_of_diagnoses_has_no_cases(tmp_path: Path) -> None:
    (one, _), two = small(), small()[0]
    total = one + replace(two, names=np.array(["b.jpg"]))
    write_html(tmp_path / "r.html", total)
    page = read(tmp_path / "r.html")
    assert "case" not in page.values("class")
    assert "Cases are drawn where" in page.text


def test_scenes_of_another_diagnosis_are_refused(tmp_path: Path, simulated) -> None:
    with pytest.raises(InputError, match="not that of these annotations"):
        write_html(tmp_path / "r.html", simulated[0], small()[1])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("bare")
def test_an_oracle_of_the_user_has_its_place(tmp_path: Path, monkeypatch) -> None:
    own = Oracle(name="tiny", title="Tiny & small", definition="Repair <tiny>.", repair=lambda x: x)
    monkeypatch.setitem(ORACLES, own.name, own)
    diagnosis, both = small()
    write_html(tmp_path / "r.html", diagnosis, both)
    page = read(tmp_path / "r.html")
    assert "Tiny & small" in page.text
    assert "Repair <tiny>." in page.text


# ------------------------------------------------------------------ tables per class and image


def test_the_data_are_those_of_the_diagnosis(page: Page, simulated) -> None:
    classes, images = page.data()
    for table, found in ((simulated[0].classes, classes), (simulated[0].images, images)):
        columns = {column["key"]: column for column in found["columns"]}
        for key in ("annotated", "predicted", *LABELS, "missed_gt"):
            if key in table:
                assert columns[key]["values"] == table[key].tolist(), key
        assert found["rows"] == len(table["annotated"])
    columns = {column["key"]: column for column in classes["columns"]}
    assert columns["name"]["values"] == simulated[0].classes["name"].tolist()
    for key in ("ap", "max_recall", *(f"delta_{name}" for name in ORACLES)):
        fractions = simulated[0].classes[key]
        for value, fraction in zip(columns[key]["values"], fractions, strict=True):
            assert value is None if np.isnan(fraction) else abs(value - 1e4 * fraction) <= 0.5, key


def test_the_costliest_error_of_a_class(simulated) -> None:
    table, sheet = simulated[0].classes, sortable_classes(simulated[0])
    single = [name for name in ORACLES if name not in ("false_positive", "false_negative")]
    named = 0
    for row in range(len(sheet)):
        deltas = {name: table[f"delta_{name}"][row] for name in single}
        best = np.nanmax([*deltas.values(), -1])
        if best < 0.5e-4:
            assert sheet["costliest"].values[row] is None
            assert sheet["cost"].shown(row) == "–"
        else:
            named += 1
            title = sheet["costliest"].values[row]
            assert deltas[next(n for n in single if ORACLES[n].title == title)] == best
            assert sheet["cost"].values[row] == round(1e4 * best)
    assert named > 10


def test_predictions_of_a_class_are_all_its_labels(simulated) -> None:
    sheet = sortable_classes(simulated[0])
    assert sum(sheet["predicted"].values) == simulated[0].counts["predicted_triplets"]


def test_groups_are_those_of_the_protocol() -> None:
    own = protocol("hico-det-520", groups=(Group("wheels, big", (18, 113)),))
    diagnosis, _ = small(protocol=own)
    sheet = sortable_classes(diagnosis)
    assert list(sheet.groups) == ["Rare", "Non-rare", "wheels, big"]
    assert [int(rows.sum()) for rows in sheet.groups.values()][2] == 2
    row = int(np.flatnonzero(sheet.groups["wheels, big"])[0])
    assert sheet["group"].values[row] == "Non-rare, wheels, big"
    assert json.loads(sheet.to_json())["groups"][2]["rows"][0] == row


@pytest.mark.usefixtures("bare")
def test_without_groups_there_is_no_choice_of_groups(tmp_path: Path) -> None:
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
    assert "groups" not in page.values("class")
    assert "of its category" not in page.text
    assert "hold obj" in page.text
    assert "group" not in [column.key for column in sortable_classes(diagnosis).columns]


def test_images_without_names_are_numbered() -> None:
    diagnosis, _ = small()
    unnamed = replace(diagnosis, names=np.array([""]))
    assert sortable_images(unnamed)["image"].values == ["image 1"]


def test_nothing_annotated_in_a_class_is_a_dash() -> None:
    sheet = sortable_classes(small()[0])
    row = sheet["annotated"].values.index(0)
    assert sheet["ap"].values[row] is None
    assert sheet["ap"].shown(row) == "–"
    assert sheet["costliest"].shown(row) == "–"


@pytest.mark.usefixtures("bare")
def test_without_scripts_the_classes_can_be_read(simulated, tmp_path: Path) -> None:
    write_html(tmp_path / "r.html", simulated[0])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    plain = Page("".join(re.findall(r"<noscript>(.*?)</noscript>", text, re.S)))
    sheet = sortable_classes(simulated[0])
    for row in range(len(sheet)):
        keys = ("name", "annotated", "ap", "max_recall", "costliest", "cost")
        assert " ".join(sheet[key].shown(row) for key in keys) in plain.text


def test_thousands_of_images_are_a_few_bytes_each() -> None:
    """A page of all 9,658 images of HICO-DET must stay small."""
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 120, (11, 1000)).tolist()
    names = [f"HICO_test2015_{number:08d}.jpg" for number in range(1000)]
    columns = [SortableColumn(key="image", title="Image", kind="name", values=names)]
    columns += [
        SortableColumn(key=str(n), title="", kind="count", values=v) for n, v in enumerate(counts)
    ]
    assert len(SortableTable(columns=tuple(columns), groups={}).to_json()) < 70 * 1000


# ------------------------------------------------------------------ one file, whatever is in it


def test_nothing_is_loaded(page: Page) -> None:
    for attribute in ("src", "srcset", "data", "action", "poster", "background"):
        assert page.values(attribute) == []
    assert all(link.startswith("#") for link in page.values("href"))
    targets = {f"#{name}" for name in page.values("id")}
    assert set(page.values("href")) <= targets


def test_ids_are_unique(page: Page) -> None:
    ids = page.values("id")
    assert len(ids) > 50  # those of the figures, too
    assert len(ids) == len(set(ids))


def test_no_script_but_its_own_may_run(page: Page) -> None:
    policy = next(
        found["content"] or ""
        for tag, found in page.elements
        if tag == "meta" and found.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(hashlib.sha256(page.scripts[-1].encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    kinds = [found.get("type") for tag, found in page.elements if tag == "script"]
    assert kinds == ["application/json", "application/json", None]


@pytest.mark.usefixtures("one_figure")
def test_equal_diagnoses_make_equal_files(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        diagnosis, both = small(label="x")
        write_html(tmp_path / name, diagnosis, both)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.usefixtures("bare")
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
    from diaghoi.formats.datasets import vocabulary

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
    kinds = [found.get("type") for tag, found in page.elements if tag == "script"]
    assert kinds == ["application/json", "application/json", None]
    assert "b" not in [tag for tag, _ in page.elements]
    assert f'"\'>{EVIL}&amp; on zoo"><b>' in page.text
    assert f"note {EVIL}" in page.text
    assert f"{EVIL} ball" in page.text
    classes, images = page.data()
    assert f"{EVIL} ball" in classes["columns"][1]["values"]
    assert images["columns"][0]["values"] == [name]
    raw = (tmp_path / "r.html").read_text()
    assert raw.count("<script") == raw.count("</script>") == 3
    assert raw.count("<noscript>") == raw.count("</noscript>") == 2


@pytest.mark.usefixtures("one_figure")
def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    """Names of files may be any bytes; Python shows them as lone surrogates."""
    diagnosis, both = small(label="m\udcff\x01odel")
    names = np.array(["a\udcff.jpg"])
    both = tuple(replace(each, names=names) for each in both)
    diagnosis = replace(diagnosis, names=names)
    write_html(tmp_path / "r.html", diagnosis, (both[0], both[1]), files=["p\udcff.pkl"])
    page = read(tmp_path / "r.html")
    assert "m\ufffd\ufffdodel on hico-det" in page.text
    assert "p\ufffd.pkl" in page.text
    assert page.data()[1]["columns"][0]["values"] == ["a?.jpg"]


# ------------------------------------------------------------------ drawings


def case(**more: Any) -> Case:
    human, thing = (0.0, 0.0, 96.0, 48.0), (240.0, 120.0, 480.0, 360.0)
    fields = {
        "error": "association",
        "image": "a.jpg",
        "size": (480, 360),
        "name": "ride bicycle",
        "score": 0.5,
        "human": human,
        "object": thing,
        "annotated": "hold bicycle",
        "annotated_human": (0.0, 0.0, 48.0, 48.0),
        "annotated_object": thing,
        "sentence": "It is wrong.",
        "repair": "is removed",
    }
    return Case(**(fields | more))


def test_boxes_are_drawn_at_the_scale_of_the_image() -> None:
    drawn = sketch(case())
    assert (drawn.width, drawn.height) == (WIDTH, HEIGHT)  # half of 480 x 360
    assert drawn.framed
    # The middle of the first pixel is half a pixel from the edge.
    assert drawn.predicted.boxes == ((0.2, 0.2, 48, 24), (120.2, 60.2, 120, 120))
    assert drawn.predicted.line == pytest.approx((24.2, 12.2, 180.2, 120.2), abs=0.01)
    assert drawn.annotated.boxes[0] == (0.2, 0.2, 24, 24)


@pytest.mark.parametrize("size", [(1000, 10), (10, 1000)])
def test_no_drawing_is_larger_than_its_room(size: tuple[int, int]) -> None:
    drawn = sketch(case(size=size))
    assert max(drawn.width / WIDTH, drawn.height / HEIGHT) == pytest.approx(1)
    assert drawn.width <= WIDTH
    assert drawn.height <= HEIGHT


def test_an_image_of_unknown_size_is_as_large_as_its_boxes() -> None:
    drawn = sketch(case(size=None))
    assert not drawn.framed
    for x, y, width, height in (*drawn.predicted.boxes, *drawn.annotated.boxes):
        assert x > 0
        assert y > 0
        assert x + width < drawn.width
        assert y + height < drawn.height


def test_annotated_boxes_that_are_merely_near_are_not_joined() -> None:
    assert sketch(case()).annotated.line is not None
    assert sketch(case(annotated=None)).annotated.line is None
    assert sketch(case(annotated=None, error="action")).annotated.line is not None


def test_a_missed_triplet_has_letters_at_its_annotated_boxes() -> None:
    drawn = sketch(case(error="missed_gt", name=None, score=None, human=None, object=None))
    assert drawn.predicted.boxes == ()
    assert [letter for *_, letter in drawn.letters] == ["H", "O"]


def test_a_small_pair_is_drawn_enlarged() -> None:
    human, thing = (100.0, 100.0, 108.0, 120.0), (110.0, 110.0, 118.0, 118.0)
    drawn = sketch(case(human=human, object=thing, annotated_human=human, annotated_object=thing))
    assert drawn.enlarged == 8
    assert (drawn.width, drawn.height) == (WIDTH, HEIGHT)
    assert drawn.predicted.boxes[0][2:] == (8 * 8 * WIDTH / 480, 20 * 8 * WIDTH / 480)
    assert sketch(case()).enlarged == 1


def test_a_role_without_a_box_has_no_line() -> None:
    drawn = sketch(case(object=None))
    assert len(drawn.predicted.boxes) == 1
    assert drawn.predicted.line is None
    assert [letter for *_, letter in drawn.letters] == ["H"]


@pytest.mark.parametrize(
    "box", [(float("nan"),) * 4, (0.0, 0.0, float("inf"), 1.0), (50.0, 50.0, 10.0, 10.0)]
)
def test_odd_boxes_are_drawn_in_order_or_not_at_all(box: Any) -> None:
    drawn = sketch(case(object=box, size=None))
    for numbers in drawn.predicted.boxes:
        assert np.isfinite(numbers).all()
        assert min(numbers[2:]) >= 0


def test_no_boxes_at_all() -> None:
    nothing = dict.fromkeys(("human", "object", "annotated_human", "annotated_object"))
    drawn = sketch(case(size=None, **nothing))
    assert (drawn.width, drawn.height) == (WIDTH, HEIGHT)


@pytest.mark.parametrize("left", [0.0, 460.0])
def test_letters_stay_in_the_drawing(left: float) -> None:
    box = (left, 0.0, left + 19, 9.0)
    drawn = sketch(case(human=box, object=box))
    for x, y, _ in drawn.letters:
        assert 0 <= x <= drawn.width - 10
        assert 10 <= y <= drawn.height
    assert drawn.letters[0][:2] != drawn.letters[1][:2]


# ------------------------------------------------------------------ figures


SVG = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt"
 height="9pt" viewBox="0 0 9 9" version="1.1"><metadata>then</metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style><path id="m1" d="M 0 0"/></defs>
 <g id="axes_1" clip-path="url(#p2)" style="fill: url(#h3)"><use xlink:href="#m1"/>
 <text>a \x01&lt; b</text></g></svg>"""


def test_a_figure_keeps_to_itself() -> None:
    element = as_element(SVG, "costs")
    assert 'id="costs-axes_1"' in element
    assert 'href="#costs-m1"' in element
    assert 'clip-path="url(#costs-p2)"' in element
    assert "fill: url(#costs-h3)" in element
    assert "a ?&lt; b" in element
    for word in ("metadata", "text/css", "xmlns", "xlink", "ns0", 'width="9pt"'):
        assert word not in element
    assert element.startswith("<svg viewBox")


def test_ids_made_of_positions_are_numbered() -> None:
    """The last bits of a layout, and so these ids, differ from one run to the next."""
    elements = []
    for clip, marker in (("p617cfc4e0d", "m0123456789"), ("p40d5ab88dd", "mabcdef0123")):
        svg = SVG.replace("p2", clip).replace("m1", marker)
        elements.append(as_element(svg, "costs"))
    assert elements[0] == elements[1]
    assert 'href="#costs-m0"' in elements[0]
    assert 'clip-path="url(#costs-p1)"' in elements[0]


def test_greys_of_a_figure_follow_the_page_and_colours_stay() -> None:
    svg = """<svg xmlns="http://www.w3.org/2000/svg"><defs>
    <pattern id="h"><path style="stroke: #ffffff"/></pattern></defs>
    <path style="fill: #ffffff; stroke: #e0e0e0"/><path style="fill: #88ccee; stroke: #000000"/>
    <path style="fill: #004488"/>
    <text style="font-size: 7px">axis</text><text style="fill: #595959">grey</text>
    <text style="fill: #ffffff">in a dark cell</text>
    <text style="fill: #262626">in a light one</text>
    </svg>"""
    element = as_element(svg, "costs")
    assert 'style="fill: var(--ffffff, #ffffff); stroke: var(--e0e0e0, #e0e0e0)"' in element
    assert "fill: #88ccee; stroke: var(--000000, #000000)" in element
    assert 'style="fill: var(--595959, #595959)">grey' in element
    # Words without a colour of their own have that of the whole figure.
    assert re.match(r"<svg [^>]*;fill: var\(--000000, #000000\)", element)
    for kept in (
        'style="stroke: #ffffff"',
        'style="fill: #ffffff">in a',
        'style="fill: #262626">in a',
    ):
        assert kept in element
    colours = dark_colours([element])
    assert set(colours) == {"--000000", "--004488", "--595959", "--e0e0e0", "--ffffff"}
    assert (colours["--000000"], colours["--ffffff"]) == ("#e7e9ee", "#15171b")


def test_dark_figures_have_the_colours_of_the_page(page: Page, tmp_path: Path) -> None:
    style = (resources.files("diaghoi.report") / "page.css").read_text(encoding="utf-8")
    dark = style[style.index("prefers-color-scheme: dark") :]
    colours = dark_colours(["var(--000000,) var(--ffffff,)"])
    assert f"--ink: {colours['--000000']};" in dark
    assert f"--ground: {colours['--ffffff']};" in dark


def test_figures_stand_above_the_tables(page: Page) -> None:
    sections = [found["id"] for tag, found in page.elements if tag == "section"]
    assert sections[:3] == ["figures", "summary", "errors"]


@pytest.mark.usefixtures("bare")
def test_cases_are_drawn_on_their_pictures(tmp_path: Path) -> None:
    diagnosis, both = small()
    sized = tuple(replace(each, sizes=np.array([[64, 48]])) for each in both)
    (tmp_path / "images").mkdir()
    Image.new("RGB", (64, 48), (90, 120, 150)).save(tmp_path / "images" / "a.jpg")
    pictures = Pictures(tmp_path / "images")
    notes = write_html(tmp_path / "r.html", diagnosis, (sized[0], sized[1]), pictures=pictures)
    assert notes == []
    page = read(tmp_path / "r.html")
    images = [found for tag, found in page.elements if tag == "img"]
    assert [each["alt"] for each in images] == [
        *("predicted hold bicycle in a.jpg", "predicted ride bicycle in a.jpg")
    ]
    assert all((each["src"] or "").startswith("data:image/jpeg;base64,") for each in images)
    policy = next(found["content"] for tag, found in page.elements if "http-equiv" in found)
    assert "; img-src data:; script-src 'sha256-" in (policy or "")
    (tmp_path / "images" / "a.jpg").unlink()
    notes = write_html(tmp_path / "r.html", diagnosis, (sized[0], sized[1]), pictures=pictures)
    assert "1 of 1 pictures are not in" in notes[0]
    assert f"a.jpg: not in {tmp_path / 'images'}" in read(tmp_path / "r.html").text


@pytest.mark.usefixtures("bare")
def test_the_page_of_a_detector_without_scores_shows_none(tmp_path: Path) -> None:
    _, (annotations, predictions) = small()
    predictions = replace(predictions, unread=np.zeros((1, 3), dtype=np.int64))
    diagnosis = diagnose(annotations, predictions)
    write_html(tmp_path / "r.html", diagnosis, (annotations, predictions))
    page = read(tmp_path / "r.html")
    assert "score" not in page.values("class")
    assert "the predictions, which have no scores, are in the order of their list" in page.text
    assert "highest scores" not in page.text


def test_the_page_has_the_costs_as_a_figure(page: Page) -> None:
    assert "figure-delta_map" in page.values("id")
    assert ("svg", "0 0") in [
        (tag, (found.get("viewbox") or "")[:3]) for tag, found in page.elements
    ]
