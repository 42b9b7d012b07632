"""How many threads a process uses."""

from __future__ import annotations

import pytest

from diaghoi.data.memory import THREADS_VARIABLE, cores, share


@pytest.mark.parametrize(
    ("told", "count"), [("1", 1), ("3", 3), ("0", 1), ("", None), ("many", None), ("-2", None)]
)
def test_the_variable_overrules_the_machine(
    told: str, count: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    usual = cores()
    monkeypatch.setenv(THREADS_VARIABLE, told)
    assert cores() == (usual if count is None else count)


@pytest.mark.parametrize(("processes", "each"), [(1, "8"), (2, "4"), (3, "2"), (20, "1")])
def test_processes_share_the_cores(
    processes: int, each: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "8")
    assert share(processes) == {THREADS_VARIABLE: each}
