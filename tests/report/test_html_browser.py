"""The page in a browser: it opens, sorts, searches and filters, by keyboard too, light and dark."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import Diagnosis, diagnose, simulate
from diaghoi.cases.cases import ERRORS
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.oracles import ORACLES
from diaghoi.report.html import write_html

pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")
pytest.importorskip("selenium", reason="selenium is not installed")

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

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
IMAGES = 120
CLASSES = 520
EVIL = "<script>alert(1)</script>"

if CHROMIUM is None or CHROMEDRIVER is None:
    pytest.skip("chromium and chromedriver are not on this machine", allow_module_level=True)


@pytest.fixture(scope="module")
def scenes() -> tuple[Scenes, Scenes]:
    rng = np.random.default_rng(1)
    annotations = simulate.annotations(IMAGES, rng)
    return annotations, simulate.detect(annotations, simulate.ONE_STAGE, rng)


@pytest.fixture(scope="module")
def diagnosis(scenes: tuple[Scenes, Scenes]) -> Diagnosis:
    return diagnose(*scenes, label=EVIL)


@pytest.fixture(scope="module")
def file(diagnosis: Diagnosis, scenes: tuple[Scenes, Scenes], tmp_path_factory: Any) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(path, diagnosis, scenes)
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
    resize(browser, 1280)
    browser.get(file.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def resize(browser: webdriver.Chrome, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def one(page: webdriver.Chrome, selector: str) -> WebElement:
    return page.find_element(By.CSS_SELECTOR, selector)


def column(page: webdriver.Chrome, table: str, key: str) -> list[str]:
    """Read what a table shows in one column."""
    return list(
        page.execute_script(
            """
            const table = document.querySelector(`#${arguments[0]} .sheet table`);
            const heads = [...table.querySelectorAll("thead th")];
            const place = heads.findIndex((head) => head.dataset.key === arguments[1]);
            return [...table.tBodies[0].rows].map((row) => row.cells[place].textContent);
            """,
            table,
            key,
        )
    )


def heading(page: webdriver.Chrome, table: str, key: str) -> WebElement:
    return one(page, f'#{table} thead th[data-key="{key}"]')


def rows(page: webdriver.Chrome, table: str) -> str:
    return one(page, f"#{table} .rows").text


def number(shown: str) -> float:
    return float(shown.replace(",", "").replace("−", "-"))


def choose(page: webdriver.Chrome, error: str) -> None:
    one(page, f'.filter input[value="{error}"]').click()


# ------------------------------------------------------------------ opening


def test_it_opens_from_disk(page: webdriver.Chrome, file: Path, capsys) -> None:
    began = time.perf_counter()
    page.get(file.as_uri())
    seconds = time.perf_counter() - began
    ready = page.execute_script(
        "return performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
    )
    with capsys.disabled():
        print(f"\n{file.stat().st_size / 1e6:.2f} MB opened in {seconds:.2f} s, loaded {ready:.2f}")
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert rows(page, "classes") == f"Rows 1–50 of {CLASSES}"
    assert rows(page, "images") == f"Rows 1–50 of {IMAGES}"
    assert one(page, "h1").text == f"{EVIL} on hico-det"


def test_only_the_visible_rows_are_in_the_page(page: webdriver.Chrome) -> None:
    for table in ("classes", "images"):
        assert len(page.find_elements(By.CSS_SELECTOR, f"#{table} .sheet tbody tr")) == 50


def test_without_scripts(page: webdriver.Chrome, file: Path) -> None:
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(file.as_uri())
        assert "mAP" in one(page, ".verdict").text
        assert len(page.find_elements(By.CSS_SELECTOR, "noscript tbody tr")) == CLASSES
        assert one(page, "noscript table").is_displayed()
        for selector in (".sheet", ".filter"):
            assert not one(page, selector).is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


# ------------------------------------------------------------------ sorting, searching, filtering


def test_numbers_sort_from_the_largest_and_dashes_stand_last(page: webdriver.Chrome) -> None:
    one(page, '#classes input[type="search"]').send_keys("bicycle")
    for direction, way in (("descending", -1), ("ascending", 1)):
        heading(page, "classes", "ap").find_element(By.TAG_NAME, "button").click()
        assert heading(page, "classes", "ap").get_attribute("aria-sort") == direction
        shown = column(page, "classes", "ap")
        known = [number(each) for each in shown if each != "–"]
        assert known == sorted(known, key=lambda value: way * value)
        assert len(set(known)) > 2
        assert shown[len(known) :] == ["–"] * (len(shown) - len(known))
    sorted_heads = page.find_elements(By.CSS_SELECTOR, "#classes thead [aria-sort]")
    assert len(sorted_heads) == 1


def test_words_sort_from_the_first(page: webdriver.Chrome) -> None:
    heading(page, "classes", "name").find_element(By.TAG_NAME, "button").click()
    shown = column(page, "classes", "name")
    assert heading(page, "classes", "name").get_attribute("aria-sort") == "ascending"
    assert shown == sorted(shown)
    assert shown[0].startswith("adjust")


def test_signs_count_when_differences_are_sorted(page: webdriver.Chrome) -> None:
    choose(page, "human_box")
    heading(page, "classes", "delta_human_box").find_element(By.TAG_NAME, "button").click()
    shown = [number(each) for each in column(page, "classes", "delta_human_box") if each != "–"]
    assert shown == sorted(shown)


def test_search_takes_all_words_in_any_order(page: webdriver.Chrome) -> None:
    search = one(page, '#classes input[type="search"]')
    search.send_keys("BICYCLE ride")
    assert column(page, "classes", "name") == ["ride bicycle"]
    assert rows(page, "classes") == f"Rows 1–1 of 1; {CLASSES} classes in all"
    search.clear()
    search.send_keys("no such class")
    assert rows(page, "classes") == f"None of the {CLASSES} classes fits."
    assert column(page, "classes", "name") == []


def test_groups_can_be_chosen(page: webdriver.Chrome) -> None:
    Select(one(page, "#classes .groups")).select_by_visible_text("Rare")
    assert set(column(page, "classes", "group")) == {"Rare"}
    rare = hico_det().splits["rare"] & hico_det().interacting
    assert rows(page, "classes") == f"Rows 1–50 of {rare.sum()}; {CLASSES} classes in all"


def test_columns_can_be_chosen(page: webdriver.Chrome) -> None:
    heads = {}
    for view in ("overview", "counts", "deltas"):
        Select(one(page, "#classes .views")).select_by_value(view)
        heads[view] = [
            each.get_attribute("data-key")
            for each in page.find_elements(By.CSS_SELECTOR, "#classes thead th")
        ]
    assert "costliest" in heads["overview"]
    assert {"human_box", "missed_gt"} <= set(heads["counts"])
    assert {f"delta_{name}" for name in ORACLES} <= set(heads["deltas"])


def test_pages_turn(page: webdriver.Chrome) -> None:
    def button(where: str) -> WebElement:
        return one(page, f'#classes [data-page="{where}"]')

    first = column(page, "classes", "name")
    assert button("previous").get_attribute("aria-disabled") == "true"
    button("previous").click()
    assert column(page, "classes", "name") == first
    button("next").click()
    assert rows(page, "classes") == f"Rows 51–100 of {CLASSES}"
    assert not set(first) & set(column(page, "classes", "name"))
    button("last").click()
    assert rows(page, "classes") == f"Rows 501–520 of {CLASSES}"
    assert button("next").get_attribute("aria-disabled") == "true"
    button("first").click()
    assert column(page, "classes", "name") == first


def test_an_error_filters_cases_and_tables(page: webdriver.Chrome) -> None:
    choose(page, "duplicate")
    shown = [
        each.get_attribute("data-error")
        for each in page.find_elements(By.CSS_SELECTOR, "section.error")
        if each.is_displayed()
    ]
    assert shown == ["duplicate"]
    assert one(page, "#error-duplicate details").get_attribute("open") is not None
    assert all(number(each) > 0 for each in column(page, "images", "duplicate"))
    found = column(page, "classes", "duplicate"), column(page, "classes", "delta_duplicate")
    assert all(
        number(count) or number(delta.replace("–", "0"))
        for count, delta in zip(*found, strict=True)
    )
    assert "with the error “Duplicate”" in rows(page, "classes")
    assert heading(page, "classes", "delta_duplicate").get_attribute("aria-sort") == "descending"
    assert heading(page, "images", "duplicate").get_attribute("aria-sort") == "descending"
    choose(page, "")
    assert one(page, "#error-duplicate details").get_attribute("open") is None
    assert len([e for e in page.find_elements(By.CSS_SELECTOR, ".error") if e.is_displayed()]) > 8
    assert rows(page, "classes") == f"Rows 1–50 of {CLASSES}"


def test_only_rows_with_the_error_are_left(page: webdriver.Chrome, diagnosis: Diagnosis) -> None:
    fewer = 0
    for error in ERRORS:
        choose(page, error)
        left = int((diagnosis.images[error] > 0).sum())
        if 0 < left < IMAGES:
            fewer += 1
            assert f" of {left} with the error" in rows(page, "images"), error
        changes = np.rint(1e4 * np.nan_to_num(diagnosis.classes[f"delta_{error}"])) != 0
        left = int(((diagnosis.classes[error] > 0) | changes).sum())
        if left:
            assert f" of {left} with the error" in rows(page, "classes"), error
        else:
            assert rows(page, "classes") == f"None of the {CLASSES} classes fits."
    assert fewer > 0


def test_a_link_to_a_hidden_error_shows_it(page: webdriver.Chrome) -> None:
    choose(page, "duplicate")
    assert not one(page, "#error-action").is_displayed()
    one(page, 'a[href="#error-action"]').click()
    assert one(page, "#error-action").is_displayed()
    assert one(page, '.filter input[value=""]').is_selected()


# ------------------------------------------------------------------ keyboard


def focused(page: webdriver.Chrome) -> WebElement:
    return page.switch_to.active_element


def test_the_first_tab_is_the_way_past_the_head(page: webdriver.Chrome) -> None:
    one(page, "body").send_keys(Keys.TAB)
    link = focused(page)
    assert link.text == "Skip to the report"
    assert link.location["x"] >= 0
    link.send_keys(Keys.ENTER)
    assert focused(page).get_attribute("id") == "main"


def test_sorting_by_keyboard_keeps_the_focus(page: webdriver.Chrome) -> None:
    button = heading(page, "images", "image").find_element(By.TAG_NAME, "button")
    page.execute_script("arguments[0].focus()", button)
    button.send_keys(Keys.TAB)
    assert focused(page).text.startswith("Annotated")
    focused(page).send_keys(Keys.ENTER)
    assert heading(page, "images", "annotated").get_attribute("aria-sort") == "descending"
    assert focused(page).text.startswith("Annotated")
    style = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"


def test_the_last_page_keeps_the_focus(page: webdriver.Chrome) -> None:
    button = one(page, '#classes [data-page="last"]')
    button.send_keys(Keys.ENTER)
    assert rows(page, "classes") == f"Rows 501–520 of {CLASSES}"
    assert focused(page) == button


def test_errors_are_chosen_with_the_arrows(page: webdriver.Chrome) -> None:
    one(page, '.filter input[value=""]').send_keys(Keys.ARROW_RIGHT)
    assert focused(page).get_attribute("value") == "human_box"
    assert "Human box" in rows(page, "classes")


def test_every_control_has_a_name(page: webdriver.Chrome) -> None:
    for control in page.find_elements(By.CSS_SELECTOR, "a, button, input, select, summary"):
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
return [...document.querySelectorAll("#main *")]
  .filter((each) => !each.closest("svg") && each.clientWidth)
  .filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => `${each.tagName} ${each.className}`)
"""


