"""Scenes in a file are those that would be read from it, whichever images are asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scenes import BICYCLE, PERSON, RIDE, image, problems, scenes

from diaghoi import InputError, diagnose, open_annotations, open_predictions, read_predictions
from diaghoi.data.scenes import COLUMNS, Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.formats import own, write
from diaghoi.formats.own import StoredScenes


def _same(mine: Scenes, other: Scenes) -> None:
    for name in COLUMNS:
        left, right = getattr(mine, name), getattr(other, name)
        assert (left is None) == (right is None), name
        if left is not None:
            np.testing.assert_array_equal(left, right, err_msg=name)


@given(problem=problems(), data=st.data())
def test_a_file_opens_as_what_is_read_from_it(problem, data) -> None:
    annotations, predictions = problem
    with TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.npz"
        write(path, predictions)
        opened, whole = open_predictions(path), read_predictions(path)
        assert isinstance(opened, StoredScenes)
        images = len(whole)
        for table, first in whole.bounds.items():
            assert opened.bounds[table].tolist() == first.tolist()
        first, stop = sorted(data.draw(st.tuples(*2 * [st.integers(0, images)])))
        _same(opened.between(first, stop), whole.between(first, stop))
        chosen = data.draw(st.lists(st.integers(0, images - 1), max_size=5)) if images else []
        _same(opened.take(chosen), whole.take(chosen))
        names = np.append(whole.names, ["further", "images"])
        longer = opened.with_names(names)
        _same(longer.between(first, images + 2), whole.with_names(names).between(first, images + 2))
        _same(longer.load(), whole.with_names(names))
        for fact in ("named", "scored", "lists_pairs"):
            assert getattr(opened, fact) == getattr(whole, fact)
        if len(annotations.triplet_pair):
            truth = Path(folder) / "annotations.npz"
            write(truth, annotations)
            expected = diagnose(annotations, whole).to_dict()
            assert diagnose(open_annotations(truth), opened).to_dict() == expected
            some = data.draw(st.permutations(range(images)))[: max(1, images - 1)]
            fewer = whole.take(some)
            if np.isin(fewer.names, annotations.names).any():
                expected = diagnose(annotations, fewer).to_dict()
                assert diagnose(open_annotations(truth), fewer).to_dict() == expected


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_bounds_do_not_depend_on_how_many_rows_are_looked_at(rows, tmp_path, monkeypatch) -> None:
    image = np.array([0, 0, 2, 2, 2, 5])
    human = np.array([1, 0, 4, 2, 3, 5, 5])
    predictions = Scenes(
        vocabulary=hico_det(),
        names=np.array([f"{n}.jpg" for n in range(7)]),
        box_image=image,
        box_xyxy=np.tile([0.0, 0, 9, 9], (6, 1)),
        box_label=np.zeros(6, dtype=int),
        pair_human=human,
        pair_object=np.full(7, -1),
        triplet_pair=np.array([1, 1, 0, 3, 4, 2, 6, 5]),
        triplet_verb=np.zeros(8, dtype=int),
        triplet_score=np.linspace(1, 0, 8),
    )
    write(tmp_path / "p.npz", predictions)
    monkeypatch.setattr(own, "_ROWS", rows)
    bounds = open_predictions(tmp_path / "p.npz").bounds
    assert bounds["box"].tolist() == [0, 2, 2, 5, 5, 5, 6, 6]
    assert bounds["pair"].tolist() == [0, 2, 2, 5, 5, 5, 7, 7]
    assert bounds["triplet"].tolist() == [0, 3, 3, 6, 6, 6, 8, 8]


@given(problem=problems())
def test_a_compressed_file_opens_too(problem: tuple[Scenes, Scenes]) -> None:
    with TemporaryDirectory() as folder:
        path, packed = Path(folder) / "plain.npz", Path(folder) / "packed.npz"
        write(path, problem[1])
        with np.load(path) as columns:
            np.savez_compressed(packed, **columns)
        _same(open_predictions(packed).load(), read_predictions(path))


def test_a_value_that_cannot_be_is_found_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    pair = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    images = [image(f"{name}.jpg", pair, [(0, 1, RIDE, 0.5)]) for name in ("one", "two")]
    wrong = replace(scenes(images, scored=True), triplet_score=np.array([0.5, np.nan]))
    write(path, wrong)
    opened = open_predictions(path)
    assert len(opened.between(0, 1)) == 1
    for read in (lambda: opened.between(1, 2), lambda: read_predictions(path)):
        with pytest.raises(InputError, match=r"image 'two.jpg': triplet\[0\].triplet_score"):
            read()


def test_a_file_that_is_cut_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    boxes = [(0, (0, 0, 9, 9)), (1, (0, 0, 9, 9))]
    write(path, scenes([image("a.jpg", boxes, [(0, 1, 76, 0.5)])], scored=True))
    opened = open_predictions(path)
    assert opened.bounds
    path.write_bytes(path.read_bytes()[:1500])
    with pytest.raises(InputError, match="not a readable array"):
        opened.load()


def test_the_first_images_can_be_taken_before_the_others_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    pair = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    images = [image(f"{n}.jpg", pair, [(0, 1, RIDE, 0.5)]) for n in range(3)]
    write(path, scenes(images, scored=True))
    for chosen in ([0], [1, 0], []):
        _same(open_predictions(path).take(chosen), read_predictions(path).take(chosen))
