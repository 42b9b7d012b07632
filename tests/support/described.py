"""Descriptions of data sets that nobody knows."""

from __future__ import annotations

from pathlib import Path

NEEDED = """
name = "zoo"
objects = ["person", "cat", "ball"]
verbs = ["feed", "throw"]
"""


def write_description(folder: Path, text: str = "", needed: str = NEEDED) -> Path:
    """Write a description and give its path."""
    path = folder / "zoo.toml"
    path.write_text(needed + text, encoding="utf-8")
    return path
