"""A result with figures that are easy to recognise."""

from __future__ import annotations

from typing import Any

import pytest
from support.results import example


@pytest.fixture
def result() -> dict[str, Any]:
    return example()
