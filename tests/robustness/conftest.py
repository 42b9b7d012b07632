"""A small study of simulated detectors."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.robustness import FEW, link_study, write_study


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the study; do not change it."""
    return write_study(tmp_path_factory.mktemp("robustness"), FEW)


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """Folder of the study that a test may change."""
    return link_study(written, tmp_path)
