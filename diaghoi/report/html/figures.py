"""The figures of one detector as SVG that can stand in a page."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass

import matplotlib as mpl

from diaghoi.plots import SINGLE_COLUMN
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source, figure_of
from diaghoi.plots.labels import model_names
from diaghoi.plots.registry import FIGURES
from diaghoi.plots.style import EMBEDDED_FONTS, MODEL_COLOURS

SHOWN = ("delta_map", "error_shares", "class_ap", "error_profile_verb")
"""Figures of the page, of those in the registry."""
SEMANTIC = ("confusions",)
"""Those that stand where the report holds a semantic evaluation."""
# Ids that matplotlib makes of positions, of which the layout does not fix the last bits.
HASHED = re.compile(r'(?<=[#"])([a-z])[0-9a-f]{10}(?=[)"])')
REFERENCES = ("href", "{http://www.w3.org/1999/xlink}href")
# matplotlib writes its name, the date and its format beside each picture.
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
# Characters that no XML file can hold; matplotlib writes them as they are.
NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
# Shades of grey of a style, which a dark page turns round, and the one colour that is too dark for
# it; the others stay.
DARK = MODEL_COLOURS[0].lower()
TURNED = re.compile(rf"((?:fill|stroke): )(#(([0-9a-f]{{2}})\4\4|{DARK[1:]}))\b")
LIGHT = "#77aadd"
# Ink of words in coloured cells: white, and the darkest of seaborn and of our own figures.
INKS = ("fill: #ffffff", "fill: #262626", "fill: #1a1a1a")
GROUND, INK = (0x15, 0x17, 0x1B), (0xE7, 0xE9, 0xEE)
"""Background and words of a dark page, as in ``page.css``."""
# What matplotlib's style sheet says of all elements would hold for those of the page as well.
JOINS = "stroke-linejoin:round;stroke-linecap:butt"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure of the page.

    Parameters
    ----------
    name, title : str
        As in the registry.
    svg : str
        An element for the body of a page; its ids begin with the name.
    """

    name: str
    title: str
    svg: str


def drawings(source: Source, label: str) -> list[Drawing]:
    """Draw the figures that one detector allows, one column of a paper wide, as phones are.

    Parameters
    ----------
    source : Source
        All that is known of the detector.
    label : str
        Its name.

    Returns
    -------
    list of Drawing
        In the order of :data:`SHOWN`, then :data:`SEMANTIC`; without those that do not apply.
    """
    made = []
    for name in (*SHOWN, *(SEMANTIC if "semantic" in source.result else ())):
        if name not in FIGURES:
            continue
        svg = _drawn(FIGURES[name], source, label)
        if svg is not None:
            made.append(Drawing(name=name, title=FIGURES[name].title, svg=as_element(svg, name)))
    return made


def _drawn(kind: FigureKind, source: Source, label: str) -> str | None:
    if kind.needs == "diagnoses" and source.diagnosis is None:
        return None
    stream = io.StringIO()
    # Equal figures are equal files: ids go by the content, not by chance.
    fixed = EMBEDDED_FONTS | {"savefig.bbox": None, "svg.hashsalt": kind.name}
    with mpl.rc_context(fixed), warnings.catch_warnings():
        # The reader's own fonts draw the text, whatever letters those of this machine lack.
        warnings.filterwarnings("ignore", message=".*missing from font.*")
        try:
            model = ModelData(
                label=model_names([label])[0],
                data=kind.data(source),
                protocol=str(source.result["protocol"]["name"]),
            )
            figure = figure_of(kind, [model], SINGLE_COLUMN)
        except NotApplicable:
            return None
        figure.savefig(stream, format="svg", metadata=NO_METADATA)
    return stream.getvalue()


def as_element(svg: str, name: str) -> str:
    """Make an SVG file an element of a page, where ids and styles of several files would mix.

    Black, white and grey become variables, which a dark page turns round: ``--000000`` and so
    on; see :func:`dark_colours`. White hatches and words in coloured cells stay as they are.

    Parameters
    ----------
    svg : str
        The file.
    name : str
        Begins all its ids.
    """
    root = ElementTree.fromstring(_numbered(NOT_XML.sub("?", svg)))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith("}metadata") or child.tag.endswith("}style"):
                parent.remove(child)
    fixed = {
        child for each in root.iter() if each.tag.endswith("}pattern") for child in each.iter()
    }
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key, value in list(element.attrib.items()):
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif key in REFERENCES:
                del element.attrib[key]
                element.set("href", value.replace("#", f"#{name}-", 1))
            elif key == "style":
                style = value.replace("url(#", f"url(#{name}-")
                written = element.tag == "text" and any(ink in value for ink in INKS)
                element.set(key, style if element in fixed or written else _turning(style))
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("style", f"{JOINS};{_turning('fill: #000000')}")
    return ElementTree.tostring(root, encoding="unicode")


def _numbered(svg: str) -> str:
    """Give ids that are made of positions numbers, so that equal figures are equal files."""
    numbers: dict[str, int] = {}
    return HASHED.sub(lambda found: f"{found[1]}{numbers.setdefault(found[0], len(numbers))}", svg)


def dark_colours(elements: Iterable[str]) -> dict[str, str]:
    """List the colours of some elements that a dark page changes: black is as its words.

    Parameters
    ----------
    elements : iterable of str
        From :func:`as_element`.

    Returns
    -------
    dict
        Colours by the names of their variables.
    """
    found = {name for element in elements for name in re.findall(r"var\((--\w{6}),", element)}
    colours = {}
    for name in sorted(found):
        light = int(name[2:4], 16) / 255
        parts = (ink + (ground - ink) * light for ground, ink in zip(GROUND, INK, strict=True))
        turned = "#" + "".join(f"{round(part):02x}" for part in parts)
        colours[name] = LIGHT if name[2:] == DARK[1:] else turned
    return colours


def _turning(style: str) -> str:
    """Make the colours of a style that a dark page changes variables, with the colour behind."""
    return TURNED.sub(r"\1var(--\3, \2)", style)
