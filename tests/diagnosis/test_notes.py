"""What is missing is counted, named and shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.scenes import BICYCLE, EAT, HOLD, NO_INTERACTION, PERSON, RIDE, image, scenes

from diaghoi import diagnose, simulate
from diaghoi.data.vocabulary import hico_det
from diaghoi.diagnosis.inspection import inspect

BOXES = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
NO_PAIR_FILE = "no pair file: the predicted pairs come from the triplets"
ONLY_REAL = (
    "the annotations contain no triplets of `no_interaction`: the official means run over the 1 "
    "annotated ones of the 520 classes of real interactions"
)


def annotated(*names: str, verbs: tuple[int, ...] = (RIDE,)):
    return scenes(
        [image(name, BOXES, [(0, 1, verb) for verb in verbs]) for name in names], scored=False
    )


def predicted(*names: str, verbs: tuple[int, ...] = (RIDE,), **more):
    triplets = [(0, 1, verb, 0.5, 0.5) for verb in verbs]
    return scenes([image(name, BOXES, triplets, **more) for name in names], scored=True)


def test_usual_notes() -> None:
    assert diagnose(annotated("a"), predicted("a")).notes == (NO_PAIR_FILE, ONLY_REAL)


def test_listed_pairs_need_no_note() -> None:
    with_pairs = predicted("a", pairs=[(0, 1, 0.5)])
    assert diagnose(annotated("a"), with_pairs).notes == (ONLY_REAL,)


def test_missing_images_are_named_up_to_five() -> None:
    truth = annotated(*(f"{n}.jpg" for n in range(8)))
    notes = diagnose(truth, predicted("0.jpg", "x.jpg", "y.jpg")).notes
    assert notes[0] == (
        "7 annotated images are not in the prediction file; their annotations count as not found: "
        "1.jpg, 2.jpg, 3.jpg, 4.jpg, 5.jpg and 2 more"
    )
    assert notes[1] == (
        "2 predicted images are not in the annotation file; their predictions are false positives: "
        "x.jpg, y.jpg"
    )


def test_images_left_empty_are_named() -> None:
    truth = annotated("0.jpg", "1.jpg", "2.jpg")
    found = scenes(
        [
            image("0.jpg", BOXES, [(0, 1, RIDE, 0.5, 0.5)]),
            image("1.jpg", BOXES, []),
            image("2.jpg", [], []),
            image("3.jpg", [], []),
        ],
        scored=True,
    )
    notes = diagnose(truth, found).notes
    assert notes[0] == (
        "2 images without any predicted triplet, although triplets are annotated there; the "
        "annotated triplets count as not found: 1.jpg, 2.jpg"
    )
    whole = diagnose(truth.take([0]), found.take([0])) + diagnose(truth.take([1]), found.take([1]))
    assert whole.notes[0].startswith("1 image without any predicted triplet")


def test_images_in_which_nobody_interacts_may_be_left_empty() -> None:
    truth = scenes(
        [
            image("0.jpg", BOXES, [(0, 1, RIDE)]),
            image("1.jpg", BOXES, [(0, 1, NO_INTERACTION)]),
        ],
        scored=False,
    )
    found = scenes(
        [image("0.jpg", BOXES, [(0, 1, RIDE, 0.5, 0.5)]), image("1.jpg", [], [])], scored=True
    )
    assert not any("without any predicted" in note for note in diagnose(truth, found).notes)
    assert not any("hold no triplet" in each for each in inspect(found, truth).warnings)


def test_triplets_that_are_no_class() -> None:
    notes = diagnose(
        annotated("a", verbs=(RIDE, EAT)), predicted("a", verbs=(RIDE, EAT, EAT))
    ).notes
    for count, side in ((1, "annotated"), (2, "predicted")):
        assert (
            f"{count} {side} triplets are left out because their object and verb form no HOI class "
            "of hico-det"
        ) in notes


def test_no_action_scores() -> None:
    bare = replace(predicted("a"), triplet_action_score=None)
    notes = diagnose(annotated("a"), bare).notes
    assert "the file has no action scores: negatives and actions are undefined" in notes


def test_no_interaction_triplets() -> None:
    both = (RIDE, NO_INTERACTION)
    without = diagnose(annotated("a", verbs=both), predicted("a")).notes
    assert without[-1] == (
        "the predictions contain no triplets of `no_interaction`: the classes of "
        "`no_interaction` count as AP 0 in the official means"
    )
    assert diagnose(annotated("a", verbs=both), predicted("a", verbs=both)).notes == (NO_PAIR_FILE,)


def test_notes_of_the_readers_come_first() -> None:
    truth = replace(annotated("a"), notes=("from the file", "twice"))
    found = replace(predicted("a"), notes=("twice",))
    assert diagnose(truth, found).notes[:3] == ("from the file", "twice", NO_PAIR_FILE)


def test_the_official_mean_counts_its_own_classes() -> None:
    verbs = (RIDE, RIDE, NO_INTERACTION)
    counts = diagnose(annotated("a", verbs=verbs), predicted("a")).counts
    assert counts["classes_in_mean"] == {"full": 1, "rare": 0, "non_rare": 1}
    assert counts["classes_in_official"]["full"] == 2


def test_a_data_set_without_no_interaction() -> None:
    diagnosis = diagnose(annotated("a"), predicted("a"))
    every_class = replace(diagnosis.vocabulary, no_interaction=-1)
    assert replace(diagnosis, vocabulary=every_class).notes == (NO_PAIR_FILE,)


def test_groups_of_classes_with_few_triplets_are_named() -> None:
    truth, words = simulate.annotations(60, np.random.default_rng(0)), hico_det()
    found = simulate.detect(truth, simulate.WEAK, np.random.default_rng(1))
    result = diagnose(truth, found)
    rare = words.rare[truth.triplet_class] & words.interacting[truth.triplet_class]
    per_class = np.bincount(truth.triplet_class[rare])
    (note,) = [each for each in result.notes if "decide these means" in each]
    assert note.startswith(
        f"Rare: {(per_class > 0).sum()} classes with {rare.sum()} annotated triplets; "
        f"{(per_class == 1).sum()} classes with a single triplet: "
    )
    classes = np.unique(truth.triplet_class[words.interacting[truth.triplet_class]])
    assert result.counts["classes_in_mean"]["full"] == len(classes)


def test_classes_that_a_repair_leaves_without_annotations_are_counted() -> None:
    boxes = [(PERSON, (0, 0, 9, 19)), (BICYCLE, (10, 10, 29, 29))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE), (0, 1, HOLD)])], scored=False)
    found = scenes([image("a.jpg", boxes, [(0, 1, RIDE, 0.9)])], scored=True)
    counts = diagnose(truth, found).counts
    assert counts["classes_in_mean"]["full"] == 2
    one = {"full": 1, "rare": 0, "non_rare": 1}
    assert counts["leave_mean"] == {"missed_gt": one, "false_negative": one}
    assert counts["leave_mean_by_pair"] == {"missed_gt": one}
