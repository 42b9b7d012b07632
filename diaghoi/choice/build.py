"""Build multiple-choice questions from any annotated HOI data set.

The construction follows section 2.2 of the CrossHOI-Bench paper, and the settings follow section
2.3. As in the paper, each image has one question on the whole scene (setting 1), and one on an
annotated person drawn with the seed (settings 2 and 3). All settings use the same images. If one of
the questions on an image has fewer than four options, the image is omitted and counted. The paper
omits 320 of the 9,658 HICO-DET images without giving a reason.

Every question has four options; the annotated interactions are right. As in the published
questions, more than four annotated interactions are reduced to a sample of four; no option is then
wrong. The evaluation shuffles the options, so the order of options in a question does not matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diaghoi.choice.candidates import ImageTargets, Target, Verdicts
from diaghoi.choice.classes import Interaction, option_text
from diaghoi.choice.judges import Judge
from diaghoi.choice.questions import FIRST, NAMES, Question, check_named, origin_of, shifted
from diaghoi.data.arrays import seeded
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, v_coco_images
from diaghoi.exceptions import InputError

OPTIONS = 4
STAGES = 3
"""Maximum number of judges that see pictures."""
Candidates = tuple[Interaction, ...]
SETTINGS = ("setting_1", "setting_2", "setting_3")
"""The settings: the scene; a person with a given box; a person who must be found first."""
REASONS = {
    "not_annotated": "no annotated interaction with an object",
    "few_actions": "too few other actions that the objects allow",
    "few_negatives": "too few negatives by the judges",
}
"""Reasons for omitting images."""


@dataclass(frozen=True, kw_only=True)
class JudgeRecord:
    """A judge's verdicts on each target, its role in the filter, and the number of its questions.

    The role is one of "rules out", "groups", "confirms" and "decides".
    """

    judge: str
    part: str
    asked: int
    verdicts: tuple[Verdicts, ...]

    def to_dict(self) -> dict[str, Any]:
        """Count candidates: ``asked``, ``consistent``, ``inconsistent`` and ``silent``."""
        said = [verdict for verdicts in self.verdicts for verdict in verdicts.values()]
        return {
            "judge": self.judge,
            "part": self.part,
            "asked": self.asked,
            "consistent": said.count(True),
            "inconsistent": said.count(False),
            "silent": self.asked - len(said),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class ChoiceBenchmark:
    """Questions built from annotations, and the images that were omitted.

    Parameters
    ----------
    dataset, seed : str, int
        Name of the data set, and the seed for drawing people and options.
    image_targets : tuple of ImageTargets
        The images with questions.
    scenes, people : tuple of Question
        The question on each whole image, and the questions on people.
    targets, negatives : tuple of Target, tuple of tuple of Interaction
        Targets of the judges, including images omitted later, and the negative candidates of each
        target.
    records : tuple of JudgeRecord
        Verdicts of each judge on these targets.
    left_out, people_left_out : dict of str to tuple of str, int
        Images without questions, by reason (:data:`REASONS`), and the number of people with too few
        negatives in other images.
    notes : tuple of str
        Remarks for readers of the benchmark.
    people_by : str
        Source of the multi-person images.
    """

    dataset: str
    seed: int
    image_targets: tuple[ImageTargets, ...]
    scenes: tuple[Question, ...]
    people: tuple[Question, ...]
    targets: tuple[Target, ...]
    negatives: tuple[Candidates, ...]
    records: tuple[JudgeRecord, ...]
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

        Settings 2 and 3 share their questions. Setting 3 does not show the person's box, but the
        found person must overlap that box.
        """
        return self.scenes if setting == SETTINGS[0] else self.people

    def to_dict(self) -> dict[str, Any]:
        """Count questions, right options, verdicts and omissions."""
        people = Counter(self.people_by_image.values())
        right = {
            setting: Counter(len(each.right) for each in self.of_setting(setting))
            for setting in SETTINGS
        }
        return {
            "dataset": self.dataset,
            "seed": self.seed,
            "images": len(self.image_targets),
            "single": people["single"],
            "multi": people["multi"],
            "people_by": self.people_by,
            "questions": {setting: len(self.of_setting(setting)) for setting in SETTINGS},
            "right_options": {
                setting: {str(number): counts[number] for number in range(1, OPTIONS + 1)}
                for setting, counts in right.items()
            },
            "left_out": {
                reason: {"images": len(names), "first": list(names[:5])}
                for reason, names in self.left_out.items()
            },
            "people_left_out": self.people_left_out,
            "judges": [record.to_dict() for record in self.records],
            "notes": list(self.notes),
        }


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
    annotations, image_targets : Scenes, sequence of ImageTargets
        Annotations of any data set, and their targets from
        :func:`diaghoi.choice.candidates.targets_in_images`.
    judges, progress
        As in :func:`screen`.
    seed : int
        Seed that decides, independently for each image, the person in question and the options.
    all_people : bool
        Whether to ask about every annotated person, as the published questions on V-COCO do.

    Raises
    ------
    InputError
        If images have no names, judges are unsuitable, or no question can be made.
    """
    check_named(annotations)
    vocabulary = annotations.vocabulary
    asked = drawn_targets(image_targets, seed=seed, all_people=all_people)
    targets = [target for of_image in asked.values() for target in of_image]
    negatives, records = screen(targets, judges, progress=progress)
    made: dict[str, list[Question | None]] = defaultdict(list)
    for target, wrong in zip(targets, negatives, strict=True):
        made[target.image].append(_question(target, wrong, seed, vocabulary))
    kept, scenes, people, lost = [], [], [], 0
    nothing = [name for name in annotations.names.tolist() if name not in asked]
    few = [image for image, of_image in asked.items() if not of_image]
    judged: list[str] = []
    left_out = dict(zip(REASONS, (nothing, few, judged), strict=True))
    for image_target in image_targets:
        # The first question is about the scene; an image needs this question and one about a
        # person.
        scene, *others = made.get(image_target.image, [None])
        answerable = [each for each in others if each is not None]
        if scene is not None and answerable:
            kept.append(image_target)
            scenes.append(scene)
            people += [replace(each, name=f"QA_{number}") for number, each in enumerate(answerable)]
            lost += others.count(None)
        elif others:
            judged.append(image_target.image)
    if not kept:
        why = (f"{len(of)} images have {REASONS[reason]}" for reason, of in left_out.items() if of)
        raise InputError(
            f"{annotations.source}: no question with {OPTIONS} options can be built: "
            f"{'; '.join(why)}"
        )
    return ChoiceBenchmark(
        dataset=vocabulary.name,
        seed=seed,
        image_targets=tuple(kept),
        scenes=tuple(scenes),
        people=tuple(people),
        targets=tuple(targets),
        negatives=tuple(negatives),
        records=tuple(records),
        left_out={reason: tuple(names) for reason, names in left_out.items()},
        people_left_out=lost,
        notes=tuple(_notes(annotations, scenes, judges)),
    )


def screen(
    targets: Sequence[Target],
    judges: Sequence[Judge],
    *,
    progress: Callable[[str, int], Any] = lambda judge, candidates: None,
) -> tuple[list[Candidates], list[JudgeRecord]]:
    """Let judges decide which candidates are negatives.

    The first judge that sees pictures groups the candidates, and keeps the candidates that it calls
    inconsistent with the picture. The second judge confirms the kept candidates: candidates that it
    calls negative are accepted. Candidates that the second judge calls positive may merely be hard
    for this judge. Without the hard candidates, the benchmark would be easy for the second judge's
    model, so a third judge decides on the hard candidates. First, judges that see only words rule
    out the candidates that they call consistent. A candidate becomes a negative only if judges say
    so, never because they say nothing.

    Parameters
    ----------
    targets : sequence of Target
        Targets with their candidates.
    judges : sequence of Judge
        Judges in the order of the stages.
    progress : callable
        Function called before each judge is asked, with the judge's name and number of candidates.

    Returns
    -------
    negatives : list of tuple of Interaction
        The negatives among the candidates of each target, in order.
    records : list of JudgeRecord
        Record of each judge, in the order of asking.

    Raises
    ------
    InputError
        If there is no judge, if more than three judges see pictures, or if a judge fails.
    """
    if not judges:
        raise InputError(
            "annotations do not include everything that people do; give at least one --judge to "
            "decide which other actions are absent"
        )
    seeing = [judge for judge in judges if judge.sees_pictures]
    if len(seeing) > STAGES:
        raise InputError(
            f"{len(seeing)} judges that see pictures; give at most {STAGES}: one to group the "
            "candidates, one to confirm the negatives, and one for the negatives that are not "
            "confirmed"
        )
    records: list[JudgeRecord] = []

    def refuted(judge: Judge, part: str, asked: Sequence[Candidates]) -> list[Candidates]:
        """Return the candidates that a judge calls inconsistent."""
        number = sum(map(len, asked))
        progress(judge.name, number)
        pairs = zip(targets, asked, strict=True)
        said = iter(judge.judge([replace(one, candidates=of) for one, of in pairs if of]))
        verdicts = tuple(next(said) if candidates else {} for candidates in asked)
        records.append(JudgeRecord(judge=judge.name, part=part, asked=number, verdicts=verdicts))
        return [
            tuple(each for each in candidates if of_target.get(each) is False)
            for candidates, of_target in zip(asked, verdicts, strict=True)
        ]

    left = [each.candidates for each in targets]
    for judge in judges:
        if not judge.sees_pictures:
            left = refuted(judge, "rules out", left)
    before = left
    for judge, part in zip(seeing, ("groups", "confirms"), strict=False):
        before, left = left, refuted(judge, part, left)
    if len(seeing) == STAGES:
        # The third judge sees only the candidates that the second judge did not confirm.
        pairs = list(zip(before, left, strict=True))
        doubted = [tuple(each for each in of if each not in sure) for of, sure in pairs]
        decided = refuted(seeing[2], "decides", doubted)
        left = [
            tuple(each for each in of if each in sure or each in more)
            for (of, sure), more in zip(pairs, decided, strict=True)
        ]
    return left, records


def drawn_targets(
    image_targets: Sequence[ImageTargets], *, seed: int = 0, all_people: bool = False
) -> dict[str, list[Target]]:
    """Choose the targets of questions in each image, the scene first.

    An image gets an empty list if its objects have too few actions besides the annotated actions.
    Targets that need no negatives get no candidates, so judges do not see them. The seed determines
    the person of each image.
    """
    drawn = {}
    for each in image_targets:
        people = each.people
        if not all_people:
            rng = seeded(seed, "person", each.image)
            people = (people[int(rng.integers(len(people)))],)
        possible = [
            target if len(target.right) < OPTIONS else replace(target, candidates=())
            for target in (each.scene, *people)
            if len(target.right) + len(target.candidates) >= OPTIONS
        ]
        complete = len(possible) > 1 and possible[0].person is None
        drawn[each.image] = possible if complete else []
    return drawn


def _question(
    target: Target, negatives: Sequence[Interaction], seed: int, vocabulary: Vocabulary
) -> Question | None:
    """Create the question about a target; None if there are too few negatives."""
    options = options_of(target, negatives, seed=seed)
    if options is None:
        return None
    origin = origin_of(vocabulary.name)
    return Question(
        image=published_name(target.image, vocabulary),
        name=FIRST,
        right=options[0],
        wrong=options[1],
        human=None if target.box is None else shifted(target.box, origin),
    )


def options_of(
    target: Target, negatives: Sequence[Interaction], *, seed: int
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Draw the texts of the four options, right and wrong; None if there are fewer than four."""
    rng = seeded(seed, "options", target.image, target.person)
    right = _texts(target.right, OPTIONS, rng)
    missing = OPTIONS - len(right)
    return None if len(negatives) < missing else (right, _texts(negatives, missing, rng))


