"""Read the predictions that a command evaluates, and their annotations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from diaghoi.cli import options
from diaghoi.cli.locate import LocatedFile, find_annotations
from diaghoi.cli.options import Key, keyed, option, options_class
from diaghoi.cli.progress import Progress
from diaghoi.data.arrays import StrArray
from diaghoi.data.boxes import LAYOUTS
from diaghoi.data.groups import UnclearBaseError, read_groups
from diaghoi.data.groups import zero_shot as zero_shot_split
from diaghoi.data.joining import only_images, shared_images
from diaghoi.data.protocol import PROTOCOLS, Group, Protocol, spelt
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import VOCABULARIES, Vocabulary
from diaghoi.diagnosis.inputs import naming_own_data as naming_own_data
from diaghoi.diagnosis.inputs import read_inputs
from diaghoi.exceptions import InputError, number_of
from diaghoi.formats import open_file
from diaghoi.formats.content import FIRST
from diaghoi.formats.description import vocabulary as vocabulary_named

_BINARY = options.choice_of("0", "1")
_WHOLE = Key("", lambda value: int(_BINARY(value)), None, "0|1")
READ = {
    "format": Key("the format of the predictions", metavar="NAME"),
    "origin": _WHOLE._replace(help="origin of the coordinates of predicted boxes"),
    "objects": Key(
        "numbering of objects: coco80, coco91, hico80, coco80-1 or coco91-0",
        metavar="NUMBERING",
    ),
    "verbs": _WHOLE._replace(help="triplets hold verbs, and the first verb has this number"),
    "classes": _WHOLE._replace(
        help="triplets hold HOI classes, and the first class has this number"
    ),
    "boxes": Key(f"layout of a box: {', '.join(LAYOUTS)}", metavar="LAYOUT"),
    "top": Key(
        "number of triplets to read per image of dense arrays, best first; at least 100 are read",
        options.whole(1, options.MOST_ROWS),
        metavar="N",
    ),
    "instances": Key("COCO instances that belong to vcoco_test.json", Path, metavar="FILE"),
    "ids": Key("image ids that belong to vcoco_test.json", Path, metavar="FILE"),
    "image-id": Key("the image of a V-COCO file with one unnamed image", metavar="ID"),
}
"""Keys of ``--read``, which tell how to read a file if the content of the file does not."""


@options_class
class ReadingOptions:
    """Options for reading the input files of a command."""

    dataset: options.Dataset = None
    read: list[str] | None = option(
        None,
        metavar="KEY=VALUE,...",
        panel=options.READING,
        help="How to read files that are not recognised correctly; --read help lists the keys.",
        callback=options.helping("--read", READ),
        is_eager=True,
    )
    force: bool = option(
        False, panel=options.READING, help="Evaluate predictions even if they look misread."
    )

    def __post_init__(self) -> None:
        self.words()

    def words(self, *left_out: str) -> dict[str, Any]:
        """Return the keyword arguments for the readers, except keywords that the command refuses.

        Raises
        ------
        InputError
            If the user gives a refused key, or :func:`diaghoi.cli.options.keyed` raises an error.
        """
        words: dict[str, Any] = {"dataset": self.dataset} | dict.fromkeys(map(_word, READ))
        for name, value in keyed("--read", self.read or (), READ).items():
            if _word(name) in left_out:
                raise InputError(
                    f"--read {name}: does not apply to this command; leave the key out"
                )
            words[_word(name)] = value
        return {name: value for name, value in words.items() if name not in left_out}

    def of_study(self, **more: Any) -> dict[str, Any]:
        """Return the values that override a study's values."""
        words = self.words()
        given = more | {name: words.pop(name) for name in ("dataset", "instances", "ids")}
        reading = {name: value for name, value in words.items() if value is not None}
        given["reading"] = reading or None
        return {name: value for name, value in given.items() if value is not None}


def _word(key: str) -> str:
    return key.replace("-", "_")


