"""Commands in a folder of their own, whose JSON results are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Group:
    """Commands that run one after another in one empty folder, after ``files`` and ``before``.

    Every JSON file that they leave outside ``cache`` is a result. ``shared`` groups read the
    conformance cases.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    results: Mapping[str, str]
    shared: bool = False


def tables(name: str) -> str:
    """Options that write the table of classes and that of images as JSON."""
    return f"--out {name}.classes.json --out {name}.images.json"
