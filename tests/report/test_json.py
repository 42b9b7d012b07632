"""Results as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diaghoi import InputError
from diaghoi.report.json import to_json, write_json


def test_numbers_keep_all_their_digits() -> None:
    assert json.loads(to_json({"a": 0.1 + 0.2, "b": None})) == {"a": 0.1 + 0.2, "b": None}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_is_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "r.json", {"a": value})
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    """File names on disk may be any bytes; Python shows them as lone surrogates."""
    write_json(tmp_path / "r.json", {"label": "m\udcffodel Δ"})
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == {"label": "m?odel Δ"}


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"r\.json: cannot be written: "):
        write_json(tmp_path / "no" / "r.json", {})
