"""Read files of every format into :class:`~diaghoi.data.scenes.Scenes`.

A file's format is decided once: the first format that recognises the file reads it.
"""

from __future__ import annotations

import os
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.boxes import LAYOUTS
from diaghoi.data.memory import give_back_freed_memory
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary, object_numberings
from diaghoi.exceptions import LONGEST_NAME, InputError, close_matches, some_of
from diaghoi.formats import (
    by_image,
    dense,
    hico_det,
    hico_mat,
    ican,
    lists,
    named,
    own,
    pair_lists,
    ten_numbers,
    v_coco,
    v_coco_results,
    words,
)
from diaghoi.formats.base import (
    Doubts,
    Format,
    Kind,
    Options,
    OwnDataError,
    Reading,
    Recognised,
    UnclearDataSetError,
    UnknownNumberError,
)
from diaghoi.formats.checks import key_names
from diaghoi.formats.content import Content, load
from diaghoi.formats.description import vocabulary
from diaghoi.formats.merging import merge
from diaghoi.formats.numbering import (
    ENOUGH,
    FEW,
    GENUINE,
    check_numbering,
    most_confident,
    numberings,
)
from diaghoi.formats.pickle import collector_off
from diaghoi.formats.v_coco import numbered

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Path = str | os.PathLike[str]

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        own.FORMAT,
        lists.GenVlkt(),
        lists.Ppdm(),
        lists.TripletLists(),
        pair_lists.PairLists(),
        dense.DenseArrays(),
        ten_numbers.Converted(),
        hico_mat.HicoDetections(),
        hico_det.HicoInstances(),
        lists.CdnJson(),
        hico_mat.AnnoBbox(),
        hico_det.AnnoList(),
        v_coco.VCoco(),
        v_coco_results.VCocoResults(),
        ican.Ican(),
        ten_numbers.SwigHoi(),
        named.HoiTransformer(),
        lists.HoiDet(),
        named.AgentHoi(),
        words.HoiR1(),
        ten_numbers.CmdSe(),
        named.DaHoi(),
        words.Words(),
        ten_numbers.VsgNet(),
        ten_numbers.Idn(),
        by_image.ByImage(),
    )
}
"""The formats of this package by name, in the order in which they are tried."""

MOST_ITEMS = 1 << 24
"""Maximum number of images or triplets in a file: a hundred times the largest data set."""

# Entry point group in which other packages register formats.
GROUP = "diaghoi.formats"
# Options that belong to one format, and their names on the command line.
_BELONGS = {
    "instances": ("v-coco", "--read instances"),
    "ids": ("v-coco", "--read ids"),
    "image_id": ("v-coco-results", "--read image-id"),
}
# For each kind of file: the name of its content, and how the user should give the file.
_KINDS: dict[str, tuple[str, str]] = {
    "annotations": ("annotations", "give it as --annotations"),
    "predictions": ("predicted triplets", "give it as the prediction file"),
    "pairs": ("scored pairs", "give it with --pairs, beside the file with the triplets"),
}


@cache
def known_formats() -> dict[str, Format]:
    """Return all formats by name: first the formats of this package, then registered formats.

    A package registers a format with an entry point in the group ``diaghoi.formats`` that names a
    subclass of :class:`~diaghoi.formats.Format`. Registered formats are tried after those of this
    package.

    Raises
    ------
    InputError
        If a registered format cannot be loaded, or has the name of another format.
    """
    formats = dict(FORMATS)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
            if isinstance(loaded, type) and issubclass(loaded, Format):
                loaded = loaded()
        except Exception as error:  # any exception that the other package raises
            problem = f"cannot be loaded ({type(error).__name__}: {error})"
        else:
            problem = "" if isinstance(loaded, Format) else f"is a {type(loaded).__name__}"
            if not problem and loaded.name in formats:
                problem = "has the name of another format"
        if problem:
            owner = entry.dist.name if entry.dist is not None else "a package"
            raise InputError(
                f"the format {entry.name!r} of {owner} {problem}; fix or uninstall {owner}"
            )
        formats[loaded.name] = loaded
    return formats


def recognise(path: _Path) -> Recognised:
    """Identify the format, data set and kind of a file from its content.

    Parameters
    ----------
    path : path
        A file, or the folder with files for the official evaluator.

    Raises
    ------
    InputError
        If the file is damaged or its format is unknown.
    """
    with collector_off():
        content, format, kind = matching(load(path).predictions)
        words, _ = _data_set(content, format, None, fitting=True)
    return _recognised(content, format, kind, words)


