"""Tables per class and image as files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from diaghoi import InputError, diagnose, simulate
from diaghoi.report.columns import check_table_file, write_table

TABLE = {
    "name": np.array(["ride bike", 'say "hi", twice', "two\nlines", "=1+1"]),
    "ap": np.array([0.1, np.nan, 1 / 3, 1.0]),
    "count": np.array([3, 2, 10, 4]),
    "known": np.array([True, False, True, False]),
}


def test_csv_is_that_of_rfc_4180(tmp_path: Path) -> None:
    write_table(tmp_path / "table.csv", TABLE)
    assert (tmp_path / "table.csv").read_bytes().decode() == (
        "name,ap,count,known\r\n"
        "ride bike,0.1,3,true\r\n"
        '"say ""hi"", twice",,2,false\r\n'
        '"two\nlines",0.3333333333333333,10,true\r\n'
        "'=1+1,1.0,4,false\r\n"
    )


def test_json_is_one_object_a_row(tmp_path: Path) -> None:
    write_table(tmp_path / "table.JSON", TABLE, sort="count", descending=True)
    text = (tmp_path / "table.JSON").read_text("utf-8")
    assert json.loads(text) == [
        {"name": "two\nlines", "ap": 1 / 3, "count": 10, "known": True},
        {"name": "=1+1", "ap": 1.0, "count": 4, "known": False},
        {"name": "ride bike", "ap": 0.1, "count": 3, "known": True},
        {"name": 'say "hi", twice', "ap": None, "count": 2, "known": False},
    ]
    assert len(text.splitlines()) == 6


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_text_that_looks_like_a_formula_is_no_formula(tmp_path: Path, text: str) -> None:
    write_table(tmp_path / "table.csv", {text: np.array([text])})
    with (tmp_path / "table.csv").open(newline="") as lines:
        assert list(csv.reader(lines)) == [[f"'{text}"], [f"'{text}"]]


def test_numbers_are_no_formulas(tmp_path: Path) -> None:
    write_table(tmp_path / "table.csv", {"a": np.array([-1]), "b": np.array([-0.5])})
    assert (tmp_path / "table.csv").read_bytes() == b"a,b\r\n-1,-0.5\r\n"


def test_tables_of_a_diagnosis_are_written_in_full_precision(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(20, rng)
    diagnosis = diagnose(annotations, simulate.detect(annotations, simulate.ONE_STAGE, rng))
    for name in ("classes", "images"):
        table = getattr(diagnosis, name)
        write_table(tmp_path / "table.csv", table)
        write_table(tmp_path / "table.json", table)
        with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        objects = json.loads((tmp_path / "table.json").read_text("utf-8"))
        assert len(rows) == len(objects) == len(table["annotated"])
        for column, values in table.items():
            for row, one, value in zip(rows, objects, values.tolist(), strict=True):
                if value != value:
                    assert (row[column], one[column]) == ("", None)
                else:
                    assert (type(value)(row[column]), one[column]) == (value, value)


def test_names_that_are_not_unicode_are_written(tmp_path: Path) -> None:
    for kind in ("csv", "json"):
        write_table(tmp_path / f"table.{kind}", {"image": np.array(["\udcff.jpg"])})
        assert "?.jpg" in (tmp_path / f"table.{kind}").read_text("utf-8")


@pytest.mark.parametrize("name", ["table.txt", "table", "csv"])
def test_the_name_of_the_file_says_what_it_is(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"tables are written as \.csv or \.json"):
        check_table_file(name)
    with pytest.raises(InputError, match=f"{name}: tables are written as"):
        write_table(tmp_path / name, TABLE)
    assert not list(tmp_path.iterdir())


def test_an_unknown_column_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown column 'cout' \(did you mean 'count'\?\)"):
        write_table(tmp_path / "table.csv", TABLE, sort="cout")
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_table(tmp_path / "nowhere" / "table.csv", TABLE)