def _texts(
    interactions: Sequence[Interaction], number: int, rng: np.random.Generator
) -> tuple[str, ...]:
    """Draw at most ``number`` interactions, and return their texts in the original order."""
    if len(interactions) > number:
        places = rng.permutation(len(interactions))[:number].tolist()
        interactions = [interactions[place] for place in sorted(places)]
    return tuple(map(option_text, interactions))


def published_name(image: str, vocabulary: Vocabulary) -> str:
    """Return an image name as questions write it: V-COCO images get their COCO file names."""
    if vocabulary.name != "v-coco" or not image.isdecimal():
        return image
    split = "val2014" if image in v_coco_images()["test"] else "train2014"
    return f"COCO_{split}_{image.zfill(12)}.jpg"


def _notes(
    annotations: Scenes, scenes: Sequence[Question], judges: Sequence[Judge]
) -> Iterator[str]:
    yield from annotations.notes
    for judge in judges:
        yield from judge.notes
    vocabulary = annotations.vocabulary
    named = {name for start, name in NAMES.items() if scenes[0].image.startswith(start)}
    if vocabulary.name not in named and vocabulary.name != "swig-hoi":
        what = f" {vocabulary.name}" if vocabulary.known else " and its description"
        yield (
            f"image names like {scenes[0].image} do not reveal the data set; give --dataset{what} "
            "when scoring the questions"
        )