@options_class
class ProtocolOptions:
    """Options for evaluating detectors."""

    protocol: str | None = option(
        None,
        metavar="NAME,...",
        panel=options.COUNTS,
        help="Evaluation protocol [that of the data set], changed by iou=0.75, "
        "ap=area, rare=test, top=100; or, in quotes, the protocol line of a report. --protocol "
        "help lists the names.",
        callback=options.explaining(
            lambda: (
                f"--protocol NAME,KEY=VALUE,...; the names are:\n{chr(10).join(PROTOCOLS)}\n"
                "The usual keys are iou, ap (11-point, area, 101-point), rare (train, test) and "
                "top (triplets of an image)."
            )
        ),
        is_eager=True,
    )
    zero_shot: str | None = option(
        None,
        panel=options.COUNTS,
        help="Report the unseen and seen classes of RF-UC, NF-UC, UO, UV or uc0 to uc4.",
    )
    groups: Path | None = option(
        None,
        panel=options.COUNTS,
        help='Report groups of classes, from a JSON file {"name": [classes], "base": 1}.',
    )

    @property
    def files(self) -> list[Path]:
        """Input files."""
        return [] if self.groups is None else [self.groups]

    def made(self, vocabulary: Vocabulary, notes: list[str] | None = None) -> Protocol:
        """Create the protocol for a data set; record in ``notes`` how groups were read."""
        if self.zero_shot is not None and self.groups is not None:
            raise InputError("--zero-shot and --groups: give only one of them")
        groups: tuple[Group, ...] = ()
        if self.zero_shot is not None:
            groups = zero_shot_split(self.zero_shot, vocabulary)
        elif self.groups is not None:
            groups = read_groups(self.groups, vocabulary, [] if notes is None else notes)
        usual = vocabulary.protocol
        chosen = usual if self.protocol is None else self.protocol
        return protocol_named(chosen, usual=usual, groups=groups or None)

    def notes(self, vocabulary: Vocabulary) -> list[str]:
        """Return notes on how the groups of classes were read."""
        notes: list[str] = []
        self.made(vocabulary, notes)
        return notes

    def top(self, vocabulary: Vocabulary) -> int | None:
        """Return how many triplets per image count, if the user changes this number."""
        if self.protocol is None:
            return None
        usual = vocabulary.protocol
        chosen = spelt(self.protocol, usual)
        return None if chosen.top == spelt(chosen.name, usual).top else chosen.top

    def check(self, vocabulary: Vocabulary | None) -> None:
        """Reject choices that do not suit the named data set or, if none is named, any data set."""
        try:
            check_choice(self.made, vocabulary)
        except UnclearBaseError:
            # The names of splits depend on the data set, which may be unknown before the files are
            # read.
            if vocabulary is not None:
                raise


class Inputs(NamedTuple):
    """The data that a command evaluates.

    Parameters
    ----------
    annotations, predictions : Scenes or another source of them
        Scenes of one data set; scenes that can be read on demand stay in the file.
    files : list of pathlib.Path
        Files of annotations, predictions and pairs.
    notes : list of str
        Where the annotations were found, and warnings about implausible input.
    coverage : dict or None
        Values for the result with ``--only-predicted-images``: ``annotated_images`` and
        ``predicted_images`` of the files, ``shared_images``, and ``only_predicted_images``, True.
    """

    annotations: SceneSource
    predictions: SceneSource
    files: list[Path]
    notes: list[str]
    coverage: dict[str, Any] | None = None

    @property
    def scenes(self) -> tuple[Scenes, Scenes]:
        """Annotations and predictions, entirely in memory."""
        return self.annotations.load(), self.predictions.load()

    @property
    def vocabulary(self) -> Vocabulary:
        """The data set."""
        return self.annotations.vocabulary

    def only(self, names: StrArray) -> Inputs:
        """Keep only the images that are in all files; a note says how many are left out.

        Parameters
        ----------
        names : (N,) str array
            As from :func:`diaghoi.data.joining.shared_images`.

        Raises
        ------
        InputError
            If no image is in all files.
        """
        annotations, predictions = self.annotations, self.predictions
        if not len(names):
            raise InputError(
                f"{predictions.source or 'predictions'}: --only-predicted-images: no image is in "
                "all files; do these predictions belong to another split or data set?"
            )
        left = (
            number_of(f"{which} image", len(scenes) - len(names))
            for which, scenes in (("annotated", annotations), ("predicted", predictions))
        )
        note = (
            f"--only-predicted-images: evaluates only {number_of('image', len(names))} that all "
            f"files share; left out are {' and '.join(left)}"
        )
        coverage = {
            "annotated_images": len(annotations),
            "predicted_images": len(predictions),
            "shared_images": len(names),
            "only_predicted_images": True,
        }
        return Inputs(
            only_images(annotations, names),
            only_images(predictions, names),
            *(self.files, [*self.notes, note], coverage),
        )


