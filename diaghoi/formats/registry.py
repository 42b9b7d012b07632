"""All formats, also of other packages; recognise the format and the data set of a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points

from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats import (
    columnar,
    dense_arrays,
    gen_vlkt,
    hoidet,
    named,
    pair_lists,
    ppdm,
    ten_numbers,
    triplet_lists,
    words,
)
from diaghoi.formats.base import Format, Kind, OwnDataError, Recognised, UnclearDataSetError
from diaghoi.formats.checks import key_names
from diaghoi.formats.content import Content, load
from diaghoi.formats.datasets import vocabulary
from diaghoi.formats.hico_det import anno_bbox, anno_list, cdn_json
from diaghoi.formats.hico_det import detections as hico_detections
from diaghoi.formats.hico_det import instances as hico_instances
from diaghoi.formats.ican import results as ican
from diaghoi.formats.pickle import collector_off
from diaghoi.formats.v_coco import annotations as vcoco_annotations
from diaghoi.formats.v_coco import results as vcoco_results

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        columnar.FORMAT,
        gen_vlkt.FORMAT,
        ppdm.FORMAT,
        triplet_lists.FORMAT,
        pair_lists.FORMAT,
        dense_arrays.FORMAT,
        ten_numbers.Converted(),
        hico_detections.FORMAT,
        hico_instances.FORMAT,
        cdn_json.FORMAT,
        anno_bbox.FORMAT,
        anno_list.FORMAT,
        vcoco_annotations.FORMAT,
        vcoco_results.FORMAT,
        ican.FORMAT,
        ten_numbers.ByImage(),
        named.HoiTransformer(),
        hoidet.FORMAT,
        named.AgentHoi(),
        words.HoiR1(),
        ten_numbers.ByClass(),
        named.DaHoi(),
        words.Words(),
    )
}

DEFAULT = "hico-det"
# Entry points under which other packages register their formats.
GROUP = "diaghoi.formats"


@cache
def known_formats() -> dict[str, Format]:
    """All formats by name: those of this package, then those that others have registered.

    A package registers one with an entry point in the group ``diaghoi.formats`` that names a
    subclass of :class:`~diaghoi.formats.Format`. It is tried after those of this package.

    Raises
    ------
    InputError
        For a registered format that cannot be loaded, or has the name of another.
    """
    found = dict(FORMATS)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        owner = entry.dist.name if entry.dist is not None else "a package"
        try:
            chosen = entry.load()
        except Exception as error:  # whatever the other package does wrong
            problem = f"cannot be loaded ({type(error).__name__}: {error})"
        else:
            if isinstance(chosen, type) and issubclass(chosen, Format):
                chosen = chosen()
            problem = "" if isinstance(chosen, Format) else f"is a {type(chosen).__name__}"
            if not problem and chosen.name in found:
                problem = "has the name of another format"
        if problem:
            raise InputError(
                f"the format {entry.name!r} of {owner} {problem}; fix or uninstall {owner}"
            )
        found[chosen.name] = chosen
    return found


def recognise(path: str | os.PathLike[str]) -> Recognised:
    """Identify a file from its content.

    Parameters
    ----------
    path : path
        A file, or the folder of the official evaluator's result files.

    Returns
    -------
    Recognised
        Format, data set, and whether it holds annotations, predictions or pairs.

    Raises
    ------
    InputError
        For a damaged file or an unknown format.
    """
    with collector_off():
        content = load(path).predictions
        chosen, kind = matching(content)
        return described(content, chosen, kind, vocabulary_of(content, chosen, None))


def described(
    content: Content,
    chosen: Format,
    kind: Kind,
    given: Vocabulary,
    numbering: Mapping[str, str] | None = None,
) -> Recognised:
    """Describe a recognised file."""
    return Recognised(
        format=chosen.name,
        kind=kind,
        title=chosen.title,
        container=content.container,
        dataset=given.name,
        numbering=dict(numbering or {}),
    )


def vocabulary_of(
    content: Content, chosen: Format, given: Vocabulary | None, *, fitting: bool = True
) -> Vocabulary:
    """Determine the data set from the content of a file and the user's choice.

    Parameters
    ----------
    content : Content
        The file.
    chosen : Format
        Its format.
    given : Vocabulary or None
        The data set that the user chose.
    fitting : bool
        Whether a file must fit a known data set if the user chose none.

    Raises
    ------
    InputError
        If they contradict each other, or the file is for an unknown data set.
    """
    if given is None and fitting and (problem := chosen.misfit(content)):
        raise OwnDataError(
            f"{content.file}: fits no data set that is known: {problem}", [content.path]
        )
    found = chosen.dataset(content)
    names = set() if given is None else {given.name, None if chosen.single else given.of}
    either = () if found else chosen.either(content)
    if either and (given is None or (given.known and names.isdisjoint(either))):
        raise UnclearDataSetError(
            f"{content.file}: may be for {' or '.join(either)}: both have its numbers; "
            f"give --dataset {' or --dataset '.join(either)}"
        )
    if given is None:
        if found is not None and found not in VOCABULARIES:
            raise InputError(
                f"{content.file}: is for the data set {found!r:.40}, which is not known; known: "
                f"{', '.join(VOCABULARIES)}; give the description of any other with --dataset "
                "FILE.toml"
            )
        return vocabulary(found or DEFAULT)
    if found is not None and found not in names and (given.known or chosen.single):
        raise InputError(
            f"{content.file}: is for {found} ({chosen.name}), and {given.name} is expected here; "
            f"give a file for {given.name}, or the --dataset of this one"
        )
    return given


def matching(content: Content) -> tuple[Format, Kind]:
    """Find the format of a file.

    Raises
    ------
    InputError
        If no format recognises it.
    """
    for candidate in known_formats().values():
        kind = candidate.recognise(content)
        if kind is not None:
            return candidate, kind
    if content.container == "mat" and "list_action" in content.value:
        raise InputError(
            f"{content.file}: holds HICO's image labels instead of boxes; give it with "
            "--image-labels, and anno_bbox.mat or instances_test2015.json with --annotations"
        )
    if isinstance(content.value, dict) and {"images", "categories"} <= content.value.keys():
        raise InputError(
            f"{content.file}: holds boxes as COCO lists them, without interactions; if it belongs "
            "to V-COCO, give it with --read instances=FILE, and vcoco_test.json with --annotations"
        )
    raise InputError(
        f"{content.file}: not a known format: {_outline(content)}; known formats: "
        f"{some_of(list(known_formats()), 8)}"
    )


def forced(content: Content, name: str) -> tuple[Format, Kind]:
    """Use the format given by the user.

    Raises
    ------
    InputError
        If the name is unknown, or the file is not in that format.
    """
    check_format(name)
    formats = known_formats()
    kind = formats[name].recognise(content)
    if kind is not None:
        return formats[name], kind
    try:
        found, kind = matching(content)
        looks = f"it looks like {found.name} ({kind}); leave --read format out"
    except InputError:
        looks = f"nor in any other known one: {_outline(content)}"
    raise InputError(f"{content.file}: is not in the format {name}; {looks}")


def check_format(name: str) -> None:
    """Refuse the name of a format that does not exist.

    Raises
    ------
    InputError
        With similar names, and all known ones.
    """
    formats = known_formats()
    if name not in formats:
        begun = [known for known in formats if name and known.startswith(name)]
        hint = f" (did you mean {' or '.join(map(repr, begun))}?)" if begun else ""
        raise InputError(
            f"unknown format {name!r}{hint or close_matches(name, formats)}; known: "
            f"{', '.join(formats)}"
        )


def _outline(content: Content) -> str:
    """Describe the content of a file of unknown format, with suggestions for its keys."""
    value, keys = content.value, list(content.first)
    if content.container in ("npz", "mat"):
        keys = list(value)
        what = f"{content.container} file with {_keys(keys)}"
    elif isinstance(value, dict):
        keys = list(value)
        what = f"a dict in {content.container} with {_keys(keys)}"
    elif isinstance(value, list | tuple) and content.first:
        what = f"a list of {len(value)} dicts in {content.container} with {_keys(keys)}"
    elif isinstance(value, list | tuple) and value:
        what = f"a list of {len(value)} {type(value[0]).__name__} in {content.container}"
    else:
        what = f"{type(value).__name__} in {content.container}"
    known = {key for candidate in known_formats().values() for key in candidate.keys}
    names = key_names(keys[:100])
    hints = [name + close_matches(name, known) for name in names if name not in known]
    close = [hint for hint in hints if "did you mean" in hint]
    return f"{what}; {some_of(close)}" if close else what


def _keys(keys: Sequence[object]) -> str:
    names = [*(name[:40] for name in key_names(keys[:8])), *map(str, range(8, len(keys)))]
    return f"the keys {some_of(names, 8)}" if keys else "no keys"
