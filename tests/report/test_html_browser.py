"""The page in a browser: what is clicked filters the rest, by keyboard too, light and dark."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from diaghoi import Diagnosis, diagnose, simulate
from diaghoi.comparison.comparison import compare
from diaghoi.comparison.explained import explained
from diaghoi.comparison.slices import Slices, slices
from diaghoi.comparison.transitions import FATES, transitions
from diaghoi.data.scenes import Scenes
from diaghoi.data.table import percent, shown
from diaghoi.data.vocabulary import hico_det
from diaghoi.formats.pictures import Pictures
from diaghoi.oracles import ORACLES
from diaghoi.report.html import Page, PageModel, page_model, write_comparison_html, write_html
from diaghoi.report.html.server import PageServer

pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

pytestmark = pytest.mark.slow

CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
IMAGES = 60
CLASSES = 520
EVIL = "<script>alert(1)</script>"
OTHER = "B&b"

if CHROMIUM is None or CHROMEDRIVER is None:
    pytest.skip("chromium and chromedriver are not on this machine", allow_module_level=True)


@pytest.fixture(scope="module")
def detectors() -> list[tuple[Diagnosis, tuple[Scenes, Scenes]]]:
    rng = np.random.default_rng(1)
    annotations = simulate.annotations(IMAGES, rng)
    found = []
    for label, profile in ((EVIL, simulate.ONE_STAGE), (OTHER, simulate.TWO_STAGE)):
        both = annotations, simulate.detect(annotations, profile, rng)
        found.append((diagnose(*both, label=label), both))
    return found


@pytest.fixture(scope="module")
def diagnosis(detectors: list[tuple[Diagnosis, tuple[Scenes, Scenes]]]) -> Diagnosis:
    return detectors[0][0]


@pytest.fixture(scope="module")
def other(detectors: list[tuple[Diagnosis, tuple[Scenes, Scenes]]]) -> Diagnosis:
    return detectors[1][0]


@pytest.fixture(scope="module")
def models(detectors: list[tuple[Diagnosis, tuple[Scenes, Scenes]]]) -> list[PageModel]:
    return [page_model(each, both) for each, both in detectors]


@pytest.fixture(scope="module")
def sliced(detectors: list[tuple[Diagnosis, tuple[Scenes, Scenes]]]) -> Slices:
    (one, (annotations, _)), (second, _) = detectors
    weather = {name: ("rain", "sun", "sun")[at % 3] for at, name in enumerate(one.names)}
    return slices(
        *(one, second),
        annotations=annotations,
        own={"weather": weather},
        attributes=False,
        resamples=None,
    )


@pytest.fixture(scope="module")
def file(models: list[PageModel], detectors: Any, sliced: Slices, tmp_path_factory: Any) -> Path:
    path = tmp_path_factory.mktemp("page") / "c.html"
    one, second = (each for each, _ in detectors)
    comparison = compare(one, second).explain([explained(one, second)]).with_slices(sliced)
    write_comparison_html(path, comparison, models)
    return Path(path)


@pytest.fixture(scope="module")
def single_file(detectors: Any, tmp_path_factory: Any) -> Path:
    path = tmp_path_factory.mktemp("single") / "r.html"
    write_html(path, *detectors[0])
    return Path(path)


@pytest.fixture(scope="module")
def six_file(tmp_path_factory: Any) -> Path:
    path = tmp_path_factory.mktemp("six") / "c.html"
    rng = np.random.default_rng(3)
    annotations = simulate.annotations(30, rng)
    profiles = (simulate.ONE_STAGE, simulate.TWO_STAGE)
    both = [(annotations, simulate.detect(annotations, profiles[at % 2], rng)) for at in range(6)]
    found = [diagnose(*each, label=name) for each, name in zip(both, SIX, strict=True)]
    models = [page_model(each, scenes) for each, scenes in zip(found, both, strict=True)]
    write_comparison_html(path, compare(*found), models)
    return Path(path)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = Options()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: webdriver.Chrome, file: Path) -> Iterator[webdriver.Chrome]:
    """Two models, with all parts open."""
    resize(browser, 1400)
    open_page(browser, file.as_uri())
    yield browser
    assert browser.get_log("browser") == []


@pytest.fixture
def single(browser: webdriver.Chrome, single_file: Path) -> Iterator[webdriver.Chrome]:
    resize(browser, 1400)
    open_page(browser, single_file.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def open_page(page: webdriver.Chrome, address: str, *, folded: bool = False) -> None:
    page.get("about:blank")
    page.get(address)
    ready = "return document.documentElement.dataset.ready === 'true'"
    WebDriverWait(page, 60, 0.05).until(lambda each: each.execute_script(ready))
    if not folded:
        click(page, "#open-all")


def settle(page: webdriver.Chrome) -> None:
    """Wait for what a search draws later because it is out of sight."""
    done = "return document.getElementById('main').getAttribute('aria-busy') === 'false'"
    WebDriverWait(page, 20, 0.05).until(lambda each: each.execute_script(done))


def height(page: webdriver.Chrome) -> int:
    return int(page.execute_script("return document.documentElement.scrollHeight"))


def heading_of(page: webdriver.Chrome, part: str) -> str:
    return one(page, f"#{part} h2").text


def resize(browser: webdriver.Chrome, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def one(page: webdriver.Chrome, selector: str) -> WebElement:
    return page.find_element(By.CSS_SELECTOR, selector)


def all_of(page: webdriver.Chrome, selector: str) -> list[WebElement]:
    return page.find_elements(By.CSS_SELECTOR, selector)


def click(page: webdriver.Chrome, selector: str) -> None:
    """Click what may be below the sticky filter, or a shape of a drawing."""
    page.execute_script(
        "arguments[0].scrollIntoView({block: 'center'});"
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))",
        one(page, selector),
    )


def column(page: webdriver.Chrome, table: str, key: str) -> list[str]:
    """Read what a table shows in one column."""
    return list(
        page.execute_script(
            """
            const table = document.querySelector(`#${arguments[0]}-sheet table`);
            const heads = [...table.querySelectorAll("thead th")];
            const place = heads.findIndex((head) => head.dataset.key === arguments[1]);
            return [...table.tBodies[0].rows].map((row) => row.cells[place].textContent);
            """,
            table,
            key,
        )
    )


def heading(page: webdriver.Chrome, table: str, key: str) -> WebElement:
    return one(page, f'#{table}-sheet thead th[data-key="{key}"]')


def sort_by(page: webdriver.Chrome, table: str, key: str) -> None:
    click(page, f'#{table}-sheet thead th[data-key="{key}"] button')


def rows(page: webdriver.Chrome, table: str) -> str:
    return one(page, f"#{table}-sheet .rows").text


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def choose(page: webdriver.Chrome, error: str) -> None:
    Select(one(page, '#filter [name="error"]')).select_by_value(error)


def chosen(page: webdriver.Chrome) -> str:
    return str(one(page, '#filter [name="error"]').get_property("value"))


def hash_of(page: webdriver.Chrome) -> str:
    """Return what the address says of the view, without the parts that are open."""
    told = str(page.execute_script("return decodeURIComponent(location.hash)"))
    return re.sub(r"#(?=&|$)", "", re.sub("(?<=#)open=[^&]*&?|&open=[^&]*", "", told))


def operating(page: webdriver.Chrome) -> list[list[str]]:
    found = all_of(page, "#operating tr")
    return [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")] for row in found]


def card(page: webdriver.Chrome, error: str) -> list[str]:
    """Read the numbers of the first model in what the page says of an error."""
    cells = all_of(page, f"#error-{error} .figures tbody tr:first-child td")
    return [cell.get_attribute("textContent") for cell in cells]


def cases(page: webdriver.Chrome) -> list[str]:
    return [each.text for each in all_of(page, "#cases-list .case .open")]


# ------------------------------------------------------------------ opening


def test_it_opens_from_disk(page: webdriver.Chrome, file: Path, capsys) -> None:
    loaded = page.execute_script(
        "return performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
    )
    with capsys.disabled():
        print(f"\n{file.stat().st_size / 1e6:.2f} MB, loaded in {loaded:.2f} s")
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert rows(page, "class") == f"Rows 1–50 of {CLASSES}"
    assert rows(page, "image") == f"Rows 1–50 of {IMAGES}"
    assert one(page, "h1").text == f"{EVIL} and {OTHER} on HICO-DET"


SIX = [f"model {number}" for number in range(6)]


@pytest.mark.parametrize("kind", ["file", "single_file", "six_file"])
def test_the_first_screen_answers(
    page: webdriver.Chrome, kind: str, request: pytest.FixtureRequest
) -> None:
    open_page(page, request.getfixturevalue(kind).as_uri(), folded=True)
    for selector in (".verdict", "#filter", "#matrix table", "#bars", "#means table"):
        box = one(page, selector).rect
        assert box["height"] > 20, selector
        assert box["y"] + box["height"] <= 900, selector
    cut = "const box = document.querySelector('#means .scroll');"
    assert page.execute_script(f"{cut} return box.scrollWidth - box.clientWidth") <= 0
    # It uses the width of the screen.
    assert one(page, "#bars").rect["x"] > 600
    assert height(page) <= 3000
    assert not [each for each in all_of(page, "details") if each.get_attribute("open")]


@pytest.mark.parametrize("kind", ["file", "single_file", "six_file"])
def test_the_first_screen_of_a_phone_is_bars_and_matrix(
    page: webdriver.Chrome, kind: str, request: pytest.FixtureRequest
) -> None:
    resize(page, 420)
    open_page(page, request.getfixturevalue(kind).as_uri(), folded=True)
    for selector in ("#matrix table", "#bars"):
        box = one(page, selector).rect
        assert box["y"] + box["height"] <= 900, selector
        assert box["x"] + box["width"] <= 420, selector


def test_the_first_screen_has_the_numbers_of_the_report(
    page: webdriver.Chrome, diagnosis: Diagnosis
) -> None:
    row = one(page, "#means tbody tr").text
    official = diagnosis.official
    assert percent(official["default"]["full"]) in row
    assert percent(official["known_object"]["full"]) in row
    assert percent(diagnosis.mean_ap["full"]) in row


def test_parts_open_and_stay_so_in_a_link(page: webdriver.Chrome, file: Path) -> None:
    open_page(page, file.as_uri(), folded=True)
    assert not one(page, "#cases-list").is_displayed()
    one(page, "#cases summary").click()
    WebDriverWait(page, 20, 0.05).until(lambda each: len(cases(each)) == 24)
    assert page.current_url.endswith("#open=cases")
    open_page(page, f"{file.as_uri()}#open=classes+nonsense", folded=True)
    assert one(page, "#class-sheet").is_displayed()
    assert not one(page, "#cases-list").is_displayed()
    click(page, "#open-all")
    assert all(each.get_attribute("open") for each in all_of(page, "details.part"))
    click(page, "#open-all")
    assert not [each for each in all_of(page, "details.part") if each.get_attribute("open")]


def test_search_answers_a_key_within_a_tenth_of_a_second(
    browser: webdriver.Chrome, tmp_path: Path, capsys
) -> None:
    rng = np.random.default_rng(2)
    annotations = simulate.annotations(9658, rng)
    both = annotations, simulate.detect(annotations, simulate.ONE_STAGE, rng)
    write_html(tmp_path / "r.html", diagnose(*both), both)
    resize(browser, 1400)
    typical = {}
    for folded in (True, False):
        open_page(browser, (tmp_path / "r.html").as_uri(), folded=folded)
        times = browser.execute_script(
            """
            const search = document.querySelector('#filter input[type="search"]');
            return [1, 2, 3].map(() => [..."hold bicycle"].map((_, at) => {
              search.value = "hold bicycle".slice(0, at + 1);
              const start = performance.now();
              search.dispatchEvent(new Event("input", {bubbles: true}));
              document.body.offsetHeight;
              return performance.now() - start;
            }));
            """
        )
        # The quietest of three rounds, as other programs may run.
        typical[folded] = float(np.median(times, axis=1).min())
    with capsys.disabled():
        print(f"\na key takes {typical[True]:.0f} ms, with all parts open {typical[False]:.0f} ms")
    assert max(typical.values()) < 100


def test_without_scripts(page: webdriver.Chrome, file: Path) -> None:
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(file.as_uri())
        assert "Rare" in one(page, "#means").text
        one(page, "#classes summary").click()
        assert len(all_of(page, "#classes noscript tbody tr")) == CLASSES
        assert one(page, "#classes noscript table").is_displayed()
        for selector in (".sheet", "#filter", "#cases"):
            assert not one(page, selector).is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


# ------------------------------------------------------------------ bars, matrix, curves


def test_bars_show_the_costs(
    page: webdriver.Chrome, diagnosis: Diagnosis, other: Diagnosis
) -> None:
    told = [each.get_attribute("textContent") for each in all_of(page, "#bars rect title")]
    for label, each in ((EVIL, diagnosis), (OTHER, other)):
        for name, outcome in each.oracles.items():
            cost = shown(outcome["delta_map"]["full"], "points")
            other_cost = shown(each.localised.get(name, outcome)["delta_map"]["full"], "points")
            also = "" if other_cost == cost else f" ({other_cost} on found pairs)"
            assert f"{ORACLES[name].title}, {label}: {cost}{also}" in told


def test_a_bar_filters_what_is_below(
    page: webdriver.Chrome, diagnosis: Diagnosis, other: Diagnosis
) -> None:
    click(page, '#bars rect[data-error="duplicate"]')
    assert hash_of(page) == "#error=duplicate"
    assert chosen(page) == "duplicate"
    visible = [each for each in all_of(page, "section.error") if each.is_displayed()]
    assert [each.get_attribute("data-error") for each in visible] == ["duplicate"]
    words = one(page, "#cases-words").text
    both = sum(each.errors["duplicate"] for each in (diagnosis, other))
    assert words.startswith(f"Duplicate, all classes: {both:,} cases, of which 24 are shown; ")
    for heads in ("Before any repair", "After: Duplicate"):
        assert heads in one(page, "#curves-grid").text
    assert len(all_of(page, "#curves-grid figure")) == 2
    assert heading(page, "class", "delta_duplicate").get_attribute("aria-sort") == "descending"
    assert all(number(each) > 0 for each in column(page, "image", "duplicate"))
    left = int((diagnosis.images["duplicate"] > 0).sum())
    assert f" of {left}; {IMAGES} images in all" in rows(page, "image")
    click(page, '#bars rect[data-error="duplicate"]')
    assert hash_of(page) == ""
    assert rows(page, "class") == f"Rows 1–50 of {CLASSES}"


def test_the_matrix_counts_and_filters(
    page: webdriver.Chrome, diagnosis: Diagnosis, other: Diagnosis
) -> None:
    matrix = transitions(diagnosis, other).matrix()
    shown_ = [
        [cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td button")]
        for row in all_of(page, "#matrix tbody tr")
    ]
    wanted = [[f"{count:,}" if count else "·" for count in row] for row in matrix.tolist()]
    assert shown_[:-1] == wanted
    click(page, '#matrix [data-cell="association>true_positive"]')
    assert "cell=association>true_positive" in hash_of(page)
    count = int(matrix[FATES.index("association"), 0])
    assert f": {count} cases, of which {min(24, count)} " in one(page, "#cases-words").text
    who = [each.text for each in all_of(page, "#cases-list .case:first-child .who")]
    assert who == [EVIL, OTHER]
    sides = [each.text for each in all_of(page, "#cases-list .case:first-child .side")]
    assert "Association" in sides[0]
    assert "True positive" in sides[1]


def test_a_class_filters_what_is_below(
    page: webdriver.Chrome, diagnosis: Diagnosis, other: Diagnosis
) -> None:
    table = diagnosis.classes
    row = int(np.argmax(table["annotated"]))
    name, count = table["name"][row], int(table["annotated"][row])
    sort_by(page, "class", "annotated")
    click(page, f'#class-sheet tr[data-row="{row}"] button')
    assert hash_of(page) == f"#class={table['class'][row]}&by=-annotated"
    assert f"{count} annotated triplets of {name}" in one(page, "#matrix-words").text
    assert one(page, "#curves-words").text.startswith(name.capitalize()[0])
    assert set(cases(page)) <= {name}
    assert heading_of(page, "costs") == f"ΔAP, points: {name}"
    costs = [each.get_attribute("textContent") for each in all_of(page, "#bars rect title")]
    assert f"Action, {EVIL}: {shown(table['delta_action'][row], 'points')}" in costs
    assert operating(page)[0][2] == percent(diagnosis.detections()["classes"][name]["recall"])
    assert heading_of(page, "errors") == f"Errors: {name}"
    action = [table["action"][row], table["predicted"][row], table["delta_action"][row]]
    assert card(page, "action") == [
        f"{action[0]:,}",
        percent(action[0] / action[1]),
        shown(action[2], "points"),
    ]
    wrong = table["predicted"][row] - table["true_positive"][row]
    assert card(page, "false_positive")[0] == f"{wrong:,}"
    assert card(page, "false_negative")[0] == f"{count - table['true_positive'][row]:,}"
    assert heading_of(page, "summary") == "Tables, whole data set"
    choose(page, "action")
    both = action[0] + other.classes["action"][row]
    assert f"Action, {name}: {both:,} case" in one(page, "#cases-words").text
    choose(page, "")
    # The others are still in the table, and a click on the chip brings them back.
    assert rows(page, "class") == f"Rows 1–50 of {CLASSES}"
    click(page, '#chips [data-clear="class"]')
    assert hash_of(page) == ""
    assert card(page, "action")[0] == f"{diagnosis.errors['action']:,}"


def test_a_slice_filters_what_is_below(
    page: webdriver.Chrome, sliced: Slices, diagnosis: Diagnosis
) -> None:
    assert column(page, "slice", "name") == ["weather: rain", "weather: sun"]
    wanted = [percent(each.models[1].figures["map"]) for each in sliced.slices]
    assert column(page, "slice", f"slices_{OTHER}") == wanted
    wanted = [shown(each.models[1].difference["map"], "points") for each in sliced.slices]
    assert column(page, "slice", f"slice_differences_{OTHER}") == wanted
    click(page, '#slice-sheet tr[data-row="0"] button')
    assert hash_of(page) == "#slice=0"
    rain = sliced.slices[0]
    assert rows(page, "image") == f"Rows 1–{rain.images} of {rain.images}; {IMAGES} images in all"
    assert f"{rain.annotated} annotated triplets" in one(page, "#matrix-words").text
    names = set(diagnosis.names[::3].tolist())
    assert set(column(page, "image", "image")) == names
    assert one(page, '#chips [data-clear="slice"]').text.startswith("weather: rain")
    click(page, '#chips [data-clear="slice"]')
    assert f"of {IMAGES}" in rows(page, "image")


def contents(page: webdriver.Chrome) -> dict[str, str]:
    """Read what each part of the page shows below its heading."""
    return dict(
        page.execute_script(
            """
            return Object.fromEntries(
              [...document.querySelectorAll("details.part, .first > section")].map((part) => {
                const shown = part.cloneNode(true);
                shown.querySelector("h2").remove();
                return [part.id, shown.innerHTML];
              }));
            """
        )
    )


@pytest.mark.parametrize(
    "view",
    [
        *("error=duplicate", "error=association", "error=missed_gt", "error=false_positive"),
        *("error=true_positive", "split=rare", "search=bicycle", "slice=0"),
        *("cell=true_positive>object_box", "slice=0&search=hold", "score", "score&search=hold"),
    ],
)
def test_a_filter_holds_everywhere_or_the_heading_says_where_not(
    page: webdriver.Chrome, file: Path, diagnosis: Diagnosis, view: str
) -> None:
    before = contents(page)
    view = view.replace("score", f"score={diagnosis.best_threshold}")
    open_page(page, f"{file.as_uri()}#{view}")
    settle(page)
    parts = {"means", "annotated", "costs", "errors", "cases", "classes", "images", "curves"}
    parts |= {"scores", "slices", "summary", "difference", "method"}
    after = contents(page)
    assert set(after) == parts
    for part in parts - {"method"}:
        whole = "whole data set" in heading_of(page, part)
        assert whole or after[part] != before[part], part
    assert "whole data set" not in heading_of(page, "cases")


def test_searching_filters_classes_everywhere(page: webdriver.Chrome, diagnosis: Diagnosis) -> None:
    one(page, '#filter input[type="search"]').send_keys("BICYCLE ride")
    settle(page)
    assert column(page, "class", "name") == ["ride bicycle"]
    assert rows(page, "class") == f"Rows 1–1 of 1; {CLASSES} classes in all"
    assert "search=bicycle+ride" in hash_of(page).lower()
    one(page, '#filter input[type="search"]').clear()
    one(page, '#filter input[type="search"]').send_keys("no such class")
    settle(page)
    assert rows(page, "class") == f"None of the {CLASSES} classes fits."
    assert one(page, "#cases-words").text.endswith(": none.")
    assert operating(page)[0][:2] == ["0", "–"]


def test_groups_can_be_chosen(page: webdriver.Chrome, diagnosis: Diagnosis) -> None:
    Select(one(page, '#filter [name="split"]')).select_by_visible_text("Rare")
    rare = hico_det().splits["rare"] & hico_det().interacting
    assert rows(page, "class") == f"Rows 1–50 of {rare.sum()}; {CLASSES} classes in all"
    told = [each.get_attribute("textContent") for each in all_of(page, "#bars rect title")]
    cost = shown(diagnosis.oracles["action"]["delta_map"]["rare"], "points")
    assert f"Action, {EVIL}: {cost}" in told


def test_models_change_sides(page: webdriver.Chrome) -> None:
    Select(one(page, '#filter [name="a"]')).select_by_visible_text(OTHER)
    Select(one(page, '#filter [name="b"]')).select_by_visible_text(EVIL)
    assert hash_of(page) == "#a=1&b=0"
    assert [each.text for each in all_of(page, "#cases-list .case:first-child .who")] == [
        OTHER,
        EVIL,
    ]


def test_one_model_has_its_page(single: webdriver.Chrome, diagnosis: Diagnosis) -> None:
    assert one(single, "h1").text == f"{EVIL} on HICO-DET"
    assert len(all_of(single, "#matrix tbody tr")) == 1
    found = int(diagnosis.ledger.found.sum())
    assert one(single, '#matrix [data-cell="true_positive"]').text == f"{found:,}"
    click(single, '#matrix [data-cell="action"]')
    assert one(single, "#cases-words").text.startswith("Action, all classes")
    assert not all_of(single, "#cases-list .who")


# ------------------------------------------------------------------ score threshold


def set_threshold(page: webdriver.Chrome, step: int) -> float:
    """Move the slider as a hand does, and return the score."""
    page.execute_script(
        """
        const slider = document.getElementById("threshold");
        slider.value = arguments[0];
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        """,
        step,
    )
    return float(hash_of(page).partition("score=")[2] or "-inf")


def test_the_slider_moves_precision_recall_and_cases(
    page: webdriver.Chrome, diagnosis: Diagnosis, other: Diagnosis
) -> None:
    steps = int(one(page, "#threshold").get_attribute("max") or 0)
    choose(page, "action")
    before = cases(page)
    for step in (0, steps // 3, 2 * steps // 3):
        score = set_threshold(page, step)
        for cells, each in zip(operating(page), (diagnosis, other), strict=True):
            wanted = each.detections(score)["full"]
            keys = ("precision", "recall", "f1")
            assert cells[:4] == [
                f"{wanted['predicted']:,}",
                *(percent(wanted[key]) for key in keys),
            ]
        scores = [
            float(each.text) for each in all_of(page, "#cases-list .case .score") if each.text
        ]
        assert min(scores, default=1.0) >= round(max(score, 0), 2) - 0.01
    assert len(cases(page)) <= len(before)
    text = one(page, "#cases-words").text
    assert f"scores of {score:.2f} or more" in text
    set_threshold(page, steps)
    assert cases(page) == []


@pytest.mark.parametrize("chart", ["threshold-lines", "threshold-shares"])
def test_no_words_of_the_charts_of_thresholds_overlap(page: webdriver.Chrome, chart: str) -> None:
    overlapping = page.execute_script(
        """
        const svg = document.querySelector(`#${arguments[0]} svg`);
        const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim());
        const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
        const across = (a, b) => a.left < b.right && b.left < a.right;
        const down = (a, b) => a.top < b.bottom - 2 && b.top < a.bottom - 2;
        const meet = (a, b) => across(a, b) && down(a, b);
        const left = svg.getBoundingClientRect().left;
        return [
          ...boxes.filter(([, box]) => box.left < left).map(([text]) => text),
          ...boxes.flatMap(([one, a], at) => boxes.slice(at + 1)
            .filter(([, b]) => meet(a, b)).map(([other]) => `${one} | ${other}`)),
        ];
        """,
        chart,
    )
    assert overlapping == []


def test_the_best_threshold_is_a_click_away(page: webdriver.Chrome, diagnosis: Diagnosis) -> None:
    click(page, "#operating tr:first-child button")
    assert hash_of(page) == f"#score={diagnosis.best_threshold}"
    best = diagnosis.detections(diagnosis.best_threshold)["full"]
    assert operating(page)[0][3] == percent(best["f1"])


def test_the_slider_moves_by_keyboard(page: webdriver.Chrome) -> None:
    slider = one(page, "#threshold")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert "score=" in hash_of(page)
    assert page.switch_to.active_element == slider
    assert "or more" in (slider.get_attribute("aria-valuetext") or "")


# ------------------------------------------------------------------ cases


def test_more_cases_are_a_click_away(page: webdriver.Chrome) -> None:
    choose(page, "association")
    assert len(cases(page)) == 24
    click(page, "#cases-more")
    assert len(cases(page)) == 48


def test_the_first_cases_are_described(page: webdriver.Chrome) -> None:
    for error in ("human_box", "object_box", "association", "action", "duplicate"):
        choose(page, error)
        assert "Repaired, it " in one(page, "#cases-list .case").text, error


def test_a_case_opens_its_whole_image(page: webdriver.Chrome, diagnosis: Diagnosis) -> None:
    click(page, "#cases-list .case:first-child .open")
    dialog = one(page, "#image-dialog")
    assert dialog.is_displayed()
    name = one(page, "#image-title").text
    assert hash_of(page).startswith(f"#image={diagnosis.names.tolist().index(name)}")
    assert f"&pair={one(page, '#image-pairs [aria-current]').get_attribute('data-pair')}" in (
        hash_of(page) + "&pair=0"
    )
    pairs = len(all_of(page, "#image-pairs button"))
    told = set()
    for _ in range(pairs):
        # One pair at a time: a prediction of each model at most, and one annotation.
        assert len(all_of(page, "#image-body svg")) == 2
        for side in all_of(page, "#image-body .side"):
            for kind in ("predicted", "annotated"):
                assert len(side.find_elements(By.CSS_SELECTOR, f"g.{kind}")) <= 1
        told.add(one(page, "#image-words").text.partition(".")[0])
        page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert f"Pair {pairs} of {pairs}" in told
    one(page, "#image-pairs button").click()
    assert one(page, "#image-words").text.startswith(f"Pair 1 of {pairs}.")
    click(page, '#image-dialog [data-turn="1"]')
    assert one(page, "#image-words").text.startswith(f"Pair 2 of {pairs}.")
    dialog.send_keys(Keys.ESCAPE)
    WebDriverWait(page, 20, 0.05).until(lambda _: not dialog.is_displayed())
    WebDriverWait(page, 20, 0.05).until(lambda each: hash_of(each) == "")


def test_an_image_of_the_table_opens(page: webdriver.Chrome, diagnosis: Diagnosis) -> None:
    click(page, '#image-sheet tr[data-row="3"] button')
    assert one(page, "#image-title").text == diagnosis.names[3]


# ------------------------------------------------------------------ permalinks


def test_a_link_restores_the_view(page: webdriver.Chrome, file: Path) -> None:
    link = "error=action&split=rare&search=hold&score=&columns=deltas&b=0"
    open_page(page, f"{file.as_uri()}#{link}")
    assert chosen(page) == "action"
    assert one(page, '#filter input[type="search"]').get_attribute("value") == "hold"
    assert one(page, '#filter [name="split"]').get_attribute("value") == "rare"
    assert all("hold" in each for each in column(page, "class", "name"))


def test_going_back_restores_the_view(page: webdriver.Chrome) -> None:
    choose(page, "action")
    choose(page, "duplicate")
    page.back()
    WebDriverWait(page, 20, 0.05).until(lambda each: hash_of(each) == "#error=action")
    WebDriverWait(page, 20, 0.05).until(lambda each: chosen(each) == "action")


@pytest.mark.parametrize(
    "link",
    [
        "error=<img src=x onerror=alert(1)>&class=x&cell=a>b&score=nan&a=99&b=-1&image=1e9",
        "error=constructor&split=__proto__&slice=9&columns=%00&by=-toString",
        "cell=true_positive&class=999999&score=Infinity&image=",
        "%E0%A4%A&=&&==",
    ],
)
def test_a_link_may_be_anything(page: webdriver.Chrome, file: Path, link: str) -> None:
    open_page(page, f"{file.as_uri()}#{link}")
    assert rows(page, "class") == f"Rows 1–50 of {CLASSES}"
    choose(page, "action")
    assert one(page, "#cases-words").text.startswith("Action")


def test_links_to_parts_keep_the_filter(page: webdriver.Chrome) -> None:
    choose(page, "duplicate")
    click(page, "#open-all")
    assert not one(page, "#error-duplicate").is_displayed()
    one(page, "#summary summary").click()
    click(page, '#summary a[href="#error-duplicate"]')
    assert hash_of(page) == "#error=duplicate"
    assert page.switch_to.active_element.get_attribute("id") == "error-duplicate"
    assert one(page, "#error-duplicate").is_displayed()
    click(page, '#summary a[href="#error-action"]')
    assert one(page, "#error-action").is_displayed()


# ------------------------------------------------------------------ tables


def test_only_the_visible_rows_are_in_the_page(page: webdriver.Chrome) -> None:
    for table in ("class", "image"):
        assert len(all_of(page, f"#{table}-sheet tbody tr")) == 50


def test_numbers_sort_from_the_largest_and_dashes_stand_last(page: webdriver.Chrome) -> None:
    one(page, '#filter input[type="search"]').send_keys("bicycle")
    settle(page)
    for direction, way in (("descending", -1), ("ascending", 1)):
        sort_by(page, "class", "ap_0")
        assert heading(page, "class", "ap_0").get_attribute("aria-sort") == direction
        texts = column(page, "class", "ap_0")
        known = [number(each) for each in texts if each != "–"]
        assert known == sorted(known, key=lambda value: way * value)
        assert len(set(known)) > 2
        assert texts[len(known) :] == ["–"] * (len(texts) - len(known))
    assert len(all_of(page, "#class-sheet thead [aria-sort]")) == 1


def test_words_sort_from_the_first(page: webdriver.Chrome) -> None:
    sort_by(page, "class", "name")
    texts = column(page, "class", "name")
    assert heading(page, "class", "name").get_attribute("aria-sort") == "ascending"
    assert texts == sorted(texts)
    assert texts[0].startswith("adjust")


def test_columns_can_be_chosen(
    page: webdriver.Chrome, diagnosis: Diagnosis, other: Diagnosis
) -> None:
    heads = {}
    views = [each.get_attribute("value") for each in all_of(page, "#class-views option")]
    for view in views:
        Select(one(page, "#class-views")).select_by_value(str(view))
        heads[view] = [
            each.get_attribute("data-key") for each in all_of(page, "#class-sheet thead th")
        ]
    assert {"ap_0", "ap_1", "difference"} <= set(heads["models"])
    assert {"group", "costliest"} <= set(heads["overview"])
    assert {"human_box", "missed_gt"} <= set(heads["counts"])
    assert {f"delta_{name}" for name in ORACLES} <= set(heads["deltas"])
    assert "part_duplicate" in heads["parts"]
    sort_by(page, "class", "total")
    largest = np.nanmax(other.classes["ap"] - diagnosis.classes["ap"])
    assert column(page, "class", "total")[0] == shown(float(largest), "points")


def test_the_error_that_costs_most(single: webdriver.Chrome, diagnosis: Diagnosis) -> None:
    table = diagnosis.classes
    names = [name for name in ORACLES if name not in ("false_positive", "false_negative")]
    deltas = np.nan_to_num(np.array([table[f"delta_{name}"] for name in names]), nan=-1)
    sort_by(single, "class", "class")
    sort_by(single, "class", "class")
    told = zip(column(single, "class", "costliest"), column(single, "class", "cost"), strict=True)
    for row, (title, cost) in enumerate(told):
        if deltas[:, row].max() >= 0.5e-4:
            best = names[int(deltas[:, row].argmax())]
            assert (title, cost) == (ORACLES[best].title, shown(deltas[:, row].max(), "points"))
        else:
            missed = 0 < table["missed_gt"][row] == table["annotated"][row]
            assert (title, cost) == ("Missed" if missed else "–", "–")


def test_pages_turn(page: webdriver.Chrome) -> None:
    def button(where: str) -> WebElement:
        return one(page, f'#class-sheet [data-page="{where}"]')

    first = column(page, "class", "name")
    assert button("previous").get_attribute("aria-disabled") == "true"
    for where, words in (("next", "Rows 51–100 of"), ("last", "Rows 501–520 of")):
        button(where).send_keys(Keys.ENTER)
        assert rows(page, "class") == f"{words} {CLASSES}"
        assert page.switch_to.active_element == button(where)
    assert button("next").get_attribute("aria-disabled") == "true"
    button("first").send_keys(Keys.ENTER)
    assert column(page, "class", "name") == first


# ------------------------------------------------------------------ keyboard


def test_the_first_tab_is_the_way_past_the_head(page: webdriver.Chrome) -> None:
    one(page, "body").send_keys(Keys.TAB)
    link = page.switch_to.active_element
    assert link.text == "Skip to the report"
    assert link.location["x"] >= 0
    link.send_keys(Keys.ENTER)
    assert page.switch_to.active_element.get_attribute("id") == "main"


def test_sorting_by_keyboard_keeps_the_focus(page: webdriver.Chrome) -> None:
    for table, key in (("image", "annotated"), ("class", "annotated")):
        button = heading(page, table, key).find_element(By.TAG_NAME, "button")
        button.send_keys(Keys.ENTER)
        assert heading(page, table, key).get_attribute("aria-sort") == "descending"
        assert page.switch_to.active_element.text.startswith("Annotated")
    style = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"


def test_classes_and_cells_are_chosen_by_keyboard(page: webdriver.Chrome) -> None:
    one(page, '#class-sheet tr[data-row="1"] button').send_keys(Keys.ENTER)
    assert "class=" in hash_of(page)
    assert page.switch_to.active_element.get_attribute("aria-pressed") == "true"
    one(page, '#matrix [data-cell="true_positive>true_positive"]').send_keys(Keys.ENTER)
    assert page.switch_to.active_element.get_attribute("aria-pressed") == "true"


def test_errors_are_chosen_with_the_arrows(page: webdriver.Chrome) -> None:
    one(page, '#filter [name="error"]').send_keys(Keys.ARROW_DOWN)
    assert page.switch_to.active_element.get_property("value") == "human_box"
    assert hash_of(page) == "#error=human_box"


def test_every_control_has_a_name(page: webdriver.Chrome) -> None:
    for control in all_of(page, "a, button, input, select, summary"):
        if control.is_displayed():
            assert control.accessible_name.strip(), control.get_attribute("outerHTML")


# ------------------------------------------------------------------ looks


def colours(page: webdriver.Chrome) -> tuple[str, str]:
    style = "const style = getComputedStyle(document.body);"
    return tuple(page.execute_script(f"{style} return [style.backgroundColor, style.color]"))


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.strip("rgba()").split(",")[:3]]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_dark_is_dark(page: webdriver.Chrome) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        feature: dict[str, Any] = {"name": "prefers-color-scheme", "value": scheme}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        ground, ink = map(luminance, colours(page))
        assert (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05) > 7
        grounds[scheme] = ground
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert grounds["light"] > 0.9
    assert grounds["dark"] < 0.1


WIDER_THAN_ITS_ROOM = """
return [...document.querySelectorAll("body *")]
  .filter((each) => !each.closest("svg, .skip") && each.clientWidth)
  .filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => `${each.tagName} ${each.className} ${each.id} ${each.ariaLabel}`)
