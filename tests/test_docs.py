"""What README and manual say is so: every block runs, and nothing that there is stays untold."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import metadata
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import pytest
from support.commands import built, call
from support.desk import lay_out
from support.pages import BUILT, CITED, CLUSTER, PAGES, ROOT, RUN, SHOWN, Reader, blocks, patched
from support.rater_server import Model, Reply, serving, text

import diaghoi
from diaghoi.data.protocol import PROTOCOLS
from diaghoi.formats import FORMATS
from diaghoi.measures import MEASURES
from diaghoi.oracles import ERRORS, ORACLES
from diaghoi.plots import FIGURES
from diaghoi.plots.figures.robustness import ROBUSTNESS_FIGURES
from diaghoi.robustness.corruptions import CORRUPTIONS

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="the manual is not installed with the package"
)
DOCS = ROOT / "docs"
PICTURES = DOCS / "pictures"
ROOMS = ("diaghoi", "oracles", "plots")
LARGE = 46_000  # bytes of a picture
DUMPERS = sorted((ROOT / "examples" / "dumpers").glob("*.py"))
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


MANUAL = {page.stem: page.read_text(encoding="utf-8") for page in PAGES}
# A test of its own reads this section of a page.
EXAMPLE = MANUAL.get("tutorial", "").partition("## The paragraph")[2]


@dataclass
class Anyone(Model):
    """A model that answers what pages ask: ratings, questions with options, verdicts."""

    def reply(self, request: dict[str, Any], key: str | None) -> tuple[tuple[str, ...], Reply]:
        messages = request["messages"]
        if len(messages) > 1:
            return super().reply(request, key)
        question = messages[0]["content"][1]["text"]
        listed = re.findall(r"^(\d+)\. ", question, re.MULTILINE)
        return (), text("\n".join(f"{number}: no" for number in listed) if listed else "A")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that a reader has, not to be changed."""
    folder = tmp_path_factory.mktemp("desk")
    lay_out(folder)
    return folder


@pytest.fixture
def server() -> Iterator[str]:
    with serving(Anyone(rate=lambda a, b: 3)) as model:
        yield model.url


@pytest.fixture
def reader(
    desk: Path,
    server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Reader]:
    """Someone at a desk of their own, with HICO-DET where it is looked for."""
    folder = tmp_path / "desk"
    shutil.copytree(desk, folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("DIAGHOI_DATA", str(folder))
    monkeypatch.delenv("DIAGHOI_API_KEY", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    # No certificates: all servers are on loopback, and reading them takes most of a command.
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))

    @dataclass
    class Outcome:
        code: int
        err: str

    def run(*words: str) -> Outcome:
        capsys.readouterr()
        code = call(*words)
        return Outcome(code, capsys.readouterr().err)

    yield Reader(run, server, {})
    for name, module in tuple(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs(page: Path, reader: Reader) -> None:
    with patch.dict(diaghoi.ORACLES):  # what a page registers is gone with the page
        for block in blocks(page):
            elsewhere = page.stem == "tutorial" and block.text in EXAMPLE
            if block.runs and not elsewhere:
                reader.read(block)


@pytest.mark.slow
@pytest.mark.long
def test_the_paragraph_of_the_manual_rests_on_what_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert call("demo", "--out", "demo") == 0
    example = [block for block in blocks(DOCS / "tutorial.md") if block.text in EXAMPLE]
    assert example
    for block in example:
        if block.language == "console":
            for line in block.text.splitlines():
                assert call(*shlex.split(line.removeprefix("$ diaghoi "))) == 0
    printed = capsys.readouterr()
    said = " ".join(f"{printed.out} {printed.err}".split())
    quoted = [
        line for block in example if block.language == "text" for line in block.text.split("\n")
    ]
    assert len(quoted) > 5
    assert [line for line in quoted if line not in said] == []
    paragraph = " ".join(re.findall(r"^> (.*)$", EXAMPLE, re.MULTILINE))
    numbers = re.findall(r"\d[\d,.]*\d|\d", paragraph)
    assert len(numbers) > 15
    assert [number for number in numbers if number not in said] == []


@pytest.mark.slow
def test_a_new_error_fits_into_the_package(desk: Path, tmp_path: Path) -> None:
    page = list(blocks(DOCS / "how_to/new_error.md"))
    folder = tmp_path / "installed"
    for name in ("diaghoi", "oracles", "plots"):
        target = folder / "diaghoi" / ("" if name == "diaghoi" else name)
        shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "oracles").symlink_to("diaghoi/oracles")
    (oracle,) = (block for block in page if block.name == "crowded_association.py")
    (folder / "oracles" / oracle.name).write_text(oracle.text, encoding="utf-8")
    (diff,) = (block for block in page if block.language == "diff")
    patched(diff.text, folder)

    after = page[page.index(diff) + 1]
    (command,) = after.commands
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=shutil.copytree(desk, tmp_path / "desk"),
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "80"},
        capture_output=True,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "Crowded association" in line]
    assert len(lines) == 2  # among the errors, and among the Shapley values


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_are_of_a_kind_that_runs_or_is_built(page: Path) -> None:
    for block in blocks(page):
        assert block.language in (*RUN, *SHOWN) or block.language.startswith(BUILT), (
            f"{block.where}: nobody runs {block.language!r}"
        )
        if block.language in ("toml", "json"):
            assert block.name, f"{block.where}: no name: nobody reads this file"


