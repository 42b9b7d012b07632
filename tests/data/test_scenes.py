"""Selecting and joining images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference import by_image
from support.scenes import BICYCLE, PERSON, RIDE, image, problems, scenes

from diaghoi import InputError
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes

ONE = image("a.jpg", [(PERSON, (0, 0, 9, 9)), (BICYCLE, (5, 5, 9, 9))], [(0, 1, RIDE)])


def plain(some: Scenes) -> list[object]:
    """Content of each image with box numbers counted from its first box."""
    named = replace(some, names=np.array([str(n) for n in range(len(some))]))
    images = []
    for content in by_image(named).values():
        first = min(content["boxes"], default=0)
        pairs = [(h - first, o - first, str(s)) for h, o, s in content["pairs"]]
        triplets = [
            (t["human"] - first, t["object"] - first, t["verb"], t.get("score"))
            for t in content["triplets"]
        ]
        images.append((list(content["boxes"].values()), pairs, triplets))
    return images


@given(problems(), st.lists(st.integers(-1, 2), max_size=6))
def test_take_selects_repeats_and_leaves_empty(problem, chosen) -> None:
    for some in problem:
        images = [n for n in chosen if n < len(some)]
        content = plain(some)
        expected = [content[n] if n >= 0 else ([], [], []) for n in images]
        taken = some.take(images)
        assert plain(taken) == expected
        assert taken.names.tolist() == [some.names[n] if n >= 0 else "" for n in images]


@given(problems(), st.integers(0, 4), st.integers(0, 4))
def test_between_equals_take(problem: tuple[Scenes, Scenes], first: int, stop: int) -> None:
    for some in problem:
        stop = max(min(stop, len(some)), first)
        assert plain(some.between(first, stop)) == plain(some.take(range(first, stop)[: len(some)]))


@given(problems())
def test_join_gives_both_sides_the_same_images(problem: tuple[Scenes, Scenes]) -> None:
    annotations, predictions = problem
    truth, found, joined = join(*problem)
    assert truth.names.tolist() == found.names.tolist()
    further = sorted(set(predictions.names) - set(annotations.names))
    assert truth.names.tolist() == [*annotations.names, *further]
    assert truth.names[joined.annotated].tolist() == annotations.names.tolist()
    assert set(found.names[joined.predicted]) == set(predictions.names)
    assert len(truth.triplet_pair) == len(annotations.triplet_pair)
    place = {name: row for row, name in enumerate(predictions.names.tolist())}
    expected = plain(predictions.take([place.get(name, -1) for name in found.names.tolist()]))
    assert plain(found) == expected


def test_arrays_are_read_only() -> None:
    some = scenes([ONE], scored=False)
    with pytest.raises(ValueError, match="read-only"):
        some.box_xyxy[0, 0] = 5


def test_images_without_names_are_joined_by_position() -> None:
    named = scenes([ONE], scored=False)
    nameless = replace(named, names=np.array([""]), source="dets")
    truth, found, joined = join(named, nameless)
    assert truth.names.tolist() == found.names.tolist() == ["a.jpg"]
    assert joined.annotated.all()
    assert joined.predicted.all()


def test_images_without_names_must_be_as_many() -> None:
    nameless = replace(scenes([ONE], scored=False), names=np.array([""]), source="dets")
    two = scenes([ONE, image("b.jpg", [], [])], scored=False)
    with pytest.raises(InputError, match=r"dets: .* 1 predicted and 2 annotated images"):
        join(two, nameless)


def test_another_split_is_recognised() -> None:
    annotations = replace(scenes([ONE], scored=False), source="gt.pkl")
    other = replace(annotations, names=np.array(["train_1.jpg"]), source="preds.pkl")
    with pytest.raises(InputError, match=r"preds.pkl: none of the 1 images .*'train_1.jpg'.*split"):
        join(annotations, other)


@given(problems(), st.data())
def test_keep_drops_pairs_with_their_triplets_and_nothing_else(problem, data) -> None:
    for some in problem:
        size = len(some.pair_human)
        marks = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool)
        kept = some.keep(marks)
        triplets, pair, kept_pair = marks[some.triplet_pair], some.triplet_pair, kept.triplet_pair
        assert kept.names.tolist() == some.names.tolist()
        for column in ("box_image", "box_label", "box_xyxy"):
            assert np.array_equal(getattr(kept, column), getattr(some, column))
        for column in ("pair_human", "pair_object"):
            rows, left = getattr(some, column), getattr(kept, column)
            assert left.tolist() == rows[marks].tolist()
            assert left[kept_pair].tolist() == rows[pair][triplets].tolist()
        for column in ("triplet_image", "triplet_verb", "triplet_class", "triplet_score"):
            if getattr(some, column) is not None:
                assert getattr(kept, column).tolist() == getattr(some, column)[triplets].tolist()
