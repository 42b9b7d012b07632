"""What MRI and CRI of a study are over: all corruptions of the paper, or a part of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diaghoi.exceptions import some_of
from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES

FEW = 3  # corruptions that are left out and named


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The conditions that a study averages over.

    Parameters
    ----------
    corruptions : tuple of str
        Names of those of the study.
    severities : tuple of int
        Those of the study.
    """

    corruptions: tuple[str, ...]
    severities: tuple[int, ...]

    @property
    def complete(self) -> bool:
        """Whether these are all corruptions in all severities, as in the paper."""
        return self._every_corruption and self._every_severity

    @property
    def title(self) -> str:
        """The head of columns of MRI and CRI."""
        if self.complete:
            return "All corruptions"
        if self._every_corruption:
            return f"{len(self.severities)} of {len(SEVERITIES)} severities"
        return f"{len(self.corruptions)} of {len(CORRUPTIONS)} corruptions"

    @property
    def words(self) -> str:
        """All of the conditions in words."""
        return f"{self.named_corruptions}, {self.named_severities}"

    @property
    def remark(self) -> str:
        """A sentence on what a part cannot be compared with; empty for all conditions."""
        if self.complete:
            return ""
        whole = f"all {len(CORRUPTIONS)} corruptions in {len(SEVERITIES)} severities"
        return f"Over {self.words}: not comparable with MRI and CRI over {whole}."

    @property
    def named_corruptions(self) -> str:
        """The corruptions in words."""
        every = len(CORRUPTIONS)
        if self._every_corruption:
            return f"all {every} corruptions"
        left = [name for name in CORRUPTIONS if name not in self.corruptions]
        named = f"all but {_names(left)}" if len(left) <= FEW else _names(self.corruptions)
        return f"{len(self.corruptions)} of {every} corruptions ({named})"

    @property
    def named_severities(self) -> str:
        """The severities in words."""
        if self._every_severity:
            return f"all {len(SEVERITIES)} severities"
        *first, last = map(str, self.severities)
        return f"severities {', '.join(first)} and {last}" if first else f"severity {last}"

    @property
    def over_severities(self) -> str:
        """Over which severities a mean is, or at which single one a score."""
        return f"{'at' if len(self.severities) == 1 else 'over'} {self.named_severities}"

    def to_dict(self) -> dict[str, bool | str]:
        """All values as plain Python."""
        return {
            "complete": self.complete,
            "corruptions": self.named_corruptions,
            "severities": self.named_severities,
        }

    @property
    def _every_corruption(self) -> bool:
        return set(self.corruptions) == set(CORRUPTIONS)

    @property
    def _every_severity(self) -> bool:
        return set(self.severities) == set(SEVERITIES)


def _names(corruptions: Sequence[str]) -> str:
    """List corruptions within a sentence."""
    return some_of([_within(CORRUPTIONS[name].label) for name in corruptions])


def _within(label: str) -> str:
    """Begin a label with a small letter, unless it is an acronym or named after a person."""
    return (
        label if label[1].isupper() or label.startswith("Gauss") else label[0].lower() + label[1:]
    )
