"""The facts of HICO-DET, against the lists that came with it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from diaghoi import InputError
from diaghoi.data.vocabulary import hico_det, object_numberings
from diaghoi.formats.description import vocabulary


def test_sizes_and_landmarks() -> None:
    words = hico_det()
    assert (len(words), len(words.verbs), len(words.objects)) == (600, 117, 80)
    assert (words.rare.sum(), (~words.interacting).sum()) == (138, 80)
    assert words.objects[words.person] == "person"
    assert words.verbs[words.no_interaction] == "no_interaction"
    assert words.class_name(0) == "board airplane"
    assert words.class_of[words.person, words.no_interaction] >= 0
    assert (words.class_of[-1] == -1).all()


def test_equals_the_published_lists(shared: Path) -> None:
    words = hico_det()
    truth = json.loads((shared / "data/hico_det/instances_test2015.json").read_text())
    for hoi, thing, verb in truth["correspondence"]:
        assert words.objects[words.class_object[hoi]] == truth["objects"][thing]
        assert words.verbs[words.class_verb[hoi]] == truth["verbs"][verb]
    assert np.flatnonzero(words.rare).tolist() == sorted(truth["rare"])
    instances = np.bincount(
        [hoi for image in truth["annotation"] for hoi in image["hoi"]], minlength=600
    )
    assert words.test_instances.tolist() == instances.tolist()


def test_object_numberings_agree_with_the_published_table(shared: Path) -> None:
    table = json.loads((shared / "data/hico_det/coco80tohico80.json").read_text())
    numberings = object_numberings()
    to_hico = {coco: hico for hico, coco in numberings["hico80"].items()}
    assert {str(coco + 1): hico for coco, hico in to_hico.items()} == table
    assert sorted(numberings["coco80"].values()) == list(range(80))
    assert max(numberings["coco91"]) == 90


def test_a_vocabulary_pickles_as_its_name() -> None:
    assert pickle.loads(pickle.dumps(hico_det())) is hico_det()


def test_unknown_data_sets_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown data set 'hicodet' .did you mean 'hico-det'"):
        vocabulary("hicodet")
