"""Replies of language models that think aloud before they answer."""

from __future__ import annotations

import re

_THOUGHT = r"(?:think|thinking|thought|reasoning|scratchpad|analysis)"
_CLOSING = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)
_OPENING = re.compile(rf"<{_THOUGHT}>", re.IGNORECASE)


def after_thinking(reply: str) -> str:
    """Return what a reply says without what was thought in tags such as ``<think>``.

    Many servers leave the opening tag out: all before the last closing one is thought, and all
    behind one that stays open.
    """
    said = _CLOSING.split(reply)[-1]
    return _OPENING.split(said, maxsplit=1)[0]
