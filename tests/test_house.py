"""The rooms: few loose modules, no circles, and contracts that catch a wrong import."""

from __future__ import annotations

import shutil
import sys
from copy import deepcopy
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

grimp = pytest.importorskip("grimp", reason="import-linter (the extra dev) is not installed")
linter = pytest.importorskip("importlinter.api")
kinds = pytest.importorskip("importlinter.contracts.layers")

ROOT = Path(__file__).resolve().parents[1]
LOOSE = 6  # modules that may lie in no room

if not (ROOT / "pyproject.toml").is_file():
    pytest.skip("the tests are not in the repository", allow_module_level=True)

SETTINGS = linter.read_configuration(str(ROOT / "pyproject.toml"))
(LAYERS,) = (each for each in SETTINGS["contracts_options"] if each["type"] == "layers")
METHODS = "diaghoi.diagnosis.methods"  # import their work when they are called
ROOMS = [layer.replace(" ", "").split("|") for layer in LAYERS["layers"]]


@pytest.fixture(scope="module")
def imports(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Give the graph of all imports, of the package as it is when installed."""
    folder = tmp_path_factory.mktemp("installed")
    for name in ("diaghoi", "oracles", "plots"):
        target = folder / "diaghoi" / ("" if name == "diaghoi" else name)
        shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.delitem(sys.modules, "diaghoi", raising=False)
        return grimp.build_graph("diaghoi", cache_dir=None)


def layers(graph: Any) -> Any:
    """Check the contract of layers; the check takes what the contract allows out of the graph."""
    contract = kinds.LayersContract(LAYERS["name"], SETTINGS["session_options"], LAYERS)
    return contract.check(deepcopy(graph), verbose=False)


def test_few_modules_lie_loose() -> None:
    loose = {path.stem for path in (ROOT / "diaghoi").glob("*.py")}
    assert len(loose) <= LOOSE, sorted(loose)


def test_pytest_enters_every_folder_with_tests(pytestconfig: pytest.Config) -> None:
    folders = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in path.relative_to(ROOT).parts[:-1]
    }
    passed_over = pytestconfig.getini("norecursedirs")
    assert "formats" in folders
    assert [name for name in folders for each in passed_over if fnmatch(name, each)] == []


def test_every_room_has_a_layer() -> None:
    rooms = {path.parent.name for path in (ROOT / "diaghoi").glob("*/__init__.py")}
    loose = {path.stem for path in (ROOT / "diaghoi").glob("*.py")} - {"__init__"}
    assert {room for layer in ROOMS for room in layer} == rooms | loose | {"oracles", "plots"}


def test_no_modules_import_one_another_in_a_circle(imports: Any) -> None:
    modules = sorted(imports.modules - {METHODS})
    place = {module: number for number, module in enumerate(modules)}
    arrows = [
        (place[module], place[other])
        for module in modules
        for other in imports.find_modules_directly_imported_by(module) - {METHODS}
    ]
    graph = coo_array((np.ones(len(arrows)), np.transpose(arrows)), shape=(len(modules),) * 2)
    _, part = connected_components(graph, connection="strong")
    circles = [
        [modules[number] for number in np.flatnonzero(part == each)]
        for each in np.flatnonzero(np.bincount(part) > 1)
    ]
    assert circles == []


def test_the_layers_are_kept(imports: Any) -> None:
    assert layers(imports).kept


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        *((low[0], high[0]) for high, low in pairwise(ROOMS)),
        *((one, other) for layer in ROOMS for one in layer for other in layer if one != other),
    ],
)
def test_an_import_up_or_across_breaks_the_layers(imports: Any, lower: str, upper: str) -> None:
    graph = deepcopy(imports)
    graph.add_import(importer=f"diaghoi.{lower}", imported=f"diaghoi.{upper}")
    assert not layers(graph).kept
