"""Reading files of every format to :class:`~diaghoi.data.scenes.Scenes`."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from diaghoi.data.arrays.allocation import give_back_freed_memory
from diaghoi.data.arrays.types import IntArray
from diaghoi.data.pixels import LAYOUTS
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary, object_numberings
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.base import (
    Format,
    Kind,
    Options,
    OwnDataError,
    Reading,
    Recognised,
    UnknownNumberError,
)
from diaghoi.formats.content import Content, load
from diaghoi.formats.datasets import vocabulary
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
from diaghoi.formats.registry import (
    check_format,
    described,
    forced,
    matching,
    vocabulary_of,
)
from diaghoi.formats.v_coco import annotations as vcoco_annotations
from diaghoi.formats.v_coco import results as vcoco_results
from diaghoi.formats.v_coco.keys import numbered

if TYPE_CHECKING:
    from typing_extensions import Unpack

_Path = str | os.PathLike[str]


def read(path: _Path, **reading: Unpack[Reading]) -> tuple[Recognised, Scenes]:
    """Read a file of any format, and identify it.

    Parameters
    ----------
    path : path
        A file, or the folder of the official evaluator's result files.
    **reading
        How to read it: :class:`diaghoi.formats.Reading`.

    Returns
    -------
    recognised : Recognised
        Format and data set of the file.
    scenes : Scenes
        Its content.

    Raises
    ------
    InputError
        For invalid content or options; the message names file, image, field and value.
    """
    opened = open_file(path, annotated=False, **reading)
    return opened.recognised, opened.scenes.load()


def _open(
    content: Content, reading: Reading, *, fitting: bool = True
) -> tuple[Recognised, SceneSource]:
    """Read what was loaded, but leave in the file what can be read on demand."""
    dataset, format = reading.get("dataset"), reading.get("format")
    given = None if dataset is None else vocabulary(dataset)
    chosen, kind = matching(content) if format is None else forced(content, format)
    chosen_vocabulary = vocabulary_of(content, chosen, given, fitting=fitting)
    image_id = reading.get("image_id")
    options = Options(
        vocabulary=chosen_vocabulary,
        origin=reading.get("origin"),
        objects=reading.get("objects"),
        verbs=reading.get("verbs"),
        classes=reading.get("classes"),
        boxes=reading.get("boxes"),
        top=reading.get("top"),
        instances=reading.get("instances"),
        ids=reading.get("ids"),
        image_id=None if image_id is None else str(image_id),
        annotated=partial(_annotated_classes, content.path, chosen_vocabulary),
    )
    _check_options(content, chosen, options)
    # Who says how numbers are to be read takes the file as it is.
    asked = any(value is not None for value in (options.objects, options.verbs, options.classes))
    fitting = fitting and given is None and not asked
    try:
        scenes = chosen.read(content, kind, options)
    except UnknownNumberError as error:
        slip = len(error.unknown) < ENOUGH or error.unknown.sum() < FEW
        if not fitting or slip:
            raise
        raise OwnDataError(str(error), [content.path]) from None
    if fitting and (kind == "annotations" or scenes.scored):
        check_fit(scenes, named=content.benchmark is not None)
    if chosen_vocabulary.of == "v-coco":
        names = numbered(scenes.names.tolist())
        scenes = scenes.with_names(np.array(names, dtype=np.str_))
    found = options.notes if given is not None else (*chosen.evidence(content), *options.notes)
    if found:
        notes = tuple(f"{content.file}: {note}" for note in found)
        scenes = replace(scenes.load(), notes=scenes.notes + notes)
    return described(content, chosen, kind, chosen_vocabulary, options.shown), scenes


def check_fit(scenes: SceneSource, *, named: bool = False) -> None:
    """Refuse a file whose triplets are not HOI classes of the data set that it was taken for.

    Files of other data sets may use the same numbers. Of the annotated triplets of HOI-A one in a
    hundred has another combination, of those of the other data sets none. Predictions are judged
    by the best of them.

    Parameters
    ----------
    scenes : Scenes or another source of them
        Annotations or predictions; a file of the package itself names its data set.
    named : bool
        Whether the names of images show the data set, so that some combinations may be slips.

    Raises
    ------
    OwnDataError
        With the share of the triplets that fit.
    """
    if not isinstance(scenes, Scenes) or not len(scenes.triplet_pair):
        return
    words, scored = scenes.vocabulary, scenes.scored
    if words.agents is not None and not scored and not scenes.names[0].isdigit():
        raise OwnDataError(
            f"{scenes.source}: is read as {words.name}, whose images are called by their numbers "
            f"in COCO, and holds image {str(scenes.names[0])!r}",
            [scenes.source],
        )
    if scored and (named or len(scenes.triplet_pair) < ENOUGH):
        return
    chosen = most_confident(scenes.triplet_score, len(scenes.triplet_pair))
    fits = scenes.triplet_class[chosen] >= 0
    slips = scored or named or words.name == "hoi-a"
    if fits.mean() >= (GENUINE if slips else 1):
        return
    what = "best" if scored else "annotated"
    raise OwnDataError(
        f"{scenes.source}: is read as {words.name}, but of its {len(fits):,} {what} triplets only "
        f"{int(fits.sum()):,} are HOI classes of it",
        [scenes.source],
    )


def _annotated_classes(path: Path, words: Vocabulary) -> IntArray:
    """Return the HOI classes of the annotations that a data set names; none while it is read."""
    none = np.zeros(0, dtype=np.int64)
    if words.annotations is None or words.annotations.resolve() == path.resolve():
        return none
    try:
        hoi = read_annotations(words.annotations, dataset=words).triplet_class
    except InputError:  # a command that needs them says what is wrong
        return none
    return np.unique(hoi[hoi >= 0])


def read_annotations(path: _Path, **reading: Unpack[Reading]) -> Scenes:
    """Read annotations.

    Parameters
    ----------
    path : path
        The file.
    **reading
        How to read it: :class:`diaghoi.formats.Reading`.

    Returns
    -------
    Scenes
        Without scores.

    Raises
    ------
    InputError
        For an invalid file, or one without annotations or images.
    """
    return open_annotations(path, **reading).load()


def open_annotations(path: _Path, **reading: Unpack[Reading]) -> SceneSource:
    """Open annotations for :func:`diaghoi.diagnose`, like :func:`open_predictions`.

    Parameters and errors are those of :func:`read_annotations`; errors in the values of a file may
    be raised later, when they are read.
    """
    check_reading(reading)
    with collector_off():
        content = load(path)
        found, scenes = _open(content.annotations or content, reading)
        del content  # free millions of small objects before the next file is read
    return _annotations(found, scenes)


def _annotations(found: Recognised, scenes: SceneSource) -> SceneSource:
    if len(scenes) == 0:
        raise InputError(f"{scenes.source}: no images; annotations are needed")
    _expect("annotations", found, scenes)
    return scenes


def read_predictions(
    path: _Path, *, pairs: _Path | None = None, **reading: Unpack[Reading]
) -> Scenes:
    """Read predictions, and the scored pairs from a separate file.

    Parameters
    ----------
    path : path
        The file or folder with the triplets.
    pairs : path, optional
        The pair file of the same detector. Its objects are read in the numbering found in the
        triplets, unless ``objects`` is given.
    **reading
        How to read them: :class:`diaghoi.formats.Reading`; ``format`` is that of ``path``.

    Returns
    -------
    Scenes
        With ``pair_score`` if pairs are listed; images without triplets are kept.

    Raises
    ------
    InputError
        For an invalid file, or one without predictions.
    """
    return open_predictions(path, pairs=pairs, **reading).load()


def open_predictions(
    path: _Path, *, pairs: _Path | None = None, **reading: Unpack[Reading]
) -> SceneSource:
    """Open predictions for :func:`diaghoi.diagnose`, which reads the package's own files in blocks.

    Such a file may be larger than memory; others are read completely. Parameters and errors are
    those of :func:`read_predictions`; errors in the values of a file may be raised later, when they
    are read.
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
    """Open predictions, and the annotations where the same file holds them.

    Parameters
    ----------
    path, pairs, **reading
        As for :func:`open_predictions`.
    annotated : bool
        Whether annotations are wanted.
    fitting : bool
        Whether predictions must fit a known data set if ``reading`` names none: where annotations
        are at hand, these decide.

    Returns
    -------
    predictions : Scenes or another source of them
        As of :func:`open_predictions`.
    annotations : Scenes or another source of them, or None
        None where the file holds none.

    Raises
    ------
    InputError
        As by :func:`open_predictions` and :func:`open_annotations`.
    """
    opened = open_file(path, annotated=annotated, fitting=fitting, **reading)
    _expect("predictions", opened.recognised, opened.scenes)
    return _with_pairs(opened.scenes, pairs, reading), opened.annotations