def _recognised(
    content: Content, format: Format, kind: Kind, words: Vocabulary, **numbering: str
) -> Recognised:
    return Recognised(
        format=format.name,
        kind=kind,
        title=format.title,
        container=content.container,
        dataset=words.name,
        numbering=numbering,
    )


def matching(content: Content, name: str | None = None) -> tuple[Content, Format, Kind]:
    """Return the first format that recognises a file; ``name`` is the format chosen by the user.

    Returns
    -------
    view : Content
        The file in the view that the format accepts
        (:meth:`~diaghoi.formats.content.Content.views`).
    format : Format
        The format.
    kind : str
        Kind of the file.

    Raises
    ------
    InputError
        If the file is in no known format, or not in the chosen format.
    """
    items = len(content.value) if isinstance(content.value, list | tuple | dict) else 0
    if items > MOST_ITEMS:
        raise InputError(
            f"{content.file}: holds {items:,} images or triplets; at most {MOST_ITEMS:,} are read; "
            "write only the images of the data set"
        )
    if name is not None:
        check_format(name)
    formats, views = known_formats(), content.views()
    for tried in ([formats[name]] if name else [], list(formats.values())):
        for view in views:
            for format in tried:
                kind = format.recognise(view)
                if kind is not None and name in (None, format.name):
                    return view, format, kind
                if kind is not None:
                    raise InputError(
                        f"{content.file}: is not in the format {name}; it looks like {format.name} "
                        f"({kind}); leave --read format out"
                    )
    problem = _unknown(content)
    if name is not None:
        problem = f"is not in the format {name}, nor in any other known one: {_outline(content)}"
    raise InputError(f"{content.file}: {problem}")


def _data_set(
    content: Content, format: Format, given: Vocabulary | None, *, fitting: bool
) -> tuple[Vocabulary, tuple[str, ...]]:
    """Determine the data set of a file from the content and the user's choice; return notes too."""
    shown, doubts, file = format.dataset(content), Doubts(), content.file
    if given is None or shown is None:
        doubts = format.doubts(content)
    if given is None and fitting and doubts.misfit:
        problem = f"{file}: fits no known data set: {doubts.misfit}"
        raise OwnDataError(problem, [content.path])
    names = set() if given is None else {given.name, None if format.only else given.of}
    either = () if shown else doubts.either
    if either and (given is None or (given.known and names.isdisjoint(either))):
        raise UnclearDataSetError(
            f"{file}: may be for {' or '.join(either)}: its numbers exist in both; "
            f"give --dataset {' or --dataset '.join(either)}"
        )
    if given is None and shown not in (None, *VOCABULARIES):
        raise InputError(
            f"{file}: is for the data set {shown!r:.40}, which is not known; known: "
            f"{', '.join(VOCABULARIES)}; give the description of any other with --dataset "
            "FILE.toml"
        )
    if given is None:
        return vocabulary(shown or "hico-det"), doubts.evidence
    if shown is not None and shown not in names and (given.known or format.only):
        raise InputError(
            f"{file}: is for {shown} ({format.name}), but {given.name} is expected here; give a "
            f"file for {given.name}, or give --dataset for the data set of this file"
        )
    return given, ()


def _unknown(content: Content) -> str:
    """Explain why no format recognises a file."""
    if content.container == "mat" and "list_action" in content.value:
        return (
            "holds HICO's image labels instead of boxes; give it with --image-labels, and "
            "anno_bbox.mat or instances_test2015.json with --annotations"
        )
    if isinstance(content.value, dict) and {"images", "categories"} <= content.value.keys():
        return (
            "holds boxes as COCO lists them, without interactions; if it belongs to V-COCO, give "
            "it with --read instances=FILE, and vcoco_test.json with --annotations"
        )
    formats = some_of(list(known_formats()), 8)
    return f"not a known format: {_outline(content)}; known formats: {formats}"


def _outline(content: Content) -> str:
    """Describe the content of a file of unknown format, and the nearest format."""
    value, stored, keys = content.value, content.container, list(content.first)
    if stored in ("npz", "mat"):
        what, keys = f"{stored} file", list(value)
    elif isinstance(value, dict):
        what, keys = f"a dict in {stored}", list(value)
    elif isinstance(value, list | tuple) and value:
        what = f"a list of {len(value)} {'dicts' if keys else _type_of(value[0])} in {stored}"
    else:
        what = f"{_type_of(value)} in {stored}"
    if keys or not content.plain or isinstance(value, dict):
        what += f" with {_keys(keys)}"
    if isinstance(value, dict) and len(content.views()) > 1:
        keys = list(next(iter(value.values())))
        what += f", each a dict with {_keys(keys)}"
    return what + _nearest(keys[:_MOST_KEYS])


