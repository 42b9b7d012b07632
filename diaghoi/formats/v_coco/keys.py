"""Shared by all V-COCO formats: actions, roles, the names of keys and images.

Everything is derived from the vocabulary :func:`~diaghoi.data.vocabulary.v_coco`, whose 51 verbs
are the combinations of an action and a role in official order: ``hold agent``, ``hold obj`` ...
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.vocabulary import v_coco
from diaghoi.formats.checks import EXACT

_NUMBER = re.compile(r"(\d{1,15})(?:\.[A-Za-z]+)?\s*")


@dataclass(frozen=True, kw_only=True, eq=False)
class Roles:
    """The 51 classes of V-COCO as actions and roles.

    Parameters
    ----------
    actions : tuple of str
        The 26 actions in official order.
    keys : tuple of str
        ``<action>_<role>`` of each class, as result files call them.
    action : (51,) int array
        Action of each class.
    agents : (26,) int array
        The class of each action that says who does it.
    roles : (25,) int array
        The other classes, in official order.
    listed : (29,) int array
        The verbs as QPIC and its descendants number them: the roles of each action, or the agent
        where the action has no role.
    """

    actions: tuple[str, ...]
    keys: tuple[str, ...]
    action: IntArray
    agents: IntArray
    roles: IntArray
    listed: IntArray


@cache
def roles() -> Roles:
    """Return the actions and roles of V-COCO."""
    verbs = [tuple(verb.rsplit(" ", 1)) for verb in v_coco().verbs]
    actions = tuple(dict.fromkeys(action for action, _ in verbs))
    number = {action: n for n, action in enumerate(actions)}
    action = np.array([number[name] for name, _ in verbs], dtype=np.int64)
    agent = np.array([role == "agent" for _, role in verbs])
    alone = np.bincount(action)[action] == 1
    return Roles(
        actions=actions,
        keys=tuple("_".join(verb) for verb in verbs),
        action=action,
        agents=np.flatnonzero(agent),
        roles=np.flatnonzero(~agent),
        listed=np.flatnonzero(~agent | alone),
    )


def numbered(names: Sequence[str]) -> list[str]:
    """Name COCO images by their number; all keep their names where two would be the same."""
    numbers = [image_number(name) or name for name in names]
    return numbers if len(set(numbers)) == len(numbers) else list(names)


def image_number(value: Any) -> str:
    """Return the name of a COCO image: its number without leading zeros.

    Parameters
    ----------
    value : object
        ``165``, ``"165"``, ``"COCO_val2014_000000000165.jpg"``.

    Returns
    -------
    str
        ``"165"``; empty if there is no number.
    """
    if isinstance(value, bytes):
        value = value.decode("ascii", errors="replace")
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.rsplit("_", 1)[-1].rsplit("/", 1)[-1].strip())
        return str(int(match[1])) if match else ""
    if isinstance(value, bool | np.bool_):
        return ""
    try:
        return str(int(value)) if int(value) == value and 0 <= value <= EXACT else ""
    except (TypeError, ValueError, OverflowError):
        return ""
