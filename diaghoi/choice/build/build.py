"""Multiple-choice questions from any annotated HOI data set.

The construction of section 2.2 and the settings of section 2.3 of the paper (002). As there,
there is one question per image: on the whole scene (setting 1), and on one of its annotated people,
drawn by the seed (settings 2 and 3). All settings use the same images. An image is left out, and
counted, where one of its questions has fewer than four options; the paper leaves out 320 of the
9,658 images of HICO-DET and does not say why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from diaghoi.choice.build.candidates import ImageTargets, Target
from diaghoi.choice.build.judges import Judge
from diaghoi.choice.build.options import OPTIONS, options_of
from diaghoi.choice.build.screening import Screened, screen
from diaghoi.choice.joining import check_named
from diaghoi.choice.questions import FIRST, NAMES, Box, Question
from diaghoi.data.arrays import seeded
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, v_coco_images
from diaghoi.exceptions import InputError

SETTINGS = ("setting_1", "setting_2", "setting_3")
"""The scene; a person whose box is given; a person who has to be found first."""
NOTHING, POOL, FEW = "not_annotated", "few_actions", "few_negatives"
REASONS = {
    NOTHING: "no annotated interaction with an object",
    POOL: "too few other actions of the objects",
    FEW: "too few negatives by the judges",
}
"""Why images are left out."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ChoiceBenchmark:
    """Questions made of annotations, and the images that were left out.

    Parameters
    ----------
    dataset : str
        Name of the data set.
    origin : {0, 1}
        Whether pixels of boxes in questions are counted from zero or one.
    seed : int
        Seed by which people and options were drawn.
    image_targets : tuple of ImageTargets
        The images with questions.
    scenes : tuple of Question
        The question on the whole of each image.
    people : tuple of Question
        The questions on people.
    screened : Screened
        The verdicts of the judges, including those on images that were left out later.
    left_out : dict of str to tuple of str
        Images without questions, by the reasons of :data:`REASONS`.
    people_left_out : int
        People with too few negatives in images with questions.
    notes : tuple of str
        Remarks for readers of the benchmark.
    people_by : str
        What says which images are multi-person.
    """

    dataset: str
    origin: int
    seed: int
    image_targets: tuple[ImageTargets, ...]
    scenes: tuple[Question, ...]
    people: tuple[Question, ...]
    screened: Screened
    left_out: dict[str, tuple[str, ...]]
    people_left_out: int
    notes: tuple[str, ...]
    people_by: str = "annotations"

    @property
    def people_by_image(self) -> dict[str, str]:
        """``single`` or ``multi`` by image, as ``choice score --people`` reads it."""
        return {
            question.image: "multi" if each.multi_person else "single"
            for question, each in zip(self.scenes, self.image_targets, strict=True)
        }

    def of_setting(self, setting: str) -> tuple[Question, ...]:
        """Return the questions of a setting.

        Settings 2 and 3 share their questions: in setting 3 the box is not shown, but is what a
        detected person has to overlap.
        """
        return self.scenes if setting == SETTINGS[0] else self.people

    def to_dict(self) -> dict[str, Any]:
        """Count questions, right options, verdicts and what was left out."""
        people = Counter(self.people_by_image.values())
        return {
            "dataset": self.dataset,
            "seed": self.seed,
            "images": len(self.image_targets),
            "single": people["single"],
            "multi": people["multi"],
            "people_by": self.people_by,
            "questions": {setting: len(self.of_setting(setting)) for setting in SETTINGS},
            "right_options": {
                setting: _histogram(self.of_setting(setting)) for setting in SETTINGS
            },
            "left_out": {
                reason: {"images": len(names), "first": list(names[:5])}
                for reason, names in self.left_out.items()
            },
            "people_left_out": self.people_left_out,
            "judges": [record.to_dict() for record in self.screened.records],
            "notes": list(self.notes),
        }


def _histogram(questions: Sequence[Question]) -> dict[str, int]:
    """Count questions by their number of right options."""
    counts = Counter(len(each.right) for each in questions)
    return {str(number): counts[number] for number in range(1, OPTIONS + 1)}


