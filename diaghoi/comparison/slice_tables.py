"""Tables that compare detectors by slice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from diaghoi.data.table import UNDEFINED, Cell, Column, Row, RowGroup, Table, Unit, shown
from diaghoi.oracles import ERRORS, error_title
from diaghoi.statistics.significance import p_cell
from diaghoi.statistics.slice_figures import F1, MAP, RECALL

Found = Mapping[str, Any]
Shown = tuple[Column, Callable[[Found], Cell]]  # a column, and the function that computes its cell
TITLES = {MAP: "mAP", RECALL: "Pair recall", F1: "F1"}
MORE = 3  # findings name their detector if there are at least this many detectors
WHERE = (
    "Predictions belong to a slice of images by image, to a slice of classes by class, and to a "
    "slice of annotated pairs by the annotated triplet that a prediction found or is assigned to, "
    "or without such a triplet by image. Slices of images and pairs thus have fewer false "
    "positives of a class than all "
    "images: compare slices only with each other."
)


def slice_tables(found: Found) -> Iterator[Table]:
    """Create the tables of slices, and of the slices that stand out.

    Parameters
    ----------
    found : mapping
        As from :meth:`diaghoi.comparison.slices.Slices.to_dict`.

    Yields
    ------
    Table
        For one detector: its numbers, and its ΔmAP per error. For several detectors: mAP side by
        side, differences from the first detector, pair recall and F1.
    """
    labels, sampled = found["labels"], found["bootstrap"] is not None
    if found["search"] is not None and found["search"]["findings"]:
        yield _search_table(found)
    support = [
        _number(Column(title=title, unit="count"), key)
        for key, title in (("images", "Images"), ("annotated", "Triplets"), ("classes", "Classes"))
    ]
    if len(labels) == 1:
        figures = [_of_model(0, title, name) for name, title in TITLES.items()]
        if sampled:
            figures.insert(1, _interval(found, "models", 0, "intervals", MAP))
        said = (where_text(found), _thresholds(found), _resamples(found))
        caption = "\n".join(filter(None, said))
        yield _table(found, "slices", "Slices", "%", [*support, *figures], caption)
        deltas = [
            _number(
                Column(title=error_title(name), unit="points"),
                *("models", 0, "figures", f"delta_map.{name}"),
            )
            for name in ERRORS
        ]
        yield _table(found, "slice_deltas", "ΔmAP per error in slices", "", deltas)
        return

    def of_models(name: str, group: str = "") -> Iterator[Shown]:
        return (_of_model(place, label, name, group) for place, label in enumerate(labels))

    yield _table(
        found, "slices", "mAP in slices", "%", [*support, *of_models(MAP)], where_text(found)
    )
    differences = []
    for place, label in enumerate(labels[1:], 1):
        column = Column(title=label, unit="points")
        differences.append(_number(column, "models", place, "difference", MAP))
        if sampled:
            path = ("models", place, "difference_intervals", MAP)
            differences.append(_interval(found, *path, signed=True))
    title = f"Difference in mAP from {labels[0]} in slices"
    yield _table(found, "slice_differences", title, "points", differences, _resamples(found))
    parts = [each for name in (RECALL, F1) for each in of_models(name, TITLES[name])]
    yield _table(
        found, "slice_parts", "Pair recall and F1 in slices", "%", parts, _thresholds(found)
    )


def where_text(found: Found) -> str:
    """Describe which predictions belong to a slice, and which classes are rare."""
    attributes = [each["attribute"] for each in found["slices"]]
    return "\n".join(filter(None, (WHERE, rare_text(attributes, found.get("rare_below")))))


def rare_text(attributes: Iterable[str], below: int | None) -> str:
    """Describe which classes are rare, unless the data set defines its rare classes."""
    if below is None or "rarity" not in attributes:
        return ""
    return (
        f"Rare: classes with fewer than {below} annotated triplets in these annotations; not an "
        "official split."
    )


def _thresholds(found: Found) -> str:
    """Describe which predictions F1 counts."""
    scores = [each for each in found["thresholds"] if each is not None]
    if not scores:
        return "F1 counts all predictions."
    return "F1 counts the predictions above the score that gives the best F1 over all images."


def _resamples(found: Found) -> str:
    """Describe the intervals of slices, which may have fewer resamples than other intervals."""
    if found["bootstrap"] is None:
        return ""
    drawn = f"{found['bootstrap']['resamples']:,} resamples of the images"
    return f"Intervals: {drawn}; none for slices of very few images."


def _at(each: Found, path: Sequence[str | int]) -> Any:
    """Look up a number or an interval; None if it is undefined or missing."""
    found: Any = each
    for key in path:
        found = found[key] if isinstance(key, int) else found.get(key)
    return found


def _number(column: Column, *path: str | int) -> Shown:
    def cell(each: Found) -> Cell:
        value = _at(each, path)
        return Cell(value=value, text=shown(value, column.unit))

    return column, cell


def _of_model(place: int, title: str, name: str, group: str = "") -> Shown:
    return _number(Column(title=title, group=group), "models", place, "figures", name)


def _interval(found: Found, *path: str | int, signed: bool = False) -> Shown:
    def cell(each: Found) -> Cell:
        bounds: Sequence[float] | None = _at(each, path)
        if bounds is None:
            return Cell(text=UNDEFINED)
        low, high = (shown(bound, "percent", signed=signed) for bound in bounds)
        return Cell(text=f"{low} to {high}")

    return Column(title=f"{100 * found['bootstrap']['confidence']:g} %"), cell


def _row(name: str, each: Found, columns: Sequence[Shown]) -> Row:
    return Row(titles=(name,), cells=tuple(of(each) for _, of in columns))


def _table(
    found: Found, key: str, title: str, unit: str, columns: Sequence[Shown], caption: str = ""
) -> Table:
    groups = groupby(found["slices"], key=lambda each: (each["attribute"], each["title"]))
    return Table(
        key=key,
        title=title,
        unit=unit,
        heads=("Slice",),
        columns=tuple(column for column, _ in columns),
        row_groups=(
            RowGroup(rows=(_row("All", found["everything"], columns),)),
            *(
                RowGroup(title=name, rows=tuple(_row(each["name"], each, columns) for each in some))
                for (_, name), some in groups
            ),
        ),
        grouping="Attribute",
        caption=caption,
    )


def _search_table(found: Found) -> Table:
    """Create the table of the slices that stand out."""
    labels = found["labels"]
    alone = len(labels) == 1
    unit: Unit = "percent" if alone else "points"

    def p(each: Found) -> Cell:
        return Cell(value=each["p"], text=p_cell(each["p"]))

    columns = [
        _number(Column(title="Images", unit="count"), "images"),
        _number(Column(title="Triplets", unit="count"), "annotated"),
        _number(Column(title="Here", unit=unit), "values", 1),
        _number(Column(title="Elsewhere", unit=unit), "values", 0),
        _number(Column(title="Difference", unit="points"), "difference"),
        _interval(found, "interval", signed=True),
        (Column(title="p"), p),
    ]
    rows = [
        _row(
            each["title"] if len(labels) < MORE else f"{each['labels'][-1]}: {each['title']}",
            each,
            columns,
        )
        for each in found["search"]["findings"]
    ]
    less = "" if alone else f", minus the same for {labels[0]}"
    caption = (
        f"{found['search']['tried']:,} slices of one or two attributes were tried; p and interval "
        f"are corrected for all of them. Here{'' if alone else ', elsewhere'}: the mean precision "
        f"at which annotated triplets are found{less}."
    )
    if alone:
        caption += (
            " Difference: compared with other triplets of the same classes. Elsewhere: here minus "
            "the difference."
        )
    title = "worse than elsewhere" if alone else f"other differences to {labels[0]} than elsewhere"
    return Table(
        key="slice_search",
        title=f"Slices that are {title}" if alone else f"Slices with {title}",
        heads=("Slice",),
        columns=tuple(column for column, _ in columns),
        row_groups=(RowGroup(rows=tuple(rows)),),
        caption=caption,
    )
