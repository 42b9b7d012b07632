"""Named, frozen evaluation protocols: every choice that affects a score, as data.

Each table, figure and JSON file prints the name of its protocol and the one-line signature of its
choices, so that readers compare only numbers with the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.exceptions import InputError, close_matches


class Group(NamedTuple):
    """A named group of HOI classes, counted from zero, reported in addition to the full mean."""

    name: str
    classes: tuple[int, ...]


MOST = 1_000_000_000
"""Upper limit of choices that are a number of triplets, per image or per class."""
ELEVEN_LEVELS: FloatArray = np.arange(11) * np.float64(0.1)
"""The recall levels of 11-point AP as built by the official evaluators: the fourth is
0.30000000000000004, which a recall of exactly 3/10 does not reach.
"""
AveragePrecision = Literal["11-point", "area", "101-point"]
SEPARATOR, BAR = " | ", "|"
"""Separators of the choices in a signature, and in its short form."""
KEYS = {"ap": "average_precision"}
"""Short names of choices."""
CUT, AS_GIVEN = "triplets", "as given"
"""The choice that depends on the file format, and its value for files that are not truncated."""
RANKING, BY_SCORE, AS_ONE = "predictions of a class", "ranked by score", "all of one rank"
"""The choice that depends on whether detectors have scores, and its values."""
GROUPS = "groups"
# The groups in a signature or a line. Users choose the names of groups; the list ends after the
# number of classes of the last group.
_LISTED = re.compile(rf" ?\| ?{GROUPS}: (.*\(\d+\))(?= ?\||$)", re.DOTALL)

_CLASSES = {
    "all": "all",
    "interactions": "no_interaction left out",
    "roles": "actions with a role",
    "evaluated": "those marked for evaluation",
    "verbs": "verbs, whatever the object",
}
_CLAIMS = {"first left": "the first annotation left", "all left": "all annotations left"}

# Keys of results that no group may have as its name, because group names are also keys of results.
RESERVED = (
    *("full", "zero_shot", "rare", "non_rare", "thesis", "harmonic"),
    *("recall", "precision", "per_image", "source", "human_recall", "object_recall"),
    "mean_object_recall",
    *("map", "max_recall"),
    # Costs of errors, which add up.
    *("human_box", "object_box", "both_boxes", "association", "action", "duplicate", "missed_gt"),
    *("total", "map_repaired", "pairing"),
)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """A set of evaluation choices.

    Parameters
    ----------
    name : str
        Name shown in tables, figures and files.
    classes : {"all", "interactions", "roles", "evaluated", "verbs"}
        HOI classes that count: all classes; classes of real interactions (without
        `no_interaction`); classes with a role for an object; classes that the data set marks for
        evaluation; or, if verbs are the classes, all verbs, whatever the object.
    pairing : {"triplet", "person"}
        How a prediction is matched to its annotation: by both boxes and their categories
        (HICO-DET), or by the person it overlaps most and then by role (V-COCO, where categories do
        not count).
    missing_role : {"empty", "anything"}
        With pairing by person, which predicted boxes fit an annotation without a box for the role:
        only an empty box (V-COCO's scenario 1) or any box (scenario 2).
    considered : int or None
        Number of top predictions per image that may be assigned to unfound annotated triplets; None
        for all.
    duplicates : {"not assigned", "assigned"}
        Whether a duplicate may be assigned to another unfound annotated triplet, as in the
        published Diag-HOI code. According to the paper (appendix B) a duplicate is removed.
    fitting_boxes : {"own", "stored at the rank"}
        Boxes that decide whether a wrong prediction fits an annotated triplet. "stored at the rank"
        is a defect of the published Diag-HOI code on V-COCO: for each image and role, the code uses
        the boxes of the k-th stored prediction instead of the k-th best prediction, so the file
        order changes the cost of errors. Labels, and mAP before repairs, are not affected.
    average_precision : {"11-point", "area", "101-point"}
        Mean of the highest precision at recall 0, 0.1 ... 1; area under the envelope of the
        precision-recall curve (equation 1 of the Diag-HOI paper); or mean at recall 0, 0.01 ... 1,
        as in COCO's evaluator.
    class_without_true_positive : {"zero", "left out"}
        AP of a class with annotations but no true positive. "left out" is the rule of the published
        Diag-HOI code: a class with predictions does not count, whereas a class without predictions
        counts 0 in the full mean and is omitted from rare and non-rare.
    class_without_prediction : {"counted", "left out of groups"}
        Whether an annotated class without predictions counts (as 0) in the means of groups of
        classes. In HOICLIP's code ("left out of groups"), a class without predictions counts in the
        full mean only.
    class_without_annotation : {"left out", "zero", "zero in groups"}
        AP of a class that has no annotations in the evaluated images, or no annotations left after
        missed triplets are repaired. "zero" is the rule of CMD-SE's code, which divides by the
        number of all its classes, and of the published Diag-HOI code on V-COCO. "zero in groups" is
        the rule of QPIC's code on V-COCO: 0 in the means of groups, omitted from the full mean.
    claim : {"best", "first left", "all left"}
        With pairing by triplet, the annotation that a prediction claims, among all annotations
        whose human and object boxes the prediction finds. "best" is the annotation with the largest
        overlap, even if another prediction has found it (the official evaluator). "first left" is
        the first annotation that no better prediction has claimed (QAHOI, GGNet), and "all left"
        are all annotations that no better prediction has claimed, counted as one true positive
        (PPDM's evaluator of HOI-A).
    iou : float
        Minimum intersection over union at which a box is found.
    strict : bool
        Whether the overlap must exceed ``iou``.
    boxes : {"inclusive", "continuous"}
        Whether a box covers whole pixels (width = x2 - x1 + 1) or not.
    added_to_union : float
        Number of square pixels added to the union of two boxes. QAHOI adds a millionth, so that no
        union is 0.
    rare : {"train", "test", "described"}
        Rare classes have fewer than ten instances in the training set (the benchmark) or in the
        test set (the wording of the Diag-HOI paper), or are listed in the description of the data
        set.
    groups : tuple of Group
        Additional groups of classes to report, such as unseen and seen classes.
    top : int or None
        Number of top-scoring triplets per image that count; None for all triplets in the file.
    top_of_class : int or None
        Number of top-scoring triplets of each class, over all images, that AP uses; None for all.
        Errors are counted over all triplets.
    ranking : {"by score", "as one"}
        "as one" is for detectors without scores: all predictions of a class share one rank, since
        no threshold can separate them. The precision-recall curve of a class is a single point.
    repaired_ties : {"input", "turned round"}
        Order of equal scores in an image when errors are repaired. "turned round" is the order of
        the published Diag-HOI code with a stable sort: repaired triplets come first, starting with
        the last annotated triplet, and the rest follows in reverse input order.
    action_ties : {"input", "triplet score"}
        Order of equal action scores in an image: input order, or the order of the triplet scores,
        as in the published Diag-HOI code with a stable sort.
    images_without_predictions : {"counted", "passed over"}
        "passed over" is the rule of the published Diag-HOI code: annotated triplets of images
        without any predicted triplet stay among the positives under every oracle and are not
        missed.
    images_without_annotations : {"counted", "left out"}
        Whether predictions on images without annotated triplets are false positives.
    levels_from : {"zero", "both ends", "tenths"}
        How recall levels are computed in floating point. "zero" takes multiples of 0.1 or 0.01,
        like NumPy, and like Octave in the loop of the official evaluator. "both ends" counts from
        both ends, like ``torch.linspace``, and like MATLAB for a vector (but not in a loop, as far
        as is known). "tenths" takes quotients, 0/10, 1/10 ... 10/10 or 0/100 ... 100/100.
    single_precision_recall : bool
        Whether pair recall is averaged in 32-bit numbers, as in the published Diag-HOI code.
    """

    name: str
    classes: Literal["all", "interactions", "roles", "evaluated", "verbs"]
    pairing: Literal["triplet", "person"] = "triplet"
    missing_role: Literal["empty", "anything"] = "empty"
    considered: int | None = None
    duplicates: Literal["not assigned", "assigned"] = "not assigned"
    fitting_boxes: Literal["own", "stored at the rank"] = "own"
    average_precision: AveragePrecision = "11-point"
    class_without_true_positive: Literal["zero", "left out"] = "zero"
    class_without_prediction: Literal["counted", "left out of groups"] = "counted"
    class_without_annotation: Literal["left out", "zero", "zero in groups"] = "left out"
    claim: Literal["best", "first left", "all left"] = "best"
    iou: float = 0.5
    strict: bool = False
    boxes: Literal["inclusive", "continuous"] = "inclusive"
    added_to_union: float = 0.0
    rare: Literal["train", "test", "described"] = "train"
    groups: tuple[Group, ...] = ()
    top: int | None = None
    top_of_class: int | None = None
    ranking: Literal["by score", "as one"] = "by score"
    repaired_ties: Literal["input", "turned round"] = "input"
    action_ties: Literal["input", "triplet score"] = "input"
    images_without_predictions: Literal["counted", "passed over"] = "counted"
    images_without_annotations: Literal["counted", "left out"] = "counted"
    levels_from: Literal["zero", "both ends", "tenths"] = "zero"
    single_precision_recall: bool = False

    @property
    def choices(self) -> dict[str, str]:
        """Describe all choices by name; the description is empty if the name is sufficient."""
        person, levels = self.pairing == "person", self.levels_from.replace("both", "from both")
        boxes = f"IoU {'>' if self.strict else '>='} {_exact(self.iou)}, {self.boxes} boxes"
        if self.added_to_union:
            boxes += f", union + {_exact(self.added_to_union)}"
        role = self.missing_role if person else self._unless("missing_role")
        if self.average_precision == "101-point":
            levels = levels.replace("tenths", "hundredths")
        rare = None if self.classes == "roles" or self.rare == "described" else self.rare
        # A choice without a value (None) is not mentioned.
        choices = {
            "classes": _CLASSES[self.classes],
            "matched by the person, then the role": "" if person else None,
            "claims": None if person else _CLAIMS.get(self.claim),
            "a role without annotated box fits": role,
            "AP": self.average_precision,
            "class without true positive": self.class_without_true_positive,
            boxes: "",
            "class without prediction": self._unless("class_without_prediction"),
            "class without annotation": self._unless("class_without_annotation"),
            "rare": rare and f"< 10 {rare} instances",
            CUT: AS_GIVEN if self.top is None else f"top {self.top} per image",
            RANKING: self._unless("ranking", AS_ONE),
            f"AP by the best {self.top_of_class} of a class": self._unless("top_of_class", ""),
            "images without predictions": self.images_without_predictions,
            "images without annotations": self._unless("images_without_annotations"),
            "assigned": self._unless("considered", f"{self.considered} best per image"),
            "duplicates": self._unless("duplicates"),
            "boxes that decide what is assigned": self._unless("fitting_boxes"),
            GROUPS: ", ".join(f"{name} ({len(members)})" for name, members in self.groups) or None,
            "recall levels": self._unless("levels_from", levels),
            "equal scores of repaired images": self._unless("repaired_ties"),
            "equal action scores": self._unless("action_ties", f"by {self.action_ties}"),
            "pair recall": self._unless("single_precision_recall", "32 bits"),
        }
        return {choice: value for choice, value in choices.items() if value is not None}

    def _unless(self, field: str, words: str | None = None) -> str | None:
        """Return the value of a choice, in words if available; None for its default."""
        value = getattr(self, field)
        if value == getattr(Protocol, field):
            return None
        return str(value) if words is None else words

    @property
    def signature(self) -> str:
        """Write all choices in one line; :func:`choices_of` reads them back."""
        return SEPARATOR.join(
            f"{choice}: {value}" if value else choice for choice, value in self.choices.items()
        )

    @property
    def levels(self) -> FloatArray | None:
        """Return the recall levels at which precision is read; None if AP is an area."""
        if self.average_precision == "area":
            return None
        steps = 100 if self.average_precision == "101-point" else 10
        step: IntArray = np.arange(steps + 1)
        quotients: FloatArray = step / steps
        if self.levels_from == "tenths":
            return quotients
        multiples: FloatArray = step * np.float64(1 / steps)
        if self.levels_from == "zero":
            return multiples
        # torch.linspace counts the upper half down from the end, which rounds differently.
        return np.where(step < steps // 2, multiples, 1 - multiples[::-1])

    @property
    def of_verbs(self) -> Protocol:
        """Return the protocol without its choices about HOI classes, in order to score verbs."""
        return replace(
            self,
            top_of_class=None,
            class_without_prediction="counted",
            class_without_annotation="left out",
        )

    @property
    def categories_count(self) -> bool:
        """Whether boxes are compared only with boxes of the same category."""
        return self.pairing == "triplet"

    @property
    def margin(self) -> float:
        """Pixels by which a box is wider than the distance between its edges: 1 if inclusive."""
        return 1.0 if self.boxes == "inclusive" else 0.0

    def agrees(self, other: Protocol, choices: Sequence[str]) -> bool:
        """Check whether two protocols agree in the given choices, such as :data:`MATCHING`."""
        return all(getattr(self, field) == getattr(other, field) for field in choices)


# The choices below do not depend on which classes count, because all classes are matched.
MEASURING = ("pairing", "boxes", "added_to_union")
"""Choices that decide which boxes are compared, and their IoU."""
OVERLAPPING = (*MEASURING, "iou", "strict")
"""Choices that decide which boxes overlap."""
MATCHING = (*OVERLAPPING, "missing_role", "claim")
"""Choices that decide the true positives of every class."""

_SWIG_HOI: dict[str, Any] = {"boxes": "continuous", "top_of_class": 19_999, "levels_from": "tenths"}
_V_COCO: dict[str, Any] = {
    "classes": "roles",
    "pairing": "person",
    "considered": 100,
    "duplicates": "assigned",
    "average_precision": "area",
}
# The evaluator of PPDM, AS-Net and HoiTransformer, but by HOI class: the original ranks all
# triplets of a verb together.
_HOI_A: dict[str, Any] = {
    "average_precision": "area",
    "class_without_annotation": "zero",
    "claim": "first left",
    "boxes": "continuous",
    "rare": "described",
    "images_without_annotations": "left out",
}
# Choices of each protocol that differ from the defaults; by default, all HOI classes count.
_CHOSEN: dict[str, dict[str, Any]] = {
    "hico-det": {},
    "hico-det-520": {"classes": "interactions"},
    "diag-hoi": {
        "classes": "interactions",
        "duplicates": "assigned",
        "class_without_true_positive": "left out",
        "repaired_ties": "turned round",
        "action_ties": "triplet score",
        "images_without_predictions": "passed over",
        "single_precision_recall": True,
    },
    # UPT's code compares continuous boxes in memory. Continuous boxes in memory equal the inclusive
    # boxes of UPT's files, because UPT's code lowers only the left and top edges of annotated boxes
    # by one, and saves predictions with lowered right and bottom edges.
    "upt": {"strict": True, "images_without_annotations": "left out", "levels_from": "both ends"},
    "cdn": {"images_without_annotations": "left out"},
    # The protocols of GEN-VLKT and PPDM equal the official evaluator.
    "gen-vlkt": {},
    "ppdm": {},
    "hoiclip": {"class_without_prediction": "left out of groups"},
    # CMD-SE evaluates HICO-DET like SWIG-HOI.
    "cmd-se": _SWIG_HOI,
    "cmd-se-600": _SWIG_HOI | {"class_without_annotation": "zero"},
    "cmd-se-520": _SWIG_HOI | {"class_without_annotation": "zero", "classes": "interactions"},
    "qahoi": {"claim": "first left", "strict": True, "added_to_union": 1e-6},
    "v-coco-s1": _V_COCO,
    "v-coco-s2": _V_COCO | {"missing_role": "anything"},
    # The published Diag-HOI code on V-COCO: as its authors intended, and as it runs.
    "v-coco-diag-hoi": _V_COCO | {"class_without_annotation": "zero"},
    "v-coco-diag-hoi-published": _V_COCO
    | {"class_without_annotation": "zero", "fitting_boxes": "stored at the rank"},
    # During training, QPIC's code evaluates V-COCO like HICO-DET, with actions instead of HOI
    # classes.
    "v-coco-thesis": {
        "classes": "verbs",
        "missing_role": "anything",
        "class_without_annotation": "zero in groups",
        "rare": "described",
        "top": 100,
    },
    "swig-hoi": _SWIG_HOI | {"classes": "evaluated"},
    "hoi-a": _HOI_A,
    # The evaluator of PPDM, AS-Net and HoiTransformer, unchanged: it ranks all triplets of a verb
    # together.
    "hoi-a-verbs": _HOI_A | {"classes": "verbs", "claim": "all left"},
}
PROTOCOLS = {
    name: Protocol(name=name, **({"classes": "all"} | chosen)) for name, chosen in _CHOSEN.items()
}
HICO_DET = PROTOCOLS["hico-det"]

_KINDS = {
    field: kind
    for field, kind in get_type_hints(Protocol).items()
    if field not in ("name", "groups")
}
"""Types of the choices that can be given as a string."""
_NUMBERS: dict[str, tuple[Any, float, float, str]] = {
    "iou": (Real, np.nextafter(0, 1), 1, "a number above 0, up to 1"),
    "added_to_union": (Real, 0, np.finfo(np.float64).max, "a number of at least 0"),
}
"""Numeric choices: type, minimum, maximum, and a description of the limits in words."""
_COUNT: tuple[Any, float, float, str] = (Integral, 1, MOST, f"a whole number from 1 to {MOST:,}")
"""Type, limits and description of the limits of all other numeric choices, which count triplets."""


def _exact(number: float) -> str:
    """Format a number so that reading it gives exactly the same number."""
    return repr(float(number)).removesuffix(".0")


def choices_of(signature: str) -> dict[str, str]:
    """Read :attr:`Protocol.choices` from a signature, because results store only the signature."""
    listed = _LISTED.search(signature)
    phrases = phrases_of(_LISTED.sub(f"{SEPARATOR}{GROUPS}: ", signature))
    parts = (phrase.partition(": ") for phrase in phrases)
    choices = {choice: value for choice, _, value in parts}
    return choices | {GROUPS: listed[1]} if listed else choices


VERSION = "diaghoi."
"""Text before the package version in a short signature."""


def short_signature(name: str, signature: str) -> str:
    """Shorten a signature to one line for a paper: ``hico-det-520|11pt|zero|iou.5|rare.train``.

    AP, IoU, rare classes and a limit of triplets per image always appear if they apply, in short
    form. Most other choices appear only if they differ from the choices of the named protocol, in
    full words. :func:`protocol` reads the line back.
    """
    return BAR.join((name, *_short_parts(name, choices_of(signature))))


def _short_parts(name: str, choices: Mapping[str, str]) -> list[str]:
    """Return the parts of a short signature that follow the name of the protocol."""
    usual = PROTOCOLS.get(name, Protocol(name=name, classes="all")).choices
    parts = []
    for choice, value in choices.items():
        if choice in ("AP", "class without true positive") or (choice, value) == (RANKING, AS_ONE):
            parts.append(value.replace("-point", "pt").replace(" ", "-"))
        elif choice == "rare":
            parts.append(f"rare.{value.split()[2]}")
        elif choice == CUT:
            parts += [] if value == AS_GIVEN else [f"top.{value.split()[1]}"]
        elif choice.startswith("IoU "):
            level, _, boxes = choice.removeprefix("IoU ").partition(", ")
            parts.append(f"iou{level.removeprefix('>= ').replace('> ', '>').replace('0.', '.')}")
            parts += [] if any(each.endswith(boxes) for each in usual) else [boxes]
        elif usual.get(choice) != value:
            parts.append(f"{choice}: {value}" if value else choice)
    gone = usual.keys() - choices.keys() if name in PROTOCOLS else ()
    return parts + sorted(f"not {choice}" for choice in gone if not choice.startswith("IoU "))


def title_of(name: str, signature: str) -> str:
    """Name a protocol with the user's changes: ``hico-det-520 (iou.75)``.

    Name and signature as in :func:`short_signature`. Choices that depend on the files are omitted.
    """
    if name not in PROTOCOLS:
        return name
    decided = (CUT, RANKING, GROUPS)
    choices = {key: value for key, value in choices_of(signature).items() if key not in decided}
    usual = _short_parts(name, PROTOCOLS[name].choices)
    changed = ", ".join(
        part
        for part in _short_parts(name, choices)
        if part not in usual and not part.startswith("not ")
    )
    return f"{name} ({changed})" if changed else name


def _of_line(line: str, usual: Protocol | None) -> Protocol:
    """Read a line of :func:`short_signature` back."""
    name, *given = _LISTED.sub("", line).split(BAR)
    parts = [part for part in given if not part.startswith(VERSION)]
    chosen = _named(name, usual)
    while any(amiss := _amiss(chosen, parts)):
        changes = [change for part in (*amiss[0], *amiss[1]) for change in _changes(part)]
        nearer = [replace(chosen, **change) for change in changes]
        # The best change leaves the fewest parts that only the line has, and then the fewest parts
        # that only the protocol has.
        chosen = min(nearer, key=lambda protocol: tuple(map(len, _amiss(protocol, parts))))
        lacking, more = _amiss(chosen, parts)
        if (len(lacking), len(more)) >= (len(amiss[0]), len(amiss[1])):
            problem = (
                f"'{lacking[0]}' is not a choice of this protocol"
                if lacking
                else "the line is incomplete"
            )
            raise InputError(f"--protocol {line}: {problem}; copy the protocol line of a report")
    return chosen


def _amiss(protocol: Protocol, parts: list[str]) -> tuple[list[str], list[str]]:
    """List the parts that only a line has, and the parts that only a protocol has."""
    own = _short_parts(protocol.name, protocol.choices)
    return [part for part in parts if part not in own], [part for part in own if part not in parts]


def _changes(part: str) -> Iterator[dict[str, Any]]:
    """List the changes to a protocol that may produce a part of a line."""
    numbers = [float(text) for text in re.findall(r"\d*\.?\d+(?:e[+-]?\d+)?", part)]
    counts = [None, *map(int, re.findall(r"\d+", part))]
    for field, kind in _KINDS.items():
        values = _allowed(field) or (numbers if kind is float else counts)
        yield from ({field: value} for value in values)
    yield from ({"iou": value, "strict": ">" in part} for value in numbers)
    for boxes in _allowed("boxes"):
        yield from ({"boxes": boxes, "added_to_union": value} for value in (0.0, *numbers))


def _allowed(field: str) -> tuple[Any, ...]:
    """Return the possible values of a field; empty for a numeric field."""
    kind = _KINDS[field]
    return (True, False) if kind is bool else get_args(kind) if get_origin(kind) is Literal else ()


def _of_keys(text: str, usual: Protocol | None) -> Protocol:
    """Read ``NAME,key=value,...``; the name may be omitted if there is a default."""
    first, *parts = (part.strip() for part in text.split(","))
    if "=" in first or _field(first) in _KINDS:
        parts, first = [first, *parts], HICO_DET.name if usual is None else usual.name
    changes: dict[str, Any] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        field = _field(key)
        if field not in _KINDS:
            names = [*KEYS, *(name.replace("_", "-") for name in _KINDS)]
            raise InputError(
                f"--protocol {text}: '{key}' is not known{close_matches(key, names)}; give ap, "
                "iou, rare, top or another choice of a protocol"
            )
        if not equals:
            raise InputError(f"--protocol {part}: give a value: {key}=VALUE")
        if field in changes:
            raise InputError(f"--protocol {part}: {key} is given twice; give one value")
        changes[field] = _value(field, value)
    return protocol(_named(first, usual), **changes)


def _field(key: str) -> str:
    return KEYS.get(key, key.replace("-", "_"))


def _value(field: str, text: str) -> Any:
    """Read the value of a choice; an invalid text is kept for :func:`choice_problem`."""
    if named := {str(value).replace(" ", "-").lower(): value for value in _allowed(field)}:
        return named.get(re.sub("pt$", "-point", text.replace(" ", "-").lower()), text)
    try:
        return float(text) if _KINDS[field] is float else int(text)
    except ValueError:
        return text


def _named(name: str, usual: Protocol | None) -> Protocol:
    if usual is not None and name == usual.name:
        return usual
    if name not in PROTOCOLS:
        raise InputError(
            f"unknown protocol '{name}'{close_matches(name, PROTOCOLS)}; "
            f"known: {', '.join(PROTOCOLS)}"
        )
    return PROTOCOLS[name]


def spelt(text: str, usual: Protocol | None = None) -> Protocol:
    """Read a protocol from a text, as :func:`protocol` does, but ignore the groups in a line."""
    return (_of_line if BAR in text else _of_keys)(text, usual)


def phrases_of(signature: str) -> list[str]:
    """List the parts of a signature, for display line by line."""
    return signature.split(SEPARATOR)


def protocol(name: str | Protocol, *, usual: Protocol | None = None, **changes: Any) -> Protocol:
    """Return a protocol by name, with some choices changed.

    Parameters
    ----------
    name : str or Protocol
        One of ``PROTOCOLS``, optionally followed by choices, ``hico-det-520,iou=0.75,ap=area``; the
        protocol line of a report, ``hico-det-520|11pt|zero|iou.75|rare.train``; or your own
        protocol.
    usual : Protocol, optional
        Default protocol of the data set. Choices without a name, such as ``iou=0.75``, change this
        protocol.
    **changes
        Fields of :class:`Protocol` to set; None leaves a field unchanged.

    Raises
    ------
    InputError
        If the name is unknown, a choice has an invalid value, or the groups of a line differ from
        the given groups.
    """
    if isinstance(name, str):
        text = name
        name = spelt(text, usual)
        groups = changes.get("groups") or name.groups
        listed = _LISTED.search(text)
        if listed and listed[1] != replace(name, groups=groups).choices.get(GROUPS):
            raise InputError(
                f"--protocol {text}: has the groups {listed[1]}; give the same groups with "
                "--zero-shot or --groups"
            )
    chosen = replace(name, **{key: value for key, value in changes.items() if value is not None})
    _check_groups(chosen.groups)
    for key in _KINDS:
        if problem := choice_problem(key, getattr(chosen, key)):
            raise InputError(f"protocol.{key}: {problem}")
    return chosen


def choice_problem(key: str, value: Any, allowed: Sequence[Any] = ()) -> str:
    """Describe why the value of a choice is invalid and what to give instead; empty if valid.

    Parameters
    ----------
    key : str
        A field of :class:`Protocol`, neither ``name`` nor ``groups``.
    value : object
        Anything.
    allowed : sequence, optional
        The allowed values, if not all values of the field are allowed.
    """
    if allowed := allowed or _allowed(key):
        fits = type(value) is type(allowed[0]) and value in allowed
        wanted = " or ".join(map(repr, allowed))
    else:
        kind, least, most, wanted = _NUMBERS.get(key, _COUNT)
        fits = isinstance(value, kind) and not isinstance(value, bool) and least <= value <= most
        fits = fits or (value is None and key not in _NUMBERS)
    similar = "" if fits else close_matches(str(value), map(str, allowed))
    return "" if fits else f"is {value!r:.60}{similar}; give {wanted}"


def _check_groups(groups: tuple[Group, ...]) -> None:
    """Raise an error if a group name is empty, or already names another group or result."""
    taken = {name.replace("_", "-") for name in RESERVED}
    for group in groups:
        key = group.name.lower().replace("_", "-")
        if not key.strip() or key in taken:
            problem = "that is taken" if key.strip() else "give it a name"
            raise InputError(f"protocol.groups: a group cannot be called '{group.name}': {problem}")
        taken.add(key)