def test_nothing_is_cut_off_on_a_phone(page: webdriver.Chrome) -> None:
    resize(page, 420)
    assert page.execute_script(WIDER_THAN_ITS_ROOM) == []
    assert page.execute_script("return document.documentElement.scrollWidth") <= 420
    choose(page, "duplicate")
    assert page.execute_script(WIDER_THAN_ITS_ROOM) == []


def test_figures_are_dark_on_dark_pages(page: webdriver.Chrome) -> None:
    """The words of the axes have the colour of other words, and errors their own."""
    ink = "return getComputedStyle(document.querySelector('#figure-delta_map').parentElement"
    ink += ".querySelector(arguments[0])).fill"
    found = {}
    for scheme in ("light", "dark"):
        feature: dict[str, Any] = {"name": "prefers-color-scheme", "value": scheme}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        found[scheme] = luminance(page.execute_script(ink, "text"))
        assert page.execute_script(ink, "[style*='#ddcc77']") == "rgb(221, 204, 119)"
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found["light"] < 0.05
    assert found["dark"] > 0.7


@pytest.mark.parametrize("width", [320, 480, 1280])
def test_the_page_does_not_scroll_sideways(page: webdriver.Chrome, width: int) -> None:
    resize(page, width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


def test_paper_has_whole_tables_and_no_controls(page: webdriver.Chrome) -> None:
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert len(column(page, "classes", "name")) == CLASSES
        assert len(column(page, "images", "image")) == 100
        assert rows(page, "images") == f"Rows 1–100 of {IMAGES}"
        for selector in (".filter", ".controls", ".pages", "nav", ".skip"):
            assert not one(page, selector).is_displayed()
        # Chromium repeats headings on each page of paper only without boxes of buttons in them.
        assert one(page, "#classes thead button").value_of_css_property("display") == "contents"
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert len(column(page, "classes", "name")) == 50
