"""Reading files of every format to :class:`~diaghoi.data.scenes.Scenes`."""

from __future__ import annotations

import os

from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options, Recognised
from diaghoi.formats.columns.merging import merge
from diaghoi.formats.containers.content import Content, load
from diaghoi.formats.containers.pickles import collector_off
from diaghoi.formats.datasets import vocabulary
from diaghoi.formats.recognition import described, forced, matching, vocabulary_of
from diaghoi.formats.v_coco import annotations as vcoco_annotations
from diaghoi.formats.v_coco import results as vcoco_results

_Path = str | os.PathLike[str]


def read(
    path: _Path,
    *,
    format: str | None = None,
    dataset: str | Vocabulary | None = None,
    origin: int | None = None,
    objects: str | None = None,
    top: int | None = None,
    instances: _Path | None = None,
    ids: _Path | None = None,
    image_id: str | int | None = None,
) -> tuple[Recognised, Scenes]:
    """Read a file of any format, and identify it.

    Parameters
    ----------
    path : path
        A file, or the folder of the official evaluator's result files.
    format : str, optional
        Name of a format, instead of recognising it.
    dataset : str or Vocabulary, optional
        The data set, or the ``.toml`` file that describes it; by default as recognised, or HICO-DET
        if the file does not show it.
    origin : {0, 1}, optional
        Whether coordinates start at zero or one; by default the convention of the format.
    objects : {'coco80', 'coco91', 'hico80'}, optional
        How objects are numbered; by default determined from the format and the human boxes.
    top : int, optional
        Triplets kept per image of dense arrays; in HICO-DET at least 100, the default, because the
        official evaluator uses 100. Other formats are read completely. To evaluate fewer triplets,
        give ``top`` to the protocol.
    instances, ids : path, optional
        The COCO instances file and the ``.ids`` file that belong to V-COCO annotations in the
        official layout; by default searched for beside the file.
    image_id : str or int, optional
        The image of a V-COCO prediction file that holds one image and does not name it.

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
    recognised, source = _open(
        path,
        format=format,
        dataset=dataset,
        origin=origin,
        objects=objects,
        top=top,
        instances=instances,
        ids=ids,
        image_id=image_id,
    )
    return recognised, source.load()


def _open(
    path: _Path,
    *,
    format: str | None,
    dataset: str | Vocabulary | None,
    origin: int | None,
    objects: str | None,
    top: int | None = None,
    instances: _Path | None = None,
    ids: _Path | None = None,
    image_id: str | int | None = None,
) -> tuple[Recognised, SceneSource]:
    """Like :func:`read`, but leave in the file what can be read on demand."""
    given = vocabulary(dataset) if isinstance(dataset, str) else dataset
    if origin not in (None, 0, 1):
        raise InputError(f"--origin {origin}: boxes are counted from 0 or from 1")
    if top is not None and top < 1:
        raise InputError(f"--top {top}: the number of triplets of an image must be at least 1")
    with collector_off():
        content = load(path)
        chosen, kind = matching(content) if format is None else forced(content, format)
        chosen_vocabulary = vocabulary_of(content, chosen, given)
        options = Options(
            vocabulary=chosen_vocabulary,
            origin=origin,
            objects=objects,
            top=top,
            instances=instances,
            ids=ids,
            image_id=None if image_id is None else str(image_id),
        )
        _check_options(content, chosen, options)
        scenes = chosen.read(content, kind, options)
        recognised = described(content, chosen, kind, chosen_vocabulary)
        del content  # free millions of small objects before the next file is read
    return recognised, scenes


def read_annotations(
    path: _Path,
    *,
    format: str | None = None,
    dataset: str | Vocabulary | None = None,
    origin: int | None = None,
    objects: str | None = None,
    instances: _Path | None = None,
    ids: _Path | None = None,
) -> Scenes:
    """Read annotations.

    Parameters
    ----------
    path : path
        The file.
    format, dataset, origin, objects, instances, ids
        As in :func:`read`.

    Returns
    -------
    Scenes
        Without scores.

    Raises
    ------
    InputError
        For an invalid file, or one without annotations or images.
    """
    return open_annotations(
        path,
        format=format,
        dataset=dataset,
        origin=origin,
        objects=objects,
        instances=instances,
        ids=ids,
    ).load()


def open_annotations(
    path: _Path,
    *,
    format: str | None = None,
    dataset: str | Vocabulary | None = None,
    origin: int | None = None,
    objects: str | None = None,
    instances: _Path | None = None,
    ids: _Path | None = None,
) -> SceneSource:
    """Open annotations for :func:`diaghoi.diagnose`, like :func:`open_predictions`.

    Parameters and errors are those of :func:`read_annotations`; errors in the values of a file may
    be raised later, when they are read.
    """
    found, scenes = _open(
        path,
        format=format,
        dataset=dataset,
        origin=origin,
        objects=objects,
        instances=instances,
        ids=ids,
    )
    if len(scenes) == 0:
        raise InputError(f"{scenes.source}: no images; annotations are needed")
    _expect("annotations", found, scenes)
    return scenes


def read_predictions(
    path: _Path,
    *,
    pairs: _Path | None = None,
    format: str | None = None,
    dataset: str | Vocabulary | None = None,
    origin: int | None = None,
    objects: str | None = None,
    top: int | None = None,
    image_id: str | int | None = None,
) -> Scenes:
    """Read predictions, and the scored pairs from a separate file.

    Parameters
    ----------
    path : path
        The file or folder with the triplets.
    pairs : path, optional
        The pair file of the same detector. Its objects are read in the numbering found in the
        triplets, unless ``objects`` is given.
    format, dataset, origin, objects, top, image_id
        As in :func:`read`; ``format`` is that of ``path``.

    Returns
    -------
    Scenes
        With ``pair_score`` if pairs are listed; images without triplets are kept.

    Raises
    ------
    InputError
        For an invalid file, or one without predictions.
    """
    return open_predictions(
        path,
        pairs=pairs,
        format=format,
        dataset=dataset,
        origin=origin,
        objects=objects,
        top=top,
        image_id=image_id,
    ).load()


def open_predictions(
    path: _Path,
    *,
    pairs: _Path | None = None,
    format: str | None = None,
    dataset: str | Vocabulary | None = None,
    origin: int | None = None,
    objects: str | None = None,
    top: int | None = None,
    image_id: str | int | None = None,
) -> SceneSource:
    """Open predictions for :func:`diaghoi.diagnose`, which reads the package's own files in blocks.

    Such a file may be larger than memory; others are read completely. Parameters and errors are
    those of :func:`read_predictions`; errors in the values of a file may be raised later, when they
    are read.
    """
    found, scenes = _open(
        path,
        format=format,
        dataset=dataset,
        origin=origin,
        objects=objects,
        top=top,
        image_id=image_id,
    )
    _expect("predictions", found, scenes)
    if pairs is None:
        return scenes
    if objects is None and scenes.vocabulary.agents is None:
        # Pair files are read in a fixed numbering; the boxes of the triplets show that of the
        # detector. V-COCO ignores the object labels of pairs.
        objects = scenes.numbering
    found, listed = read(pairs, dataset=scenes.vocabulary, origin=origin, objects=objects)
    _expect("pairs", found, listed)
    return merge(scenes.load(), listed)


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
        "instances": (vcoco_annotations.FORMAT, "--instances"),
        "ids": (vcoco_annotations.FORMAT, "--ids"),
        "image_id": (vcoco_results.FORMAT, "--image-id"),
    }
    for key, (owner, option) in belongs.items():
        if getattr(options, key) is not None and chosen is not owner:
            raise InputError(
                f"{content.file}: {option} is for {owner.title}, but this file is in the format "
                f"{chosen.name}; leave it out"
            )
