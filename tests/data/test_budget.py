"""The budget of memory: what it is, who sets it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from diaghoi.data.memory import MEMORY_VARIABLE, allowing, budget, check_budget, gathered
from diaghoi.exceptions import InputError, speaking_of_options


def test_512_megabytes_unless_said_otherwise(monkeypatch) -> None:
    monkeypatch.delenv(MEMORY_VARIABLE, raising=False)
    assert budget() == 512_000_000
    monkeypatch.setenv(MEMORY_VARIABLE, "20")
    assert budget() == 20_000_000
    with allowing(3), allowing(7):
        assert budget() == 7_000_000
    assert budget() == 20_000_000


@pytest.mark.parametrize(
    "given", ["0", "-1", "1.5", "much", "٣", "1000001", "9" * 30, "0000000019999999999"]
)
def test_a_variable_that_is_no_number_of_megabytes(monkeypatch, given: str) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, given)
    with pytest.raises(InputError, match="a whole number up to 1,000,000"):
        budget()


def test_what_takes_more_is_refused_with_what_to_do() -> None:
    with allowing(2):
        check_budget(2_000_000, "rows")
        with pytest.raises(InputError) as error:
            check_budget(2_000_001, "a.npz: 5 rows")
        assert str(error.value) == (
            "a.npz: 5 rows: about 3 MB of memory, more than the 2 MB that may be taken; "
            "DIAGHOI_MEMORY=3 allows it"
        )
        with speaking_of_options(), pytest.raises(InputError, match="; --memory 3 allows it"):
            check_budget(2_000_001, "rows")


def test_parts_are_joined_as_long_as_they_fit() -> None:
    taken = []

    def parts():
        for number in range(100):
            taken.append(number)
            yield np.full(50_000, number), np.zeros(50_000, dtype=np.int8)

    with allowing(1):
        one, other = gathered([(np.arange(3), np.zeros(1)), (np.arange(2), np.ones(1))], "all")
        assert one.tolist() == [0, 1, 2, 0, 1]
        assert other.tolist() == [0, 1]
        with pytest.raises(InputError, match="boxes: more than the 1 MB of memory"):
            gathered(parts(), "boxes")
    assert taken == [0, 1, 2]  # the rest is never made