def _type_of(value: Any) -> str:
    return "array" if isinstance(value, np.ndarray) else type(value).__name__


def _keys(keys: list[Any]) -> str:
    names = [*(name[:40] for name in key_names(keys[:8])), *map(str, range(8, len(keys)))]
    return f"the keys {some_of(names, 8)}" if keys else "no keys"


# Limits: the number of keys examined in a file, the similarity at which a key counts as misspelt,
# and the number of shared keys needed to mention a format.
_MOST_KEYS, _ALIKE, _ENOUGH_KEYS = 100, 0.75, 2


def _nearest(keys: list[Any]) -> str:
    """Name the format that shares the most keys with a file, and the keys that the file lacks."""
    names = [key for key in keys if isinstance(key, str) and len(key) <= LONGEST_NAME]
    shared = {
        format.name: (
            sum(key in names for key in format.keys),
            sum(bool(get_close_matches(key, names, 1, _ALIKE)) for key in format.keys),
            -len(format.keys),
        )
        for format in known_formats().values()
    }
    name = max(shared, key=lambda name: shared[name])
    format = known_formats()[name]
    if shared[name][1] < min(_ENOUGH_KEYS, max(1, (len(format.keys) + 1) // 2)):
        return ""
    missing = [key for key in format.keys if key not in names]
    others = [key for key in names if key not in format.keys]
    like = {key: "".join(get_close_matches(key, others, 1, _ALIKE)) for key in missing}
    told = [f"{key!r} (here {like[key]!r})" if like[key] else repr(key) for key in missing]
    lacks = (
        f"without {some_of(told)}"
        if missing
        else "whose keys are all present, but with other values"
    )
    return f"; nearest is {name}, {format.title}, {lacks}"


def check_format(name: str) -> None:
    """Reject the name of a format that does not exist, and list similar and known names."""
    formats = known_formats()
    if name not in formats:
        begun = [format for format in formats if name and format.startswith(name)]
        hint = f" (did you mean {' or '.join(map(repr, begun))}?)" if begun else ""
        raise InputError(
            f"unknown format {name!r}{hint or close_matches(name, formats)}; known: "
            f"{', '.join(formats)}"
        )


def read(path: _Path, **reading: Unpack[Reading]) -> tuple[Recognised, Scenes]:
    """Read a file of any format and identify it.

    Parameters
    ----------
    path : path
        A file, or the folder with files for the official evaluator.
    **reading
        Options for reading: :class:`diaghoi.formats.Reading`.

    Returns
    -------
    recognised : Recognised
        Format and data set of the file.
    scenes : Scenes
        Content of the file.

    Raises
    ------
    InputError
        If the content or an option is invalid; the message names file, image, field and value.
    """
    check_reading(reading)
    with collector_off():
        found, scenes = _open(load(path).predictions, reading)
    give_back_freed_memory()
    return found, scenes.load()


def _open(
    content: Content, reading: Reading, *, fitting: bool = True
) -> tuple[Recognised, SceneSource]:
    """Convert loaded content to scenes; values that can be read on demand stay in the file."""
    dataset = reading.get("dataset")
    given = None if dataset is None else vocabulary(dataset)
    content, format, kind = matching(content, reading.get("format"))
    words, notes = _data_set(content, format, given, fitting=fitting)
    options = Options(
        vocabulary=words,
        annotated=partial(_annotated_classes, content.path, words),
        **{key: value for key, value in reading.items() if key not in ("dataset", "format")},  # type: ignore[arg-type]
    )
    for key, (owner, option) in _BELONGS.items():
        if getattr(options, key) is not None and format.name != owner:
            raise InputError(
                f"{content.file}: {option} is for {FORMATS[owner].title}, but this file is in the "
                f"format {format.name}; leave it out"
            )
    # A user who specifies how to read numbers accepts the file as it is.
    stated = any(value is not None for value in (options.objects, options.verbs, options.classes))
    fitting = fitting and given is None and not stated
    try:
        scenes = format.read(content, kind, options)
    except UnknownNumberError as error:
        slip = len(error.unknown) < ENOUGH or error.unknown.sum() < FEW
        if not fitting or slip:
            raise
        raise OwnDataError(str(error), [content.path]) from None
    if fitting and (kind == "annotations" or scenes.scored):
        check_fit(scenes, named=content.benchmark is not None)
    if words.of == "v-coco":
        names = numbered(scenes.names.tolist())
        scenes = scenes.with_names(np.array(names, dtype=np.str_))
    if notes := tuple(
        f"{content.file}: {note}" for note in (*content.notes, *notes, *options.notes)
    ):
        scenes = replace(scenes.load(), notes=scenes.notes + notes)
    return _recognised(content, format, kind, words, **options.shown), scenes


def check_fit(scenes: SceneSource, *, named: bool = False) -> None:
    """Raise an :class:`OwnDataError` if triplets are not HOI classes of the data set.

    Files of other data sets may use the same numbers with other meanings. One in a hundred
    annotated HOI-A triplets is not an HOI class. For data sets other than HOI-A, annotations may
    contain a few triplets that are not HOI classes only if image names show the data set
    (``named``). In predictions, only the triplets with the highest scores are checked. Files in the
    package's own format state their data set.
    """
    if not isinstance(scenes, Scenes) or not len(scenes.triplet_pair):
        return
    words, scored, problem = scenes.vocabulary, scenes.scored, ""
    if words.agents is not None and not scored and not scenes.names[0].isdigit():
        problem = (
            f"whose images are named by their COCO numbers, but holds image "
            f"{str(scenes.names[0])!r}"
        )
    elif not scored or not (named or len(scenes.triplet_pair) < ENOUGH):
        chosen = most_confident(scenes.triplet_score, len(scenes.triplet_pair))
        fits = scenes.triplet_class[chosen] >= 0
        slips = scored or named or words.name == "hoi-a"
        if fits.mean() < (GENUINE if slips else 1):
            problem = (
                f"but only {int(fits.sum()):,} of its {len(fits):,} "
                f"{'best' if scored else 'annotated'} triplets are HOI classes of this data set"
            )
    if problem:
        problem = f"{scenes.source}: is read as {words.name}, {problem}"
        raise OwnDataError(problem, [scenes.source])


def _annotated_classes(path: Path, words: Vocabulary) -> IntArray:
    """Return the annotated HOI classes of a data set; empty while annotations are being read."""
    none = np.zeros(0, dtype=np.int64)
    if words.annotations is None or words.annotations.resolve() == path.resolve():
        return none
    try:
        hoi = read_annotations(words.annotations, dataset=words).triplet_class
    except InputError:  # a command that needs the annotations reports the error
        return none
    return np.unique(hoi[hoi >= 0])


def read_annotations(path: _Path, **reading: Unpack[Reading]) -> Scenes:
    """Read annotations.

    Parameters
    ----------
    path : path
        The file.
    **reading
        Options for reading: :class:`diaghoi.formats.Reading`.

    Returns
    -------
    Scenes
        The annotations, which have no scores.

    Raises
    ------
    InputError
        If the file is invalid, or has no annotations or no images.
    """
    return open_annotations(path, **reading).load()


def open_annotations(path: _Path, **reading: Unpack[Reading]) -> SceneSource:
    """Open annotations for :func:`diaghoi.diagnose`, like :func:`open_predictions`.

    Parameters and errors are as in :func:`read_annotations`; errors in a file's values may be
    raised only later, when the values are read.
    """
    check_reading(reading)
    with collector_off():
        content = load(path)
        found, scenes = _open(content.annotations or content, reading)
        del content  # free millions of small objects before the next file is read
    return _of_kind("annotations", found, scenes)


def read_predictions(
    path: _Path, *, pairs: _Path | None = None, **reading: Unpack[Reading]
) -> Scenes:
    """Read predictions, and scored pairs from a separate file.

    Parameters
    ----------
    path : path
        The file or folder with the triplets.
    pairs : path, optional
        The pair file of the same detector. The objects in the pair file are numbered as in the
        triplets unless ``objects`` is given.
    **reading
        Options for reading: :class:`diaghoi.formats.Reading`; ``format`` applies to ``path``.

    Returns
    -------
    Scenes
        The scenes, with ``pair_score`` if pairs are listed; images without triplets are kept.

    Raises
    ------
    InputError
        If the file is invalid, or has no predictions.
    """
    return open_predictions(path, pairs=pairs, **reading).load()


def open_predictions(
    path: _Path, *, pairs: _Path | None = None, **reading: Unpack[Reading]
) -> SceneSource:
    """Open predictions for :func:`diaghoi.diagnose`; files in diaghoi's format are read in blocks.

    Files in diaghoi's own format may be larger than memory; other files are read completely.
    Parameters and errors are those of :func:`read_predictions`; errors in a file's values may be
    raised only later, when the values are read.
    """
    return open_both(path, pairs=pairs, annotated=False, **reading)[0]


def open_both(
    path: _Path,
    *,
    pairs: _Path | None = None,
    annotated: bool = True,
    fitting: bool = True,
    **reading: Unpack[Reading],
) -> tuple[SceneSource, SceneSource | None]:
    """Open predictions, and the annotations if the same file holds them.

    Parameters
    ----------
    path, pairs, **reading
        As for :func:`open_predictions`.
    annotated : bool
        Whether annotations are wanted.
    fitting : bool
        Whether predictions must fit a known data set if ``reading`` names no data set; False if the
        annotations determine the data set.

    Raises
    ------
    InputError
        As for :func:`open_predictions` and :func:`open_annotations`.
    """
    opened = open_file(path, annotated=annotated, fitting=fitting, **reading)
    scenes = _of_kind("predictions", opened.recognised, opened.scenes)
    if pairs is not None:
        triplets, objects = scenes.load(), reading.get("objects")
        if objects is None and triplets.numbering_found and triplets.vocabulary.agents is None:
            # Pair files do not show how the detector numbers objects; the boxes of the triplets do.
            # V-COCO ignores the object labels of pairs.
            objects = triplets.numbering
        origin = reading.get("origin")
        listed = read(pairs, dataset=scenes.vocabulary, origin=origin, objects=objects)
        scenes = merge(triplets, _of_kind("pairs", *listed).load())
    return scenes, opened.annotations


class Opened(NamedTuple):
    """The content of a file, with the result of recognising it.

    Parameters
    ----------
    recognised : Recognised
        The result of recognising the file.
    scenes : Scenes or another source of them
        The predictions, pairs or annotations.
    annotations : Scenes or another source of them, or None
        The annotations that the file holds in addition to predictions.
    cut : bool
        Whether only the first images were read.
    """

    recognised: Recognised
    scenes: SceneSource
    annotations: SceneSource | None
    cut: bool


def open_file(
    path: _Path,
    *,
    annotated: bool = True,
    fitting: bool = True,
    most: int | None = None,
    **reading: Unpack[Reading],
) -> Opened:
    """Open a file of any kind, including any annotations that it has besides predictions.

    Parameters and errors are as in :func:`read`; ``annotated`` and ``fitting`` are as in
    :func:`open_both`, and ``most`` is as in :func:`diaghoi.formats.content.load`.
    """
    check_reading(reading)
    with collector_off():
        content = load(path, most=most)
        beside, annotations = content.annotations if annotated else None, None
        found, scenes = _open(content.predictions, reading, fitting=fitting and beside is None)
        if beside is not None:
            also: Reading = {"dataset": scenes.vocabulary, "origin": reading.get("origin")}
            annotations = _of_kind("annotations", *_open(beside, also))
            if fitting and reading.get("dataset") is None:
                check_fit(annotations, named=beside.benchmark is not None)
        cut = content.cut
        del content, beside  # free millions of small objects before the next file is read
        give_back_freed_memory()
    return Opened(found, scenes, annotations, cut)


def _of_kind(kind: Kind, found: Recognised, scenes: SceneSource) -> SceneSource:
    """Reject files that are not of the given kind, and annotations without images."""
    if kind == "annotations" and len(scenes) == 0:
        raise InputError(f"{scenes.source}: contains no images; give a file with annotations")
    if found.kind != kind and (len(scenes) or kind == "predictions"):
        raise InputError(
            f"{scenes.source}: holds {found.kind} ({found.format}), but {_KINDS[kind][0]} are "
            f"needed here; {_KINDS[found.kind][1]}"
        )
    return scenes


def check_reading(reading: Reading) -> None:
    """Reject unknown parameters, and values that no format accepts, before a file is read.

    Raises
    ------
    InputError
        If a parameter is unknown or its value is invalid; the message names the parameter.
    """
    for name in reading.keys() - Reading.__annotations__.keys():
        known = close_matches(name, Reading.__annotations__)
        raise InputError(f"`{name}`: is not a parameter{known}; leave it out")
    given, format, objects = reading.get("dataset"), reading.get("format"), reading.get("objects")
    words = None if given is None else vocabulary(given)
    if objects is not None and (words is not None or objects not in VOCABULARIES):
        check_numbering(objects, tuple(object_numberings() if words is None else numberings(words)))
    if format is not None:
        check_format(format)
    for key in ("origin", "verbs", "classes"):
        if (first := reading.get(key)) not in (None, 0, 1):
            raise InputError(f"--read {key}={first}: the numbers in a file start at 0 or at 1")
    boxes, top = reading.get("boxes"), reading.get("top")
    if boxes not in (None, *LAYOUTS):
        raise InputError(
            f"--read boxes: {boxes!r:.40} is not known; give one of {', '.join(LAYOUTS)}"
        )
    if top is not None and top < 1:
        raise InputError(f"--read top={top}: the number of triplets per image must be at least 1")
