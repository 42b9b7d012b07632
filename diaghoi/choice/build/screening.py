"""The filter of negatives: judges in turn, in the order of the paper.

Section 2.2 of the paper (002). The first judge groups the candidates: those that it calls
inconsistent with the picture are retained. The second confirms them: what it calls negative is
accepted. What it calls positive may just be hard for it; leaving that out would make the benchmark
easy for this model, so a third judge decides on these. Judges that see words alone rule out in the
first stage what they call consistent. A candidate becomes a negative only where judges say so,
never because they say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from diaghoi.choice.build.candidates import Target
from diaghoi.choice.build.judges import Judge, JudgeRequest, Verdicts
from diaghoi.choice.classes import Interaction
from diaghoi.exceptions import InputError

STAGES = 3
"""Maximum number of judges that see pictures."""


@dataclass(frozen=True, kw_only=True)
class JudgeRecord:
    """The candidates that one judge was asked about, and its verdicts.

    Parameters
    ----------
    judge : str
        Name of the judge.
    part : {"rules out", "groups", "confirms", "decides"}
        Its role in the filter.
    asked : tuple of tuple
        The candidates of each target that it was asked about.
    verdicts : tuple of dict
        The verdicts on each target.
    """

    judge: str
    part: str
    asked: tuple[tuple[Interaction, ...], ...]
    verdicts: tuple[Verdicts, ...]

    def to_dict(self) -> dict[str, Any]:
        """Count candidates: ``asked``, ``consistent``, ``inconsistent`` and ``silent``."""
        said = [
            verdicts.get(each)
            for candidates, verdicts in zip(self.asked, self.verdicts, strict=True)
            for each in candidates
        ]
        return {
            "judge": self.judge,
            "part": self.part,
            "asked": len(said),
            "consistent": said.count(True),
            "inconsistent": said.count(False),
            "silent": said.count(None),
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
    negatives: tuple[tuple[Interaction, ...], ...]
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
    left = [each.candidates for each in targets]
    records: list[JudgeRecord] = []

    def ask(judge: Judge, part: str, asked: list[tuple[Interaction, ...]]) -> JudgeRecord:
        progress(judge.name, sum(map(len, asked)))
        items = [JudgeRequest(*each) for each in zip(targets, asked, strict=True) if each[1]]
        said = iter(judge.judge(items))
        found = tuple(next(said) if candidates else {} for candidates in asked)
        record = JudgeRecord(judge=judge.name, part=part, asked=tuple(asked), verdicts=found)
        records.append(record)
        return record

    for judge in judges:
        if not judge.sees_pictures:
            left = _refuted(ask(judge, "rules out", left))
    seeing = [judge for judge in judges if judge.sees_pictures]
    if seeing:
        left = _refuted(ask(seeing[0], "groups", left))
    if len(seeing) > 1:
        confirmed = _refuted(ask(seeing[1], "confirms", left))
        # The third judge is asked only about what the second did not confirm.
        if len(seeing) > 2:
            doubted = [_less(*each) for each in zip(left, confirmed, strict=True)]
            decided = _refuted(ask(seeing[2], "decides", doubted))
            kept = [{*one, *other} for one, other in zip(confirmed, decided, strict=True)]
            confirmed = [
                tuple(each for each in candidates if each in mine)
                for candidates, mine in zip(left, kept, strict=True)
            ]
        left = confirmed
    return Screened(targets=tuple(targets), negatives=tuple(left), records=tuple(records))


def _refuted(record: JudgeRecord) -> list[tuple[Interaction, ...]]:
    """Return the candidates that a judge calls inconsistent."""
    return [
        tuple(each for each in candidates if verdicts.get(each) is False)
        for candidates, verdicts in zip(record.asked, record.verdicts, strict=True)
    ]


def _less(
    candidates: tuple[Interaction, ...], without: tuple[Interaction, ...]
) -> tuple[Interaction, ...]:
    return tuple(each for each in candidates if each not in without)