class Opened(NamedTuple):
    """What a file holds.

    Parameters
    ----------
    recognised : Recognised
        What it was found to be.
    scenes : Scenes or another source of them
        Its predictions, pairs or annotations.
    annotations : Scenes or another source of them, or None
        The annotations that it holds beside predictions.
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
    """Open a file of any kind, with the annotations that it holds beside predictions.

    Parameters and errors are those of :func:`read`; ``annotated`` and ``fitting`` are those of
    :func:`open_both`, ``most`` that of :func:`diaghoi.formats.content.load`.
    """
    check_reading(reading)
    with collector_off():
        content = load(path, most=most)
        beside = annotated and content.annotations is not None
        found, scenes = _open(content.predictions, reading, fitting=fitting and not beside)
        annotations = None
        if annotated and content.annotations is not None:
            also: Reading = {"dataset": scenes.vocabulary, "origin": reading.get("origin")}
            annotations = _annotations(*_open(content.annotations, also))
            if fitting and reading.get("dataset") is None:
                check_fit(annotations, named=content.annotations.benchmark is not None)
        cut = content.cut
        del content  # free millions of small objects before the next file is read
        give_back_freed_memory()
    return Opened(found, scenes, annotations, cut)


def _with_pairs(scenes: SceneSource, pairs: _Path | None, reading: Reading) -> SceneSource:
    """Add the pairs of another file."""
    if pairs is None:
        return scenes
    triplets, objects = scenes.load(), reading.get("objects")
    if objects is None and triplets.numbering_found and triplets.vocabulary.agents is None:
        # Pair files are read in a fixed numbering; the boxes of the triplets show that of the
        # detector. V-COCO ignores the object labels of pairs.
        objects = triplets.numbering
    found, listed = read(
        pairs, dataset=scenes.vocabulary, origin=reading.get("origin"), objects=objects
    )
    _expect("pairs", found, listed)
    return merge(triplets, listed)


def _expect(kind: Kind, found: Recognised, scenes: SceneSource) -> None:
    """Refuse a file of another kind."""
    advice = {
        "annotations": "give it as --annotations",
        "predictions": "give it as the prediction file",
        "pairs": "give it with --pairs, beside the file with the triplets",
    }
    if found.kind != kind and (len(scenes) or kind == "predictions"):
        needed = {"predictions": "predicted triplets", "pairs": "scored pairs"}.get(kind, kind)
        raise InputError(
            f"{scenes.source}: holds {found.kind} ({found.format}), but {needed} are needed here; "
            f"{advice[found.kind]}"
        )


def _check_options(content: Content, chosen: Format, options: Options) -> None:
    """Refuse options that the format does not support."""
    belongs = {
        "instances": (vcoco_annotations.FORMAT, "--read instances"),
        "ids": (vcoco_annotations.FORMAT, "--read ids"),
        "image_id": (vcoco_results.FORMAT, "--read image-id"),
    }
    for key, (owner, option) in belongs.items():
        if getattr(options, key) is not None and chosen is not owner:
            raise InputError(
                f"{content.file}: {option} is for {owner.title}, but this file is in the format "
                f"{chosen.name}; leave it out"
            )


def check_reading(reading: Reading) -> None:
    """Refuse unknown names, and values that no format has, before a file is read.

    Raises
    ------
    InputError
        With the option.
    """
    for name in reading.keys() - Reading.__annotations__.keys():
        known = close_matches(name, Reading.__annotations__)
        raise InputError(f"`{name}`: is no parameter{known}; leave it out")
    dataset, format = reading.get("dataset"), reading.get("format")
    given = None if dataset is None else vocabulary(dataset)
    objects = reading.get("objects")
    if objects is not None:
        if given is not None:
            check_numbering(objects, tuple(numberings(given)))
        elif objects not in VOCABULARIES:
            check_numbering(objects, tuple(object_numberings()))
    if format is not None:
        check_format(format)
    for key, first, what in (
        ("origin", reading.get("origin"), "boxes"),
        ("verbs", reading.get("verbs"), "verbs"),
        ("classes", reading.get("classes"), "HOI classes"),
    ):
        if first not in (None, 0, 1):
            raise InputError(f"--read {key}={first}: {what} are counted from 0 or from 1")
    boxes = reading.get("boxes")
    if boxes not in (None, *LAYOUTS):
        raise InputError(
            f"--read boxes: {boxes!r:.40} is not known; give one of {', '.join(LAYOUTS)}"
        )
    top = reading.get("top")
    if top is not None and top < 1:
        raise InputError(f"--read top={top}: the number of triplets per image must be at least 1")