@options_class
class DetectorOptions:
    """Files of a detector except the predictions, and options for reading and evaluation.

    By default, annotations are taken from the prediction file if the file has any; otherwise the
    usual places are searched.
    """

    annotations: options.Annotations = None
    pairs: options.Pairs = None
    reading: ReadingOptions
    only_predicted_images: options.OnlyPredicted = False
    evaluation: ProtocolOptions

    @property
    def vocabulary(self) -> Vocabulary:
        """The data set, if known before files are read."""
        words = vocabulary_named(self.reading.dataset or "hico-det")
        given = None if words.known else self.annotations
        return words if given is None else replace(words, annotations=given)

    @property
    def named(self) -> Vocabulary | None:
        """The data set, if the user names it."""
        return self.vocabulary if self.reading.dataset else None

    @property
    def words(self) -> Any:
        """Options of the readers, with the number of triplets per image that count."""
        words, top = self.reading.words(), self.evaluation.top(self.vocabulary)
        return words if top is None else words | {"top": top}

    @property
    def of_predictions(self) -> Any:
        """Options for reading predictions, without the files that accompany annotations."""
        return self.words | {"instances": None, "ids": None}

    @property
    def files(self) -> list[Path | None]:
        """Files named by the user."""
        words = self.reading.words("dataset")
        beside = [self.annotations, self.pairs, words["instances"], words["ids"]]
        return [*beside, *self.evaluation.files]

    def read(
        self, predictions: Path, bar: Progress, check: Callable[[list[Path | None]], Any]
    ) -> Inputs:
        """Read predictions and annotations.

        Parameters
        ----------
        predictions : pathlib.Path
            The file.
        bar : Progress
            Display that shows the current step.
        check : callable
            Called with all input files once they are known, to refuse outputs that would overwrite
            them.

        Raises
        ------
        InputError
            If a file cannot be read or found.
        """
        files, force = [predictions], self.reading.force

        def find(vocabulary: Vocabulary, held: bool) -> LocatedFile:
            own = LocatedFile(predictions, [f"annotations: read from {predictions}"])
            mine = held and self.annotations is None
            located = own if mine else find_annotations(vocabulary, self.annotations)
            check([predictions, *self.files, located.path])
            bar.start("reading annotations")
            files.append(located.path)
            return located

        bar.start("reading predictions")
        given, how = self.named, self.of_predictions
        with naming_own_data(predictions, None, force or given is not None):
            check_annotations(self.annotations, given, predictions, fitting=not force, **how)
        truth, found, notes = read_inputs(
            self.annotations, predictions, pairs=self.pairs, force=force, find=find, **self.words
        )
        files += filter(None, [self.pairs])
        read = Inputs(truth, found, files, notes)
        if self.only_predicted_images:
            return read.only(shared_images(truth.names, found.names))
        return read


def check_choice(choice: Callable[[Vocabulary], object], vocabulary: Vocabulary | None) -> None:
    """Reject a choice that suits no data set, before files are read to identify the data set.

    Parameters
    ----------
    choice : callable
        Function that takes a data set, and raises :class:`InputError` if the choice does not suit
        the data set.
    vocabulary : Vocabulary or None
        The data set, if known.

    Raises
    ------
    InputError
        If the choice suits no data set; the error is for the first data set.
    """
    errors = []
    for each in map(vocabulary_named, VOCABULARIES) if vocabulary is None else [vocabulary]:
        try:
            choice(each)
            return
        except InputError as error:
            errors.append(error)
    raise errors[0]


def check_annotations(
    path: Path | None,
    vocabulary: Vocabulary | None,
    predictions: Path,
    find: Callable[[Vocabulary], object] = find_annotations,
    *,
    fitting: bool = True,
    **reading: Any,
) -> None:
    """Raise an error if annotations cannot be found, before reading most of the predictions.

    Parameters
    ----------
    path : pathlib.Path or None
        The annotation file or folder that the user names; None if not given.
    vocabulary : Vocabulary or None
        The data set, if the user names it.
    predictions : pathlib.Path
        The prediction file. The first images in the file tell which data set it belongs to, and
        whether it has annotations.
    find : callable
        Finds the annotations of a data set, or raises an error if there are none.
    fitting : bool
        Whether the predictions must fit a known data set if the user names none.
    **reading
        How to read the predictions.

    Raises
    ------
    InputError
        If ``find`` raises an error, a folder has no annotations, or predictions are unreadable.
    """
    if path is not None:
        if vocabulary is not None:
            find_annotations(vocabulary, path)
        return
    with suppress(InputError):
        check_choice(find_annotations, vocabulary)
        return
    reading["dataset"] = vocabulary
    opened = open_file(predictions, most=FIRST, fitting=fitting, **reading)
    if opened.annotations is None:
        find(opened.scenes.vocabulary)
