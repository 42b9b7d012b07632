"""Fixtures of all tests, and how many examples a property is tried on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

for name, examples in (("few", 4), ("many", 10)):
    settings.register_profile(
        name,
        deadline=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile("few")  # the second tier asks for --hypothesis-profile=many


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark properties, so that the second tier finds them and tries them on more examples.

    Long tests go first, whatever the order of the others: one begun last keeps a core idle.
    """
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.property)
    yield
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """Hide the collected tests from the garbage collector: it would go over them all the time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of specifications, conformance cases and real data beside the repository."""
    folder = (Path(__file__).resolve().parents[2] / "shared").resolve()
    if not (folder / "conformance").is_dir():
        pytest.skip("the conformance cases (../shared) are not on this machine")
    return folder