def test_few_blocks_are_not_run() -> None:
    still = [
        block
        for page in PAGES
        for block in blocks(page)
        if not block.runs and block.language not in SHOWN
    ]
    assert [block.page.name for block in still] == ["corrupted_pictures.md"] * 2
    marks = sum(page.read_text(encoding="utf-8").count(CLUSTER) for page in PAGES)
    assert marks == len(still)
    for block in still:
        if block.language == "python":
            ast.parse(block.text)


def test_make_targets_and_extras_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    extras = set(metadata("diaghoi").get_all("Provides-Extra") or ())
    for page in PAGES:
        told = page.read_text(encoding="utf-8")
        for target in re.findall(r"(?:`|\$ )make (\w+)", told):
            assert target in targets, f"{page.name}: make {target}"
        for wanted in re.findall(r"pip install 'diaghoi\[([\w,]+)\]'", told):
            assert set(wanted.split(",")) <= extras, f"{page.name}: {wanted}"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not on this machine")
def test_the_demo_installs_no_more_than_it_needs(tmp_path: Path) -> None:
    asked = ["make", "--dry-run", "demo", f"VENV={tmp_path / 'none'}"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout
    assert re.findall(r"pip install .*--editable (.*)", told) == ["."]
    assert "Installing diaghoi into" in told


def commands(of: Any, *words: str) -> Iterator[tuple[str, Any]]:
    for name, inner in of.commands.items():
        if hasattr(inner, "commands"):
            yield from commands(inner, *words, name)
        else:
            yield " ".join((*words, name)), inner


COMMANDS = dict(commands(built(), "diaghoi"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_options_that_a_page_names_exist(page: Path) -> None:
    known = {"--help", "--version", "--strict"}  # the last is mypy's
    known |= {
        option
        for each in COMMANDS.values()
        for one in each.params
        for option in (*one.opts, *one.secondary_opts)
    }
    told = page.read_text(encoding="utf-8")
    for block in blocks(page):
        if block.language in SHOWN:
            known |= set(OPTION.findall(block.text))
    assert set(OPTION.findall(told)) <= known


def test_commands_have_the_options_that_they_are_shown_with() -> None:
    shown = [
        (block, command)
        for page in PAGES
        for block in blocks(page)
        if block.language == "console"
        for command in block.commands
        if command.startswith("diaghoi ")
    ]
    assert shown
    for block, command in shown:
        name = max((each for each in COMMANDS if command.startswith(each)), key=len)
        options = {option for one in COMMANDS[name].params for option in one.opts}
        assert set(OPTION.findall(command)) <= options, f"{block.where}: {command}"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("errors", [f"pictures/{name}.svg" for name in ERRORS]),
        ("protocols", [f"`{name}`" for name in PROTOCOLS]),
        ("code_bases", [f"`{path.name}`" for path in DUMPERS]),
    ],
)
def test_a_page_tells_of_all(page: str, names: list[str]) -> None:
    assert [name for name in names if name not in MANUAL[page]] == []


@pytest.mark.parametrize(
    ("page", "heads"),
    [
        ("commands", [f"`{name}`" for name in COMMANDS]),
        ("formats", [f"\n## {name}\n" for name in FORMATS]),
        ("figures", [f"\n## {name}\n" for name in (*FIGURES, *ROBUSTNESS_FIGURES)]),
        ("corruptions", [f"`{name}`" for name in CORRUPTIONS]),
        ("protocols", [f"`{name}`" for name in PROTOCOLS]),
        ("numbers", [f"`{name}`" for name in (*MEASURES, *ORACLES)]),
    ],
)
def test_a_page_of_the_reference_lists_all(page: str, heads: list[str]) -> None:
    assert [head for head in heads if head not in reference_page(page)] == []


def test_the_reference_describes_each_format_and_shows_each_figure() -> None:
    parts = reference_page("formats").split("\n## ")[1:]
    assert [part for part in parts if len(part.strip().split("\n\n")) < 3] == []
    parts = reference_page("figures").split("\n## ")[1:]
    assert [part for part in parts if "![" not in part] == []


def test_the_manual_is_short() -> None:
    pages = [page for page in MANUAL if page not in ("changelog", "contributing", "CONTRIBUTING")]
    assert len(MANUAL["README"].split()) <= 600
    assert sum(len(MANUAL[page].split()) for page in pages) <= 14_000


def test_terms_of_docstrings_stand_on_lines_of_their_own() -> None:
    """A term that joins its text, as a careless editor leaves it, is lost on the API pages."""
    wrong = []
    section = re.compile(
        r"(?:Parameters|Returns|Raises)\n-+\n(.*?)(?=\n\n?[A-Z]\w+\n-+\n|\Z)", re.S
    )
    for path in (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                lines = "\n".join(section.findall(ast.get_docstring(node) or "")).splitlines()
                terms = [line for line in lines if line and not line.startswith(" ")]
                wrong += [f"{path}: {node.name}: {term}" for term in terms if term.endswith(".")]
    assert wrong == []


def test_the_messages_that_are_explained_exist() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "diaghoi").rglob("*.py"))
    said = re.sub(r'"\n\s*f?"', "", code).replace("{dataset}", "hico-det")
    told = re.findall(r"(?:^\| |, or |\) )\*([^*]+)\*", MANUAL["troubleshooting"], re.MULTILINE)
    assert len(told) > 6
    of_others = ["diaghoi: command not found"]  # the shell
    assert [each for each in told if each not in said] == of_others


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#|generated/)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_what_is_cited_is_in_the_citation_file() -> None:
    cited = CITED.read_text(encoding="utf-8").replace('"', "")
    (software, *papers), *_ = entries = [
        re.findall(r"^  title = \{(.*)\},$", block.text, re.MULTILINE)
        for block in blocks(DOCS / "cite.md")
    ]
    titles = [title for each in entries for title in each]
    assert [title for title in titles if re.sub("[{}]", "", title) not in cited] == []
    assert len(titles) == len(re.findall(r"^ *(?:- )?(?:type.*\n *)?title:", cited, re.MULTILINE))
    assert software.startswith("diaghoi: ")
    assert papers
    assert f"version: {diaghoi.__version__}" in cited
    assert f"version = {{{diaghoi.__version__}}}" in MANUAL["cite"]


