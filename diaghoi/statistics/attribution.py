"""Attribute the loss in mAP to errors so that costs add up: Shapley values of the oracles.

The ΔmAP values of individual oracles do not add up to the gain from repairing all errors, because
repairing two errors at once gains more, or less, than the sum of the two separate gains. The
Shapley value of an error is the mean gain from its repair over all orders in which the seven errors
can be repaired (Shapley, A value for n-person games, 1953). The Shapley values sum to the gain from
repairing all errors.

Repairs combine without conflict: each oracle acts on the predictions with its own label, a
prediction has one label and is assigned to at most one annotated triplet, and a triplet has at most
one prediction assigned to it. A triplet gains at most one true positive, no prediction changes
twice, and the order of repairs does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import factorial
from typing import Any

from diaghoi.data.memory import threads
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.average_precision import class_scores
from diaghoi.evaluation.ledger import Ledger, deciding
from diaghoi.evaluation.means import Split, split_means
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ERRORS, LOCALISED, ORACLES

Coalition = frozenset[str]
# A triplet whose pair no prediction localises counts as missed, not as a wrong action: additive
# costs should show where the loss comes from.
REPAIRS = ORACLES | LOCALISED


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Additive costs of the errors.

    Parameters
    ----------
    start, end : float
        mAP before any repair, and after all repairs.
    values : dict
        Shapley value of each error, a fraction: the signed part of ``end - start`` due to the
        error.
    coalitions : dict
        mAP after repairing each set of errors.
    pairing : {"triplet", "person"}
        Pairing of the protocol; the definition of a wrong action depends on the pairing.
    """

    start: float
    end: float
    values: dict[str, float]
    coalitions: dict[Coalition, float]
    pairing: str = "triplet"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the cost of each error, the sum ``total``, mAPs and ``pairing``."""
        return self.values | {
            "total": self.end - self.start,
            "map": self.start,
            "map_repaired": self.end,
            "pairing": self.pairing,
        }


def repaired(ledger: Ledger, errors: Iterable[str]) -> Ledger:
    """Repair several errors at once; the order does not matter.

    Raises
    ------
    InputError
        If an error is not one of the seven errors.
    """
    for name in errors:
        if name not in ERRORS:
            raise InputError(
                f"error '{name}': cannot be combined with others{close_matches(name, ERRORS)}; "
                f"give some of {', '.join(ERRORS)}"
            )
        ledger = REPAIRS[name](ledger)
    return ledger


def attribute(
    diagnosis: Diagnosis,
    split: str = "full",
    *,
    progress: Callable[[int], Any] | None = None,
) -> Attribution | None:
    """Compute the Shapley value of each of the seven errors.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    split : str
        Group of classes over which mAP is averaged.
    progress : callable, optional
        Called with the number of coalitions (sets of repairs) done since the last call, of 128 in
        all.

    Returns
    -------
    Attribution or None
        None if mAP is undefined before or after any repair.
    """
    return attributions(diagnosis, [split], progress=progress)[split]


def attributions(
    diagnosis: Diagnosis,
    splits: Iterable[str],
    *,
    progress: Callable[[int], Any] | None = None,
) -> dict[str, Attribution | None]:
    """Compute the Shapley values of the errors for several means over classes; see `attribute`.

    Repairs and average precisions are computed once for all ``splits``.
    """
    members = {split: diagnosis.splits[split] for split in splits}

    def worths(task: tuple[Coalition, Ledger, list[str]]) -> dict[Coalition, Split]:
        found = {}
        for coalition, ledger in _coalitions(*task):
            scores = class_scores(ledger.evaluated, ledger.classes, diagnosis.protocol)
            found[coalition] = split_means(scores, diagnosis.protocol, members)[0]
        return found

    # Each set of repairs copies these rows, so rows that cannot change AP are left out.
    rows = deciding(diagnosis.ledger, diagnosis.protocol)
    worth: dict[Coalition, Split] = {}
    with threads() as pool:
        for part in pool.map(worths, _branches(rows)):
            worth |= part
            if progress is not None:
                progress(len(part))
    return {
        split: _attribution(
            {errors: means[split] for errors, means in worth.items()}, diagnosis.protocol.pairing
        )
        for split in members
    }


def _attribution(worth: dict[Coalition, float | None], pairing: str) -> Attribution | None:
    """Divide the gain from all repairs among the errors; None if any mAP is undefined."""
    defined = {errors: value for errors, value in worth.items() if value is not None}
    if len(defined) < len(worth):
        return None
    return Attribution(
        start=defined[frozenset()],
        end=defined[frozenset(ERRORS)],
        values={error: shapley(error, defined, ERRORS) for error in ERRORS},
        coalitions=defined,
        pairing=pairing,
    )


def shapley(player: str, worth: dict[Coalition, float], players: tuple[str, ...]) -> float:
    """Compute the mean gain in worth when a player joins, over all orders of the players.

    Parameters
    ----------
    player : str
        The player.
    worth : dict
        Worth of each set of players.
    players : tuple of str
        All players.
    """
    n = len(players)
    value = 0.0
    for others, before in worth.items():
        if player not in others:
            size = len(others)
            orders = factorial(size) * factorial(n - size - 1)
            value += orders / factorial(n) * (worth[others | {player}] - before)
    return value


def _branches(ledger: Ledger) -> Iterator[tuple[Coalition, Ledger, list[str]]]:
    """Split the sets of repairs by the first two errors, so that threads can share the work."""
    for done, repaired_ledger in _coalitions(frozenset(), ledger, list(ERRORS[:2])):
        yield done, repaired_ledger, list(ERRORS[2:])


def _coalitions(
    done: Coalition, ledger: Ledger, left: list[str]
) -> Iterator[tuple[Coalition, Ledger]]:
    """Yield a ledger for each set of repairs, made from the ledger with one repair fewer."""
    if not left:
        yield done, ledger
        return
    error, *rest = left
    yield from _coalitions(done | {error}, REPAIRS[error](ledger), rest)
    yield from _coalitions(done, ledger, rest)
