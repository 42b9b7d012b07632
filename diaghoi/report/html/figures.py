"""The figures of one detector as SVG that can stand in a page."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.figure import Figure

from diaghoi.plots import DOUBLE_COLUMN, paper
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source
from diaghoi.plots.labels import model_names
from diaghoi.plots.registry import FIGURES
from diaghoi.plots.style import EMBEDDED_FONTS

SHOWN = ("delta_map", "error_shares", "error_profile_verb", "class_ap")
"""Figures of the page, of those in the registry."""
SEMANTIC = ("confusions",)
"""Those that stand where the report holds a semantic evaluation."""
REFERENCES = ("href", "{http://www.w3.org/1999/xlink}href")
# matplotlib writes its name, the date and its format beside each picture.
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
# Characters that no XML file can hold; matplotlib writes them as they are.
NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
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
    """Draw the figures that one detector allows, two columns of a paper wide.

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
    figure = Figure(figsize=(DOUBLE_COLUMN, kind.height), layout="constrained")
    stream = io.StringIO()
    # Equal figures are equal files: ids go by the content, not by chance.
    fixed = EMBEDDED_FONTS | {"savefig.bbox": None, "svg.hashsalt": kind.name}
    with paper(), mpl.rc_context(fixed), warnings.catch_warnings():
        # The reader's own fonts draw the text, whatever letters those of this machine lack.
        warnings.filterwarnings("ignore", message=".*missing from font.*")
        try:
            model = ModelData(
                label=model_names([label])[0],
                data=kind.data(source),
                protocol=str(source.result["protocol"]["name"]),
            )
            kind.draw(figure, [model])
        except NotApplicable:
            return None
        figure.savefig(stream, format="svg", metadata=NO_METADATA)
    return stream.getvalue()


def as_element(svg: str, name: str) -> str:
    """Make an SVG file an element of a page, where ids and styles of several files would mix.

    Parameters
    ----------
    svg : str
        The file.
    name : str
        Begins all its ids.
    """
    root = ElementTree.fromstring(NOT_XML.sub("?", svg))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith("}metadata") or child.tag.endswith("}style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key, value in list(element.attrib.items()):
            if key == "id":
                element.set(key, f"{name}-{value}")
            elif key in REFERENCES:
                del element.attrib[key]
                element.set("href", value.replace("#", f"#{name}-", 1))
            elif "url(#" in value:
                element.set(key, value.replace("url(#", f"url(#{name}-"))
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("style", JOINS)
    return ElementTree.tostring(root, encoding="unicode")
