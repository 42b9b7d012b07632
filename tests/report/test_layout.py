"""Breaking wide tables into blocks of columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi.data.table import Column
from diaghoi.report.terminal import column_blocks, widened


def columns(groups: str) -> list[Column]:
    """Make a column for each letter, which names its group; dots have none."""
    return [Column(key=str(n), title="x", group=group.strip(".")) for n, group in enumerate(groups)]


@pytest.mark.parametrize(
    ("groups", "room", "expected"),
    [
        ("....", 40, [[0, 1, 2, 3]]),
        ("....", 39, [[0, 1], [2, 3]]),  # not three and one
        ("....", 10, [[0], [1], [2], [3]]),
        ("....", 3, [[0], [1], [2], [3]]),
        ("aabb", 30, [[0, 1], [2, 3]]),
        (".aab", 30, [[0, 1, 2], [3]]),
        ("aaaa", 30, [[0, 1], [2, 3]]),  # a group that does not fit is broken
    ],
)
def test_blocks_of_columns_ten_wide(groups: str, room: int, expected: list[list[int]]) -> None:
    assert column_blocks(columns(groups), [10] * len(groups), room) == expected


@given(
    st.lists(st.tuples(st.sampled_from(".ab"), st.integers(1, 30)), min_size=1, max_size=12),
    st.integers(1, 80),
)
def test_every_column_stands_once_and_blocks_fit(parts: list[tuple[str, int]], room: int) -> None:
    widths = [width for _, width in parts]
    found = column_blocks(columns("".join(group for group, _ in parts)), widths, room)
    assert [place for block in found for place in block] == list(range(len(parts)))
    for block in found:
        assert len(block) == 1 or sum(widths[place] for place in block) <= room


def test_columns_are_widened_for_the_title_of_their_group() -> None:
    wide = [
        Column(key="a", title="", group="A long title"),
        Column(key="b", title="", group="A long title"),
        Column(key="c", title=""),
    ]
    assert widened(wide, [3, 3, 3], 2) == [5, 5, 3]
    assert widened(wide, [9, 9, 3], 2) == [9, 9, 3]
