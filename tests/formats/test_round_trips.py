"""What is written is what is read: every figure survives every format, and conversion after it.

Where a format cannot hold something, the scenes are brought to what it holds first, by plain loops
and not by the readers; each test says what that is. Figures are those of ``to_dict``, all of them
but the notes, compared exactly. Boxes have whole numbers as coordinates: other ones may change in
the last bit where a data set counts pixels from one or writes width and height.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from support import swig, v_coco
from support.described import write_description
from support.scenes import (
    BICYCLE,
    CAR,
    EAT,
    HOLD,
    HUG,
    NO_INTERACTION,
    PERSON,
    RIDE,
    WASH,
    problems,
)

from diaghoi import Scenes, diagnose, read_annotations, read_predictions, simulate
from diaghoi.data.scenes import COLUMNS
from diaghoi.data.vocabulary import Vocabulary, hico_det, swig_hoi
from diaghoi.formats import (
    write,
    write_dense_arrays,
    write_pair_lists,
    write_triplet_lists,
    write_v_coco,
)
from diaghoi.formats.dense import TOP
from diaghoi.formats.description import read_description

# Numbers in no order, boxes counted from one, with width and height: nothing as in the package.
ODD = """
name = "zoo"
objects = ["cat", "person", "ball"]
verbs = ["feed", "throw", "ignore", "groom", "call", "see"]
no_interaction = "ignore"
numbers = { objects = [90, 17, 4], verbs = [12, 3, 700, 0, 5, 6] }
boxes = { origin = 1, layout = "xywh" }

[classes]
see = ["person", "cat", "ball"]
feed = ["cat", "person"]
throw = ["ball"]
ignore = ["ball", "cat", "person"]

[rare]
counts = { "see cat" = 12, "feed cat" = 10, "ignore ball" = 30 }
"""
Paths = Callable[[str], Path]


def described(folder: Path, boxes: str) -> Vocabulary:
    """Read the description of a data set whose files are odd."""
    return read_description(write_description(folder, f'[protocol]\nboxes = "{boxes}"', ODD))


@dataclass(frozen=True)
class Data:
    """A data set, and what the objects and verbs of the small scenes are called in it."""

    words: Vocabulary
    objects: dict[int, int]
    verbs: dict[int, int]

    def translated(self, scenes: Scenes) -> Scenes:
        """Return scenes of HICO-DET as scenes of this data set."""
        return replace(
            scenes,
            vocabulary=self.words,
            box_label=_mapped(scenes.box_label, self.objects),
            triplet_verb=_mapped(scenes.triplet_verb, self.verbs),
        )


def _mapped(numbers: Any, table: dict[int, int]) -> Any:
    return np.array([table[number] for number in numbers.tolist()], dtype=np.int64)


OBJECTS = (PERSON, BICYCLE, CAR)
VERBS = (RIDE, HOLD, WASH, NO_INTERACTION, HUG, EAT)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Data]:
    """Give the data sets of pairs: some of their verbs go with some of their objects."""
    evaluated = [int(swig_hoi().class_verb[hoi]) for hoi in swig.CLASSES[:6]]
    found = {
        "hico-det": Data(
            hico_det(), dict(zip(OBJECTS, OBJECTS, strict=True)), {v: v for v in VERBS}
        ),
        "swig-hoi": Data(
            swig_hoi(),
            dict(zip(OBJECTS, (0, swig.DOG, swig.CAR), strict=True)),
            dict(zip(VERBS, evaluated, strict=True)),
        ),
    }
    for boxes in ("inclusive", "continuous"):
        words = described(tmp_path_factory.mktemp(boxes), boxes)
        found[f"described, {boxes}"] = Data(
            words,
            dict(zip(OBJECTS, (1, 0, 2), strict=True)),
            dict(zip(VERBS, (0, 5, 1, 2, 3, 4), strict=True)),
        )
    return found


# Each example of these is diagnosed several times.
few = settings(max_examples=min(settings.default.max_examples, 8))
DATA = ("hico-det", "swig-hoi", "described, inclusive", "described, continuous")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    """Return a function that names a file in a folder; each test overwrites its files."""
    folder = tmp_path_factory.mktemp("files")
    return lambda name: folder / name


def figures(truth: Scenes, found: Scenes) -> dict[str, Any]:
    result = diagnose(truth, found).to_dict()
    del result["notes"]
    for key in ("coverage", "other_split"):  # some formats hold no image without predictions
        result.pop(key, None)
    return result


def converted(scenes: Scenes, path: Path) -> Scenes:
    write(path, scenes)
    if scenes.triplet_score is None:
        return read_annotations(path, dataset=scenes.vocabulary)
    return read_predictions(path, dataset=scenes.vocabulary)


def assert_stays(
    original: tuple[Scenes, Scenes], read: tuple[Scenes, Scenes], paths: Paths
) -> None:
    """Compare the figures of scenes and of what was read; its conversion is the same scenes."""
    assert figures(*read) == figures(*original)
    for scenes, name in zip(read, ("gt.npz", "preds.npz"), strict=True):
        assert_equal(converted(scenes, paths(name)), scenes)


def assert_equal(scenes: Scenes, expected: Scenes) -> None:
    """Compare everything of which figures are made."""
    assert scenes.vocabulary == expected.vocabulary
    assert scenes.top == expected.top
    for column in COLUMNS:
        one, other = getattr(scenes, column), getattr(expected, column)
        assert (one is None) == (other is None), column
        if one is not None:
            np.testing.assert_array_equal(one, other, column)


def refused(scenes: Scenes) -> bool:
    """Whether the listed pairs seem to be another detector's: none is one of many of triplets."""
    if scenes.pair_score is None or np.isnan(scenes.pair_score).all():
        return False
    used = np.unique(scenes.triplet_pair)
    return len(used) >= 20 and bool(np.isnan(scenes.pair_score[used]).all())


