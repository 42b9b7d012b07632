"""Summarise a diagnosis: the mAP to cite, the costliest error, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from diaghoi.comparison.results import by_person, coverage_words, only_interactions
from diaghoi.diagnosis.benchmark import headlines
from diaghoi.diagnosis.notes import FEW_DECIDE, NOT_A_PERSON, ONLY_INTERACTIONS, WITHOUT_SCORES
from diaghoi.exceptions import number_of
from diaghoi.oracles import ERROR_WORDS, ORACLES, TOTALS
from diaghoi.oracles.localised import ON_FOUND_PAIRS

# Phrases that identify notes on what is normal for a format, or notes that the first screen
# rephrases.
_USUAL = (
    *("image labels: ", "no pair file: ", "taken for ", "joined by index", "cut to the "),
    *("action_scores", "no action scores", "separate verb scores", "no action annotations"),
    *("'hoi_annotation'", "omit actions", "to have no interaction", "marked invisible"),
    *(
        "in the prediction file",
        "--only-predicted-images: ",
        "without any predicted triplet",
        "benchmark is evaluated",
    ),
    ONLY_INTERACTIONS,
)
BOX_ERRORS = ("human_box", "object_box", "both_boxes")
# Detectors usually rank a true positive above 80 to 99 % of the wrong predictions of its class. If
# the share of outranked wrong predictions is below TELLING, scores hardly rank; below AGAINST,
# scores rank wrong predictions first.
TELLING, AGAINST = 0.58, 0.4
# Minimum number of true positives, and of errors, for a statement about how scores rank them.
ENOUGH = 20
# The ranking is named first if perfect ranking gains at least this share of the gain from the best
# repair.
OWING = 0.8
# Minimum number of wrong predictions per true positive, for a statement about how scores rank wrong
# predictions.
MANY = 2


def headline(result: Mapping[str, Any]) -> str:
    """Return the official numbers of the data set, followed by the mAP under the protocol.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.

    Returns
    -------
    str
        One sentence, with numbers in percent. The official numbers, which papers report, come
        first; ΔmAP refers to the last number. If the prediction file lacks annotated images, the
        sentence begins with the number of images that the file covers.
    """
    covered = coverage_words(result)
    return f"{covered[:1].upper()}{covered[1:]}{': ' if covered else ''}{_means(result)}"


def _means(result: Mapping[str, Any]) -> str:
    protocol = f"{_percent(result['map']['full'])} under {result['protocol']['name']}"
    official = headlines(result["official"])
    if not official:
        return f"mAP {protocol}{_in_any_ranking(result, 'protocol')}."
    classes = ", interactions" if only_interactions(result) else ""
    named = [f"{_percent(each['value'])} ({each['setting']}{classes})" for each in official]
    what = "" if official[0]["metric"] == "mAP" else "mAP "
    ranking = _in_any_ranking(result, "default")
    return f"Official {official[0]['metric']} {', '.join(named)}{ranking}; {what}{protocol}."


def verdict(result: Mapping[str, Any]) -> str:
    """Describe which error costs the detector most, with numbers.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.

    Returns
    -------
    str
        A sentence on the error that costs most by the published rule, with its cost on found pairs
        (:mod:`diaghoi.oracles.localised`) if that cost differs; a second sentence if another error
        costs most on found pairs. If errors tie, the first in the order of the oracles is
        described. If the file lacks annotated images, the missed triplets in these images are
        excluded; if it lacks most of the images, errors are not ranked.
    """
    if empty := _nothing(result):
        return empty
    if not ranks_errors(result):
        return (
            "Errors are not ranked by cost: annotations in images that are missing from the "
            "prediction file count as not found. --only-predicted-images evaluates only the "
            "images of the file."
        )
    elsewhere = result.get("coverage", {}).get("triplets_elsewhere", 0)
    result = of_held_images(result)
    published, gains, first, worst = _worst(result)
    left = f"{number_of('annotated triplet', elsewhere)} in images that the file lacks"
    unranked = f" This ranking of costs leaves out {left}." if elsewhere else ""
    if not worst or round(100 * max(gains[worst], published.get(first, 0.0)), 2) <= 0:
        return f"Repairing any one kind of error would add nothing.{unranked}"
    boxes = _in_both_boxes(result) if worst == "missed_gt" and not elsewhere else ""
    said = _ranking_fault(result, gains[worst])
    if first:
        said += f"{_words(first)} cost most: repaired, they would add "
        said += f"{_percent(published[first])} points"
        if _percent(gains[first]) != _percent(published[first]):
            said += f" ({_percent(gains[first])} {ON_FOUND_PAIRS})"
        said += "."
    if worst != first:
        said += f"{' ' if first else ''}{ON_FOUND_PAIRS.capitalize()}, {_lower(worst)} cost most"
        by_rule = f"{_percent(published.get(worst))} by the published rule"
        said += f" ({_percent(gains[worst])}; {by_rule})."
    return f"{said}{boxes}{unranked}"


def ranks_errors(result: Mapping[str, Any]) -> bool:
    """Check whether errors are ranked by cost: only if the file has at least half of the images."""
    coverage = result.get("coverage", {})
    few = 2 * coverage.get("shared_images", 0) < coverage.get("annotated_images", 0)
    return not few or bool(coverage.get("only_predicted_images"))


def by_cost(result: Mapping[str, Any]) -> list[str]:
    """List the oracles of a result, the costliest error first and the totals last.

    Errors that are not ranked keep their order.
    """
    oracles = result["oracles"]
    names = [name for name in oracles if name not in TOTALS]
    if ranks_errors(result):
        names.sort(key=lambda name: -(oracles[name]["delta_map"]["full"] or 0.0))
    return [*names, *(name for name in oracles if name in TOTALS)]


def of_held_images(result: Mapping[str, Any]) -> dict[str, Any]:
    """Exclude from the costs the missed triplets in images that the file lacks."""
    coverage = result.get("coverage", {})
    return {
        **result,
        **{key: result.get(key, {}) | coverage.get(key, {}) for key in ("oracles", "localised")},
    }


def remarks(result: Mapping[str, Any]) -> list[str]:
    """List remarks on the numbers of a report, the most serious first.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.

    Returns
    -------
    list of str
        Remarks on images that the predictions lack or that belong to another split, subjects that
        are not people, inferred numberings, and scores that do not rank; then other notes on this
        result, and finally groups of classes with few triplets.
    """
    said = []
    if covered := coverage_words(result):
        said.append(f"{covered}: {_left_out(result)}")
    if "other_split" in result:
        said.append(f"{result['other_split']}: not comparable with papers")
    notes = unusual(result["notes"])
    phrases = (NOT_A_PERSON, "numbered as", WITHOUT_SCORES)
    first = dict.fromkeys(note for phrase in phrases for note in notes if phrase in note)
    said += [note.split("; ")[0] for note in first]
    said += filter(None, [_nothing(result)] if _nothing(result) else _of_order(result))
    few = [note for note in notes if FEW_DECIDE in note]
    said += [note for note in notes if note not in (*first, *few)]
    sure = "see the intervals" if "intervals" in result else "see --bootstrap"
    groups = (note.split(";")[0].replace("annotated ", "") for note in few)
    said += (f"{group}; {sure} before quoting its mAP" for group in groups)
    return [without_folder(each) for each in said]


def unusual(notes: Iterable[str]) -> list[str]:
    """Drop notes that do not matter to readers: where files are, and how they were read."""
    return [note for note in notes if not _is_usual(note)]


def without_folder(note: str) -> str:
    """Shorten a path at the start of a note to its file name."""
    path, colon, text = note.partition(": ")
    return path.rpartition("/")[2] + colon + text


def _is_usual(note: str) -> bool:
    """Check whether a note states what is usual for a format, or the first screen rephrases it."""
    place = note.startswith("annotations: ") and "which differ" not in note
    return place or any(phrase in note for phrase in _USUAL)


def _nothing(result: Mapping[str, Any]) -> str:
    """Warn if nothing is annotated or predicted; return an empty string otherwise."""
    if result["map"]["full"] is None:
        return "No class of the protocol is annotated."
    if result["counts"]["predicted_triplets"] == 0:
        return "There are no predictions for these classes: everything is missed."
    return ""


def _left_out(result: Mapping[str, Any]) -> str:
    """Describe how annotated images without predictions are treated."""
    coverage = result["coverage"]
    if coverage.get("only_predicted_images"):
        return "only these images are evaluated"
    if not ranks_errors(result):
        return "errors are not ranked; --only-predicted-images evaluates only these images"
    elsewhere = number_of("annotated triplet", coverage["triplets_elsewhere"])
    return f"Missed includes {elsewhere} of the other images; see --only-predicted-images"


def _of_order(result: Mapping[str, Any]) -> list[str]:
    """Warn if scores do not rank well, and if found pairs have another costliest error."""
    if not ranks_errors(result):
        return []
    result = of_held_images(result)
    _, gains, first, worst = _worst(result)
    if not worst or round(100 * gains[worst], 2) <= 0:
        return []
    cost = f"{ON_FOUND_PAIRS} (in brackets), {_lower(worst)} cost most (+{_percent(gains[worst])})"
    if worst == "action" and by_person(result):
        cost += "; with an object box, the published rule calls them associations"
    cost = cost if first not in ("", worst) else ""
    return [_ranking_fault(result, gains[worst]).strip(), cost]


def _worst(result: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float], str, str]:
    """Return the costs by the published rule and on found pairs, and the worst error by each."""
    published = _gains(result["oracles"])
    found = _gains(result["oracles"] | result["localised"])
    first, worst = (max(each, key=each.__getitem__, default="") for each in (published, found))
    return published, found, first, worst


def _gains(oracles: Mapping[str, Any]) -> dict[str, float]:
    """Return the ΔmAP of each error for which it is defined."""
    return {
        name: outcome["delta_map"]["full"]
        for name, outcome in oracles.items()
        if name not in TOTALS and outcome["delta_map"]["full"] is not None
    }


def _ranking_fault(result: Mapping[str, Any], gain: float) -> str:
    """Warn if scores do not rank well; return an empty string otherwise.

    ``gain`` is the gain from repairing the worst error. Scores are not blamed if perfect ranking
    adds much less mAP than this repair or than finding all annotated triplets, or if there are few
    wrong predictions.
    """
    ranking, errors = result.get("ranking"), result["errors"]
    if ranking is None or errors["true_positive"] < ENOUGH:
        return ""
    best_order = ranking["map_best_order"]["full"]
    not_found = result["oracles"]["false_negative"]["delta_map"]["full"] or 0.0
    if best_order is None or best_order - result["map"]["full"] < OWING * max(gain, not_found):
        return ""
    for kinds, name in (
        ((*BOX_ERRORS, "association", "action"), "predictions"),
        (BOX_ERRORS, "boxes"),
        (("action",), "actions"),
    ):
        count = sum(errors[kind] for kind in kinds)
        shares = [errors[kind] * (ranking["outranked"][kind] or 0.0) for kind in kinds]
        below = sum(shares) / max(count, 1)
        if count >= max(ENOUGH, MANY * errors["true_positive"]) and below < TELLING:
            against = f"rank wrong {name} above right ones"
            how = against if below < AGAINST else f"hardly tell right {name} from wrong ones"
            return (
                f"The scores {how}: a right one outranks {100 * below:.0f} % of the wrong "
                "ones of its class (50 % is chance). "
            )
    return ""


def _in_both_boxes(result: Mapping[str, Any]) -> str:
    """Report if, for most missed triplets, a prediction of the same class has both boxes wrong."""
    lost = result.get("lost", {"triplets": 0})
    if lost["triplets"] == 0 or 2 * lost["both_boxes"] < lost["triplets"]:
        return ""
    return (
        f" For {lost['both_boxes']:,} of these {lost['triplets']:,}, there is a prediction of the "
        "same class with both boxes wrong."
    )


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.2f}"


def _in_any_ranking(result: Mapping[str, Any], setting: str) -> str:
    """Describe the range of mAP over all rankings, for a detector without scores."""
    bounds = result.get("unscored", {}).get("bounds", {}).get(setting, {})
    if not bounds or bounds["worst"]["full"] is None:
        return ""
    low, high = (_percent(bounds[key]["full"]) for key in ("worst", "best"))
    return (
        f" with all predictions of a class tied, {low} to {high} over all rankings that put "
        "duplicates last"
    )


def _lower(name: str) -> str:
    return _words(name)[:1].lower() + _words(name)[1:]


def _words(name: str) -> str:
    """Name the errors that an oracle repairs; a user's own oracle is named by its title."""
    title = ORACLES[name].title if name in ORACLES else name.replace("_", " ")
    return ERROR_WORDS.get(name, f"'{title}' errors")