def build_benchmark(
    annotations: Scenes,
    image_targets: Sequence[ImageTargets],
    judges: Sequence[Judge],
    *,
    seed: int = 0,
    all_people: bool = False,
    progress: Callable[[str, int], Any] = lambda judge, candidates: None,
) -> ChoiceBenchmark:
    """Make questions from annotations.

    Parameters
    ----------
    annotations : Scenes
        Annotations of any data set.
    image_targets : sequence of ImageTargets
        What :func:`diaghoi.choice.build.candidates.targets_in_images` found in them.
    judges : sequence of Judge
        As in :func:`diaghoi.choice.build.screening.screen`.
    seed : int
        Decides, independently for each image, which person is asked about and which options are
        shown.
    all_people : bool
        Whether to ask about every annotated person, as the published questions on V-COCO do.
    progress : callable
        As in :func:`diaghoi.choice.build.screening.screen`.

    Raises
    ------
    InputError
        For images without names, unsuitable judges, and where no question can be made.
    """
    check_named(annotations)
    asked = drawn_targets(image_targets, seed=seed, all_people=all_people)
    targets = [target for found in asked.values() for target in found]
    screened = screen(targets, judges, progress=progress)
    made = _made(screened, seed, annotations.vocabulary)
    kept, scenes, people, lost = [], [], [], 0
    left_out = {
        NOTHING: [name for name in annotations.names.tolist() if name not in asked],
        POOL: [image for image, found in asked.items() if not found],
        FEW: [],
    }
    for subject in image_targets:
        # The first question is that on the scene: an image needs it and one on a person.
        scene, *others = made.get(subject.image, [None])
        answerable = [each for each in others if each is not None]
        if scene is not None and answerable:
            kept.append(subject)
            scenes.append(scene)
            people += [replace(each, name=f"QA_{number}") for number, each in enumerate(answerable)]
            lost += others.count(None)
        elif asked[subject.image]:
            left_out[FEW].append(subject.image)
    _check(annotations, kept, left_out)
    return ChoiceBenchmark(
        dataset=annotations.vocabulary.name,
        origin=origin_of(annotations.vocabulary),
        seed=seed,
        image_targets=tuple(kept),
        scenes=tuple(scenes),
        people=tuple(people),
        screened=screened,
        left_out={reason: tuple(names) for reason, names in left_out.items()},
        people_left_out=lost,
        notes=tuple(_notes(annotations, scenes, judges)),
    )


def drawn_targets(
    image_targets: Sequence[ImageTargets], *, seed: int = 0, all_people: bool = False
) -> dict[str, list[Target]]:
    """Choose what is asked about in each image, the scene first.

    The list is empty where the objects have too few other actions. Targets that need no negatives
    get no candidates, so that judges are not asked about them.

    Parameters
    ----------
    image_targets : sequence of ImageTargets
        Targets of all images.
    seed : int
        Seed that draws the person of each image.
    all_people : bool
        Whether to ask about all people.
    """
    return {each.image: _drawn(each, seed, all_people) for each in image_targets}


def _drawn(subject: ImageTargets, seed: int, all_people: bool) -> list[Target]:
    people = subject.people
    if not all_people:
        rng = seeded(seed, "person", subject.image)
        people = (people[int(rng.integers(len(people)))],)
    possible = [
        each if len(each.right) < OPTIONS else replace(each, candidates=())
        for each in (subject.scene, *people)
        if len(each.right) + len(each.candidates) >= OPTIONS
    ]
    return possible if len(possible) > 1 and possible[0].person is None else []


def _made(
    screened: Screened, seed: int, vocabulary: Vocabulary
) -> dict[str, list[Question | None]]:
    """Make the question of each target, by image; None where there are too few negatives."""
    made: dict[str, list[Question | None]] = {}
    for target, negatives in zip(screened.targets, screened.negatives, strict=True):
        options = options_of(target, negatives, seed=seed)
        question = None
        if options is not None:
            question = Question(
                image=published_name(target.image, vocabulary),
                name=FIRST,
                right=options[0],
                wrong=options[1],
                human=_shifted(target.box, origin_of(vocabulary)),
            )
        made.setdefault(target.image, []).append(question)
    return made


def origin_of(vocabulary: Vocabulary) -> int:
    """Return the number of the first pixel in questions: 1 on HICO-DET, as annotated, else 0."""
    return 1 if vocabulary.name == "hico-det" else 0


def _shifted(box: Box | None, shift: int) -> Box | None:
    if box is None:
        return None
    x1, y1, x2, y2 = (side + shift for side in box)
    return x1, y1, x2, y2


def published_name(image: str, vocabulary: Vocabulary) -> str:
    """Name an image as questions do: images of V-COCO, numbers here, have the names of COCO."""
    if vocabulary.name != "v-coco" or not image.isdecimal():
        return image
    split = "val2014" if image in v_coco_images()["test"] else "train2014"
    return f"COCO_{split}_{image.zfill(12)}.jpg"


def _check(
    annotations: Scenes, kept: Sequence[ImageTargets], left_out: Mapping[str, Sequence[str]]
) -> None:
    if not kept:
        why = "; ".join(
            f"{len(names)} images have {REASONS[reason]}"
            for reason, names in left_out.items()
            if names
        )
        raise InputError(
            f"{annotations.source}: no question with {OPTIONS} options can be made: {why}"
        )


def _notes(
    annotations: Scenes, scenes: Sequence[Question], judges: Sequence[Judge]
) -> Iterator[str]:
    yield from annotations.notes
    for judge in judges:
        yield from judge.notes
    vocabulary = annotations.vocabulary
    named = {name for start, name in NAMES.items() if scenes[0].image.startswith(start)}
    if vocabulary.name not in named and vocabulary.name != "swig-hoi":
        what = (
            f"--dataset {vocabulary.name}" if vocabulary.known else "--dataset and its description"
        )
        yield (
            f"images like {scenes[0].image} do not tell the data set; give {what} where these "
            "questions are scored"
        )
