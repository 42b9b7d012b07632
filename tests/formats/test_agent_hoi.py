"""AgentHOI's results: what is read, how scores are combined, what is left out and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import InputError, read_predictions
from diaghoi.data.vocabulary import hico_det
from diaghoi.formats import recognise

WORDS = hico_det()
HORSE, PHONE = (WORDS.objects.index(name) for name in ("horse", "cell_phone"))
RIDE, SIT, HOLD = (WORDS.verbs.index(name) for name in ("ride", "sit_on", "hold"))
HUMAN, THING, OTHER = [1.5, 2.0, 30.0, 40.0], [10.0, 20.0, 60.0, 70.5], [3.0, 4.0, 9.0, 9.0]
FIRST, SECOND = "HICO_test2015_00000001.jpg", "HICO_test2015_00000002.jpg"
Save = Callable[[Any], Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def saved(value: Any) -> Path:
        path = tmp_path / "4o_box.json"
        path.write_text(json.dumps(value))
        return path

    return saved


@pytest.fixture
def agent() -> list[dict[str, Any]]:
    return [
        {
            "filename": FIRST,
            "Object Category": ["horse", "cell phone"],
            "Object Logits": [0.5, 1.0],
            "IC Logits": [[0.75, 0.25], [0.5]],
            "Interaction Class": [["ride", "sit_on"], ["hold"]],
            "Human Description": ["person in red helmet", "person in red helmet"],
            "Object Description": ["black horse  ", "phone in hand"],
            "Box": [
                {"humanBox": [*HUMAN, 0.5], "objBox": [*THING, 0.25], "Interaction Class": []},
                {"humanBox": [*HUMAN, 0.5], "objBox": [*OTHER, 1.0], "Interaction Class": []},
            ],
            "orig_size": [461, 640],
        },
        {
            "filename": SECOND,
            "Object Category": ["horse"],
            "Interaction Class": [["ride"]],
            "Box": [],
            "error": "Image not found",
        },
    ]


def sigmoid(value: float) -> float:
    return 1 / (1 + np.exp(-value))


def test_hico_det(agent: list[dict[str, Any]], save: Save) -> None:
    """Scores are those of its evaluator: of the mean of the words and the product of the boxes."""
    scenes = read_predictions(save(agent))
    assert scenes.names.tolist() == [FIRST, SECOND]
    assert scenes.box_xyxy.tolist() == [HUMAN, THING, OTHER]
    assert scenes.box_label.tolist() == [0, HORSE, PHONE]
    assert scenes.box_score is not None
    assert scenes.box_score.tolist() == [0.5, 0.25, 1.0]
    assert scenes.pair_human.tolist() == [0, 0]
    assert scenes.pair_object.tolist() == [1, 2]
    assert scenes.pair_score is None
    assert scenes.triplet_pair.tolist() == [0, 0, 1]
    assert scenes.triplet_verb.tolist() == [RIDE, SIT, HOLD]
    assert scenes.triplet_action_score is not None
    assert scenes.triplet_action_score.tolist() == [0.75, 0.25, 0.5]
    scores = [
        sigmoid(words) * sigmoid(boxes) ** 0.3
        for words, boxes in ((0.625, 0.125), (0.375, 0.125), (0.75, 0.5))
    ]
    np.testing.assert_allclose(scenes.triplet_score, scores, rtol=1e-12)
    found = recognise(save(agent))
    assert (found.format, found.kind, found.dataset) == ("agent-hoi", "predictions", "hico-det")


def test_swig_hoi(agent: list[dict[str, Any]], save: Save) -> None:
    """One verb for each pair, and no sigmoid."""
    image = {
        "filename": "tattooing_86.jpg",
        "Object Category": ["person", "pruning shears"],
        "Object Logits": [0.5, 1.0],
        "Interaction Class": ["tattooing", "pruning"],
        "IC Logits": [0.75, 0.5],
        "Box": agent[0]["Box"],
        "img_id": 2,
    }
    scenes = read_predictions(save([image]))
    assert scenes.vocabulary.name == "swig-hoi"
    assert scenes.names.tolist() == ["2"]
    verbs = [scenes.vocabulary.verbs[verb] for verb in scenes.triplet_verb]
    assert verbs == ["tattooing", "pruning"]
    np.testing.assert_allclose(
        scenes.triplet_score, [0.625 * 0.125**0.3, 0.75 * 0.5**0.3], rtol=1e-12
    )
    image["Interaction Class"].pop()
    shorter = read_predictions(save([image]))
    assert len(shorter.triplet_verb) == 1
    assert any("1 pairs lack a box or a verb" in note for note in shorter.notes)


def test_left_out(agent: list[dict[str, Any]], save: Save) -> None:
    agent[0]["Box"][1]["objBox"] = []
    agent[0]["Interaction Class"][0][1] = "sit_inside"
    scenes = read_predictions(save(agent))
    assert scenes.triplet_verb.tolist() == [RIDE]
    assert any("1 pairs lack a box or a verb and are omitted" in note for note in scenes.notes)
    assert any(
        "1 of 2 interactions have names that hico-det lacks; they are omitted: "
        "sit_inside horse" in note
        for note in scenes.notes
    )
    agent[0]["Object Category"] = ["unicorn", "unicorn"]
    with pytest.raises(
        InputError, match=r"none of the interactions belongs to hico-det: ride unicorn, sit_"
    ):
        read_predictions(save(agent))


REFUSED = {
    "lengths": (("Object Logits",), [0.5], r"lengths differ: Object Category 2, Object Log"),
    "list": (("Object Category",), 5, r"Object Category: is 5; give a list$"),
    "scores": (("IC Logits", 0), [0.5], r"Class\[0\]: are .*; give lists of equal length$"),
    "verbs": (("Interaction Class", 0), 5, r"Interaction Class\[0\]: are 5, with scores \[0.75"),
    "verb": (("Interaction Class", 0, 1), 5, r"Interaction Class\[0\]: 5 is not a word"),
    "four": (("Box", 1, "humanBox"), HUMAN, r"Box\[1\]: humanBox: is .*; give five numbers"),
}


@pytest.mark.parametrize(("path", "value", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(agent, save, path, value, message) -> None:
    parent: Any = agent[0]
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    with pytest.raises(InputError, match=rf"image '{FIRST}': .*{message}"):
        read_predictions(save(agent))


def test_missing_list(agent: list[dict[str, Any]], save: Save) -> None:
    del agent[0]["IC Logits"]
    with pytest.raises(InputError, match=rf"image '{FIRST}': the key 'IC Logits' is missing"):
        read_predictions(save(agent))
