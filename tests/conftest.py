"""Fixtures of all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "diaghoi",
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("diaghoi")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of specifications, conformance cases and real data beside the repository."""
    folder = (Path(__file__).resolve().parents[2] / "shared").resolve()
    if not (folder / "conformance").is_dir():
        pytest.skip("the conformance cases (../shared) are not on this machine")
    return folder