"""


@pytest.mark.parametrize("kind", ["file", "single_file", "six_file"])
def test_nothing_is_cut_off_on_a_phone(
    page: webdriver.Chrome, kind: str, request: pytest.FixtureRequest
) -> None:
    resize(page, 420)
    open_page(page, request.getfixturevalue(kind).as_uri())
    for error in ("", "duplicate"):
        choose(page, error)
        assert page.execute_script(WIDER_THAN_ITS_ROOM) == []
        assert page.execute_script("return document.documentElement.scrollWidth") <= 420


@pytest.mark.parametrize("width", [320, 480, 800, 1280, 2000])
def test_the_page_does_not_scroll_sideways(page: webdriver.Chrome, file: Path, width: int) -> None:
    resize(page, width)
    open_page(page, file.as_uri())
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_paper_has_whole_tables_and_no_controls(page: webdriver.Chrome) -> None:
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert len(column(page, "class", "name")) == CLASSES
        assert len(column(page, "image", "image")) == min(100, IMAGES)
        assert rows(page, "image") == f"Rows 1–{min(100, IMAGES)} of {IMAGES}"
        for selector in ("#filter", ".controls", ".pages", ".opening", ".skip", ".slider"):
            assert not one(page, selector).is_displayed()
        # Chromium repeats headings on each page of paper only without boxes of buttons in them.
        button = one(page, "#class-sheet thead button")
        assert button.value_of_css_property("display") == "contents"
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert len(column(page, "class", "name")) == 50


# ------------------------------------------------------------------ served


def test_a_served_page_loads_pictures_on_demand(
    browser: webdriver.Chrome, models: list[PageModel], detectors: Any, tmp_path: Path
) -> None:
    for name in detectors[0][0].names.tolist():
        Image.new("RGB", (640, 480), (90, 120, 150)).save(tmp_path / name)
    page = Page.of(models, compare(*(each for each, _ in detectors)), every_image=True)
    with PageServer(page, Pictures(tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            resize(browser, 1400)
            open_page(browser, server.address)
            loaded = "return performance.getEntriesByType('resource').length"
            WebDriverWait(browser, 30, 0.05).until(lambda each: each.execute_script(loaded) > 10)
            assert one(browser, "#cases-words").text.endswith("cases, of which 24 are shown.")
            decoded = """
                const shown = [...document.querySelectorAll("#cases-list image")];
                return Promise.all(shown.map((each) => {
                  const picture = new Image();
                  picture.src = each.getAttribute("href");
                  return picture.decode().then(() => picture.naturalWidth);
                }))
            """
            assert set(browser.execute_script(decoded)) == {640}
            assert browser.get_log("browser") == []
        finally:
            browser.get("about:blank")
            server.shutdown()