def drawing(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reference_page(name: str) -> str:
    page: str = drawing("reference").PAGES[name]()
    return page


def test_the_picture_of_an_error_shows_that_error() -> None:
    pictures = drawing("error_pictures")
    assert tuple(pictures.MADE) == ERRORS
    pictures.MADE["action"] = pictures.FOUND
    with pytest.raises(RuntimeError, match="the picture of action shows"):
        pictures.case_of("action")


def test_the_manual_shows_every_picture_and_no_other() -> None:
    kept = {path.name for path in PICTURES.iterdir()}
    pages = (*MANUAL.values(), reference_page("figures"))
    shown = {name for page in pages for name in re.findall(r"pictures/([\w.]+)\)", page)}
    assert shown == kept
    assert [path.name for path in PICTURES.iterdir() if path.stat().st_size > LARGE] == []


def words_in(svg: Path) -> list[str]:
    """List the words of a drawing, which has to be well-formed."""
    texts = ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    return [each.text or "" for each in texts]


def test_drawings_have_words() -> None:
    assert all(words_in(path) for path in PICTURES.glob("*.svg"))


@pytest.mark.slow
@pytest.mark.long
def test_pictures_show_what_the_package_draws(tmp_path, monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.setattr("shutil.which", lambda _: None)  # the page is photographed elsewhere
    drawing("pictures").draw(tmp_path)
    kept = {path.name for path in PICTURES.iterdir()}
    assert kept - {path.name for path in tmp_path.iterdir()} == {"page.png"}
    old = [
        path.name
        for path in tmp_path.glob("*.svg")
        if words_in(path) != words_in(PICTURES / path.name)
    ]
    assert old == [], "run make pictures, and look at what changed"


@pytest.mark.slow
@pytest.mark.long
def test_the_tutorial_runs(tmp_path: Path) -> None:
    """From the first cell to the last, and no output is kept in the repository."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat (the extra test) is not installed")
    client = pytest.importorskip("nbclient", reason="nbclient (the extra test) is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel (the extra test) is not installed")
    notebook = nbformat.read(ROOT / "examples" / "tutorial.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    run = client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}})
    run.execute()
    said = "".join(output.get("text", "") for output in code[-1].outputs)
    assert "points of mAP (Default, Full)" in said
    assert re.search(r"p [<=≤] 0\.\d", said)


def test_a_diff_that_fits_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    with pytest.raises(AssertionError, match="does not hold"):
        patched("--- a/a.py\n+++ b/a.py\n@@\n three\n+four\n", tmp_path)
    patched("--- a/a.py\n+++ b/a.py\n@@\n one\n+half\n two\n", tmp_path)
    assert (tmp_path / "a.py").read_text() == "one\nhalf\ntwo\n"
