"""Judges of candidates, and the filter of negatives: judges in turn, in the order of the paper.

Section 2.2 of the paper (002). The first judge groups the candidates: those that it calls
inconsistent with the picture are retained. The second confirms them: what it calls negative is
accepted. What it calls positive may just be hard for it; leaving that out would make the benchmark
easy for this model, so a third judge decides on these. Judges that see words alone rule out in the
first stage what they call consistent. A candidate becomes a negative only where judges say so,
never because they say nothing.

In the paper all judges are language models that see the picture
(:mod:`diaghoi.choice.model_judge`). A judge can also be a file of verdicts
(:mod:`diaghoi.choice.verdict_files`) or look at no picture.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from diaghoi.choice.candidates import ImageTargets, Target, Verdicts
from diaghoi.choice.classes import NO_INTERACTION, Interaction, normalised, time_sensitive_classes
from diaghoi.choice.verdict_files import read_verdicts
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.language.endpoint import Endpoint, read_endpoints
from diaghoi.semantic.tables.similarity import Similarity, fit, read_similarity

THRESHOLD = 0.5
STAGES = 3
"""Maximum number of judges that see pictures."""
TIME_SENSITIVE, SIMILARITY, OPTION = "time-sensitive", "similarity:", "--judge"
Candidates = tuple[Interaction, ...]


class Judge(Protocol):
    """Separates candidates that are consistent with a picture from those that are not."""

    @property
    def name(self) -> str:
        """Name for tables and files."""

    @property
    def sees_pictures(self) -> bool:
        """Whether it sees the picture, and not words alone."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for readers of the benchmark, complete when it is done."""

    def judge(self, asked: Sequence[Target]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RuleJudge:
    """Gives the verdicts of a rule.

    Parameters
    ----------
    name : str
        Name for tables and files.
    rule : callable
        ``(target, candidate) -> verdict``, None where it cannot say.
    sees_pictures : bool
        Whether the rule goes by the picture, and not words alone.
    notes : tuple of str
        Remarks for readers of the benchmark.
    """

    name: str
    rule: Callable[[Target, Interaction], bool | None]
    sees_pictures: bool = False
    notes: tuple[str, ...] = ()

    def judge(self, asked: Sequence[Target]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target."""
        return [
            {
                each: verdict
                for each in target.candidates
                if (verdict := self.rule(target, each)) is not None
            }
            for target in asked
        ]


def time_sensitive_judge() -> RuleJudge:
    """Make a judge that calls all 68 classes of appendix A consistent with any picture.

    Counterparts of annotated classes are never candidates; this judge also rules out the classes
    whose counterpart is not annotated, or not a class: ``open`` of a refrigerator.
    """
    listed = time_sensitive_classes()
    return RuleJudge(name=TIME_SENSITIVE, rule=lambda target, each: normalised(each) in listed)


def similarity_judge(
    table: Similarity, image_targets: Iterable[ImageTargets], threshold: float = THRESHOLD
) -> RuleJudge:
    """Make a judge that calls candidates consistent that mean nearly the same as an annotated one.

    Parameters
    ----------
    table : Similarity
        Table of verbs.
    image_targets : iterable of ImageTargets
        The table is fitted to their verbs.
    threshold : float
        The similarity in [0, 1] from which two actions on the same object can be the same.
    """
    targets = [each for image in image_targets for each in (image.scene, *image.people)]
    named = {each.verb for one in targets for each in (*one.candidates, *one.annotated)}
    verbs = sorted(named - {NO_INTERACTION})
    fitted = fit(table, [verb.replace("_", " ") for verb in verbs])
    missing = [verb.replace(" ", "_") for verb in fitted.missing]
    row = {verb: number for number, verb in enumerate(verbs)}
    notes = table.notes
    if missing:
        notes += (
            f"{table.source or table.name}: does not have {len(missing)} of {len(verbs)} "
            f"verbs, which then are no negatives: {some_of(missing)}",
        )

    def near(target: Target, candidate: Interaction) -> bool | None:
        """Whether a candidate is near something annotated; "no interaction" never is."""
        if candidate.verb in missing:
            return None
        done = [
            row[each.verb]
            for each in target.annotated
            if each.object == candidate.object and each.verb != NO_INTERACTION
        ]
        if candidate.verb == NO_INTERACTION or not done:
            return False
        verb = np.full(len(done), row[candidate.verb], dtype=np.int64)
        values = fitted.similarity.at(verb, np.array(done, dtype=np.int64))
        return bool(values.max() >= threshold)

    return RuleJudge(name=f"similarity:{table.name}", rule=near, notes=notes)


def file_judge(
    path: Path, image_targets: Sequence[ImageTargets], vocabulary: Vocabulary, origin: int = 0
) -> RuleJudge:
    """Make a judge that gives the verdicts of a file, and none on the rest.

    Parameters and errors are those of :func:`diaghoi.choice.verdict_files.read_verdicts`.
    """
    verdicts, notes = read_verdicts(path, image_targets, vocabulary, origin)

    def verdict(target: Target, candidate: Interaction) -> bool | None:
        name = normalised(candidate)
        # A verdict on the person comes before one on the image.
        on_image = verdicts.get((target.image, None, name))
        return verdicts.get((target.image, target.person, name), on_image)

    return RuleJudge(name=str(path), rule=verdict, sees_pictures=True, notes=notes)


def read_models(texts: Sequence[str]) -> dict[str, Endpoint]:
    """Read the judges that are models, ``URL,MODEL`` or ``URL,MODEL,VARIABLE``, by their text.

    Raises
    ------
    InputError
        As :func:`diaghoi.language.endpoint.read_endpoints`.
    """
    models = [text for text in texts if "://" in text.split(",")[0]]
    return dict(zip(models, read_endpoints(models, OPTION), strict=True))


def judge_files(texts: Sequence[str], models: Collection[str]) -> list[Path]:
    """List the files that judges are read from, beside the models."""
    return [
        _similarity(text)[0] if text.startswith(SIMILARITY) else Path(text)
        for text in texts
        if text != TIME_SENSITIVE and text not in models
    ]


def read_judges(
    texts: Sequence[str],
    image_targets: Sequence[ImageTargets],
    vocabulary: Vocabulary,
    models: Mapping[str, Judge],
    *,
    origin: int = 0,
) -> list[Judge]:
    """Make judges from their names on the command line.

    Parameters
    ----------
    texts : sequence of str
        ``time-sensitive``, ``similarity:TABLE`` or ``similarity:TABLE,THRESHOLD``, the address of a
        model, or a file of verdicts.
    image_targets : sequence of ImageTargets
        The images that they judge.
    vocabulary : Vocabulary
        The data set.
    models : mapping of str to Judge
        The judges that are models, by their text.
    origin : {0, 1}
        Whether pixels of boxes in files of verdicts are counted from zero or one.

    Raises
    ------
    InputError
        For an unknown name, a judge that is named twice, and a file that cannot be used.
    """
    twice = next((text for text in texts if list(texts).count(text) > 1), None)
    if twice is not None:
        raise InputError(f"{OPTION} {twice}: is named twice; judges have to be independent")
    judges: list[Judge] = []
    for text in texts:
        if text == TIME_SENSITIVE:
            judges.append(time_sensitive_judge())
        elif text.startswith(SIMILARITY):
            path, threshold = _similarity(text)
            judges.append(similarity_judge(read_similarity(path), image_targets, threshold))
        elif text in models:
            judges.append(models[text])
        elif Path(text).exists():
            judges.append(file_judge(Path(text), image_targets, vocabulary, origin))
        else:
            raise InputError(
                f"{OPTION} {text!r:.100}: there is no such file"
                f"{close_matches(text, (TIME_SENSITIVE,))}; give a file of verdicts, URL,MODEL "
                f"of a model, {SIMILARITY}TABLE or {TIME_SENSITIVE}"
            )
    return judges


def _similarity(text: str) -> tuple[Path, float]:
    """Read ``similarity:TABLE`` or ``similarity:TABLE,THRESHOLD``."""
    # The name of a file may hold a comma itself: only a number after the last one is a threshold.
    name, comma, number = text.removeprefix(SIMILARITY).rpartition(",")
    if not comma:
        return Path(number), THRESHOLD
    try:
        threshold = float(number)
    except ValueError:
        return Path(text.removeprefix(SIMILARITY)), THRESHOLD
    if not 0 < threshold <= 1:
        raise InputError(f"{OPTION} {text!r:.100}: the threshold must be above 0 and at most 1")
    return Path(name), threshold


@dataclass(frozen=True, kw_only=True)
class JudgeRecord:
    """What one judge said.

    Parameters
    ----------
    judge : str
        Name of the judge.
    part : {"rules out", "groups", "confirms", "decides"}
        Its role in the filter.
    asked : int
        Number of candidates that it was asked about.
    verdicts : tuple of dict
        The verdicts on each target.
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


@dataclass(frozen=True, kw_only=True)
class Screened:
    """The outcome of the filter.

    Parameters
    ----------
    targets : tuple of Target
        The targets of the questions.
    negatives : tuple of tuple of Interaction
        The candidates of each target that are negatives, in the order of the candidates.
    records : tuple of JudgeRecord
        One for each judge, in the order in which they were asked.
    """

    targets: tuple[Target, ...]
    negatives: tuple[Candidates, ...]
    records: tuple[JudgeRecord, ...]


def check_judges(judges: Sequence[Judge]) -> None:
    """Refuse judges that the filter has no role for.

    Raises
    ------
    InputError
        Where there is none, or more than three see pictures.
    """
    if not judges:
        raise InputError(
            "annotations do not mark all that people do; give at least one --judge to say which "
            "other actions are not there"
        )
    seeing = [judge.name for judge in judges if judge.sees_pictures]
    if len(seeing) > STAGES:
        raise InputError(
            f"{len(seeing)} judges that go by pictures; give at most {STAGES}: one that groups "
            "the candidates, one that confirms the negatives, and one for those it does not"
        )


def screen(
    targets: Sequence[Target],
    judges: Sequence[Judge],
    *,
    progress: Callable[[str, int], Any] = lambda judge, candidates: None,
) -> Screened:
    """Let judges decide which candidates are negatives.

    Parameters
    ----------
    targets : sequence of Target
        Targets with their candidates.
    judges : sequence of Judge
        In the order of the stages.
    progress : callable
        Called with the name of each judge and the number of candidates before it is asked.

    Raises
    ------
    InputError
        As :func:`check_judges`, or as a judge.
    """
    check_judges(judges)
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
    seeing = [judge for judge in judges if judge.sees_pictures]
    if seeing:
        left = refuted(seeing[0], "groups", left)
    if len(seeing) > 1:
        confirmed = refuted(seeing[1], "confirms", left)
        if len(seeing) > 2:
            # The third judge is asked only about what the second did not confirm.
            pairs = list(zip(left, confirmed, strict=True))
            doubted = [tuple(each for each in of if each not in sure) for of, sure in pairs]
            decided = refuted(seeing[2], "decides", doubted)
            confirmed = [
                tuple(each for each in of if each in sure or each in more)
                for (of, sure), more in zip(pairs, decided, strict=True)
            ]
        left = confirmed
    return Screened(targets=tuple(targets), negatives=tuple(left), records=tuple(records))