def through_lists(scenes: Scenes, paths: Paths) -> Scenes:
    """Write triplet lists, and pair lists where pairs are listed, and read them."""
    words, path, pairs = scenes.vocabulary, paths("triplets.pkl"), None
    write_triplet_lists(path, scenes)
    if scenes.triplet_score is None:
        return read_annotations(path, dataset=words)
    if scenes.pair_score is not None:
        pairs = paths("pairs.pkl")
        write_pair_lists(pairs, scenes)
    return read_predictions(path, pairs=pairs, dataset=words)


@pytest.mark.parametrize("name", DATA)
@few
@given(problem=problems(max_images=3))
def test_columnar_files_hold_everything(name, problem, data, paths) -> None:
    truth, found = map(data[name].translated, problem)
    read = converted(truth, paths("gt.npz")), converted(found, paths("preds.npz"))
    for scenes, expected in zip(read, (truth, found), strict=True):
        assert_equal(scenes, expected)
    if name != "swig-hoi":  # it has thousands of classes
        assert figures(*read) == figures(truth, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@few
@given(problem=problems(max_images=3))
def test_triplet_and_pair_lists_hold_every_figure(name, problem, data, paths) -> None:
    truth, found = map(data[name].translated, problem)
    assume(not refused(found))
    read = through_lists(truth, paths), through_lists(found, paths)
    assert_stays((truth, found), read, paths)


def completed(scenes: Scenes) -> Scenes:
    """Give predictions what dense arrays make of them.

    They hold one score for every pair and verb, 0 where there is none, and of several the best;
    the score of the pair itself is that of its best real verb. Their reader keeps the best triplets
    of each image, of verbs and objects that form a class.
    """
    words = scenes.vocabulary
    shape = (len(scenes.pair_human), len(words.verbs))
    dense, actions = np.zeros(shape), np.zeros(shape)
    for row, (pair, verb) in enumerate(zip(scenes.triplet_pair, scenes.triplet_verb, strict=True)):
        dense[pair, verb] = max(dense[pair, verb], scenes.scores[row])
        assert scenes.triplet_action_score is not None
        actions[pair, verb] = max(actions[pair, verb], scenes.triplet_action_score[row])
    triplets: list[tuple[int, int]] = []
    for image in range(len(scenes)):
        cells = [
            (pair, verb)
            for pair in np.flatnonzero(scenes.pair_image == image).tolist()
            for verb in np.flatnonzero(words.class_of[scenes.pair_label[pair]] >= 0).tolist()
        ]
        triplets += sorted(cells, key=lambda cell: -dense[cell])[:TOP]
    pair, verb = np.array(triplets, dtype=np.int64).reshape(-1, 2).T
    real = np.arange(shape[1]) != words.no_interaction
    return replace(
        scenes,
        pair_score=dense[:, real].max(axis=1),
        triplet_pair=pair,
        triplet_verb=verb,
        triplet_score=dense[pair, verb],
        triplet_action_score=actions[pair, verb],
        top=TOP,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@few
@given(problem=problems(max_images=3))
def test_dense_arrays_hold_every_score_of_every_pair(name, problem, data, paths) -> None:
    truth, found = map(data[name].translated, problem)
    path = paths("dense.pkl")
    for scenes in (found, completed(found)):
        write_dense_arrays(path, scenes)
        read = read_predictions(path, dataset=scenes.vocabulary)
        assert_stays((truth, completed(scenes)), (truth, read), paths)


v_coco_scenes = v_coco.problems().map(
    lambda problem: (v_coco.annotations(problem[0]), v_coco.predictions(problem[1]))
)
some_annotated = v_coco_scenes.filter(lambda scenes: len(scenes[0].triplet_pair) > 0)


@given(problem=some_annotated)
def test_columnar_files_of_v_coco_hold_everything(problem, paths) -> None:
    read = converted(problem[0], paths("gt.npz")), converted(problem[1], paths("preds.npz"))
    assert figures(*read) == figures(*problem)


@given(problem=some_annotated)
def test_triplet_lists_of_v_coco_hold_all_but_who_is_ignored(problem, paths) -> None:
    truth = replace(pairs_once(problem[0]), box_ignored=None)
    read = through_lists(truth, paths), through_lists(problem[1], paths)
    assert_stays((truth, problem[1]), read, paths)


TIED = (
    [
        {
            "people": [
                {"box": (0, 0, 9, 9), "doing": {"stand": []}, "ignored": False},
                {"box": (0, 0, 9, 20), "doing": {"hold": [0]}, "ignored": False},
            ],
            "things": [],
        }
    ],
    [
        [
            {"box": (0, 0, 9, 9), "scores": {"stand agent": (None, 0.25)}},
            {
                "box": (0, 0, 9, 20),
                "scores": {
                    "hold agent": (None, 0.25),
                    "hold obj": ((0, 5, 9, 14), 0.25),
                    "stand agent": (None, 0.25),
                    "cut obj": (None, 0.25),
                },
            },
        ]
    ],
)


@given(problem=some_annotated)
@example(problem=(v_coco.annotations(TIED[0]), v_coco.predictions(TIED[1])))
def test_dense_arrays_of_v_coco_list_their_pairs(problem, paths) -> None:
    truth, found = problem
    path = paths("dense.pkl")
    write_dense_arrays(path, found)
    read = read_predictions(path, dataset="v-coco")
    # The score of a pair is the best of its roles, which it is for pairs of triplets too. The
    # arrays hold the triplets pair by pair and verb by verb, and equal scores keep that order.
    order = np.lexsort((found.triplet_verb, found.triplet_pair))
    listed = replace(
        found,
        pair_score=_best_roles(found),
        **{
            name: getattr(found, name)[order]
            for name in ("triplet_pair", "triplet_verb", "triplet_score", "triplet_action_score")
        },
    )
    assert_stays((truth, listed), (truth, read), paths)


def pairs_once(scenes: Scenes) -> Scenes:
    """Give every pair one row, which all its triplets share, as readers do."""
    pairs: dict[Any, int] = {}
    rows = zip(scenes.pair_human.tolist(), scenes.pair_object.tolist(), strict=True)
    number = np.array([pairs.setdefault(pair, len(pairs)) for pair in rows], dtype=np.int64)
    human, thing = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    return replace(
        scenes, pair_human=human, pair_object=thing, triplet_pair=number[scenes.triplet_pair]
    )


def _best_roles(scenes: Scenes) -> Any:
    best = np.where(scenes.pair_object < 0, np.nan, 0.0)
    for pair, score in zip(scenes.triplet_pair, scenes.scores, strict=True):
        best[pair] = max(best[pair], score) if scenes.pair_object[pair] >= 0 else np.nan
    return best


def official(scenes: Scenes) -> Scenes:
    """Give predictions what the official layout makes of them.

    It has one dict for a person: equal role boxes in it are one box. There are no scores of the
    verb alone; that of the agent stands in, where it is predicted.
    """
    things: dict[Any, int] = {}
    thing_of = [-1] * len(scenes.pair_human)
    for pair in np.flatnonzero(scenes.pair_object >= 0).tolist():
        human, thing = int(scenes.pair_human[pair]), int(scenes.pair_object[pair])
        box = tuple(scenes.box_xyxy[thing].tolist())
        thing_of[pair] = things.setdefault((human, box), thing)
    person = scenes.pair_human[scenes.triplet_pair].tolist()
    actions = [scenes.vocabulary.verbs[verb].rsplit(" ", 1) for verb in scenes.triplet_verb]
    rows = list(zip(person, actions, scenes.scores.tolist(), strict=True))
    agents = {(human, name): score for human, (name, role), score in rows if role == "agent"}
    alone = [agents.get((human, name), score) for human, (name, _), score in rows]
    return pairs_once(
        replace(
            scenes,
            pair_object=np.array(thing_of, dtype=np.int64),
            triplet_action_score=np.array(alone, dtype=float),
        )
    )


@given(problem=some_annotated)
def test_the_official_layout_of_v_coco_holds_every_figure(problem, paths) -> None:
    truth, found = problem[0], official(problem[1])
    path = paths("official.pkl")
    write_v_coco(path, found)
    read = read_predictions(path, dataset="v-coco")
    assert_stays((truth, found), (truth, read), paths)


@given(problem=some_annotated, scores=st.data())
def test_pair_lists_of_v_coco_hold_every_figure(problem, scores, paths) -> None:
    truth, found = problem[0], official(problem[1])
    drawn = st.lists(st.sampled_from([0.25, 0.5, 0.75]), min_size=len(found.pair_human))
    score = np.array(scores.draw(drawn), dtype=float)[: len(found.pair_human)]
    found = replace(found, pair_score=np.where(found.pair_object < 0, np.nan, score))
    triplets, pairs = paths("official.pkl"), paths("pairs.pkl")
    write_v_coco(triplets, found)
    write_pair_lists(pairs, found)
    read = read_predictions(triplets, pairs=pairs, dataset="v-coco")
    assert_stays((truth, found), (truth, read), paths)


def test_simulated_v_coco_is_what_is_read(paths: Paths) -> None:
    random = np.random.default_rng(0)
    truth = replace(simulate.v_coco_annotations(20, random), box_ignored=None)
    found = simulate.v_coco_detect(truth, random)
    path = paths("simulated.pkl")
    write_triplet_lists(path, truth)
    read = read_annotations(path, dataset="v-coco")
    assert figures(read, found) == figures(truth, found)
