"""The report that a terminal shows."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from diaghoi.data.table import percent
from diaghoi.diagnosis.notes import ONLY_INTERACTIONS
from diaghoi.report.text import print_report


def shown(result: dict[str, Any], width: int = 80, **more: Any) -> str:
    stream = io.StringIO()
    print_report(result, Console(file=stream, width=width, highlight=False), **more)
    return stream.getvalue()


EXPECTED = """\
model on HICO-DET (hico-det-520)
Official mAP 31.00 (Default, Full); 56.75 under hico-det-520.
Wrong actions cost most: repaired, they would add 11.68 points.
1,234 images, 2,000 annotated and 2,000 predicted triplets

mAP, %                                          Full        Rare    Non-rare
────────────────────────────────────────────────────────────────────────────
Official, Default                              31.00           –       31.00
Official, Known Object                         35.00           –       35.00
Protocol hico-det-520                          56.75           –       56.75
  mean of the highest recalls                  80.00           –       80.00
Known Object: by image labels.

                                                ΔmAP        ΔmAP        ΔmAP
Errors                Count     Share, %        Full        Rare    Non-rare
────────────────────────────────────────────────────────────────────────────
True positive           550        27.50
Human box               100         5.00       −0.12           –       −0.12
Object box              100         5.00        0.00           –        0.00
Both boxes              100         5.00        0.00           –        0.00
Association             100         5.00       +5.00           –       +5.00
Action                1,000        50.00      +11.68           –      +11.68
Duplicate                50         2.50        0.00           –        0.00
Missed                    5         0.25        0.00           –        0.00

False positive        1,450        72.50      +30.00           –      +30.00
False negative        1,450        72.50      +20.00           –      +20.00
Share of the predictions; for missed and false negative, of the annotations.

Pairs, negatives, actions, %                    Full        Rare    Non-rare
────────────────────────────────────────────────────────────────────────────
Pair recall                                    70.00           –       71.00
Pair precision                                  2.00        0.10        1.90
  recall of human boxes                        90.00
  recall of object boxes                           –
  mean over object categories                  60.00
Negatives: AP of rejecting wrong pairs         95.00
  as published (at most 91.82)                 87.00
Actions: mAP on found pairs                    46.00       12.50           –
Pair precision of a group: the share of all predicted pairs that are
credited with annotated pairs of the group.
98,765 predicted pairs, 80.0 per image, as listed; 96,000 are negatives.
Predicted pairs that find annotated pairs: 2,765. Only the first match of each
annotated pair counts as correct in precision: 1,975.

Protocol hico-det-520: classes: no_interaction left out | AP: 11-point |
  IoU >= 0.5 | rare: < 10 train instances
Note: a note
"""


def test_the_whole_report(result) -> None:
    assert shown(result) == EXPECTED


@pytest.mark.parametrize(
    ("rare", "non_rare", "said"), [(0.5, 0.6, True), (0.4, 0.3, True), (0.4, 0.5, False)]
)
def test_a_mean_of_verbs_that_lies_beside_its_groups_is_explained(
    result, rare: float, non_rare: float, said: bool
) -> None:
    result["actions"] |= {"rare": {"map": rare}, "non_rare": {"map": non_rare}}  # Full: 0.46
    text = " ".join(shown(result).split())
    assert ("Actions: the mean of a group is over its verbs, so Full can lie" in text) == said


def test_notes_can_be_left_out(result) -> None:
    assert shown(result, notes=False) == EXPECTED.replace("Note: a note\n", "")


def test_a_wide_terminal_only_lengthens_the_protocol(result) -> None:
    head, protocol = shown(result, width=120).split("Protocol hico-det-520: ")
    assert head.split() == EXPECTED.split("Protocol hico-det-520: ")[0].split()
    assert protocol == (
        "classes: no_interaction left out | AP: 11-point | IoU >= 0.5 | rare: < 10 train "
        "instances\nNote: a note\n"
    )


@pytest.mark.parametrize("width", [20, 50, 75])
def test_a_narrow_terminal_cuts_no_number(result, width: int) -> None:
    lines = EXPECTED.split("Protocol hico-det-520: ")[0].splitlines()
    narrow = shown(result, width).splitlines()
    tables = [line for line in lines[4:] if line.endswith(("0", "5", "─", "8", "–"))]
    assert len(tables) > 20
    assert set(tables) <= set(narrow)
    prose = " ".join(" ".join(narrow).split())
    assert (
        "Official mAP 31.00 (Default, Full); 56.75 under hico-det-520. Wrong actions cost most: "
        "repaired, they would add 11.68 points." in prose
    )


def test_no_line_ends_with_a_blank(result) -> None:
    for width in (20, 50, 80, 200):
        assert not [line for line in shown(result, width).splitlines() if line.endswith(" ")]


def test_stdout_is_the_usual_place(result, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_report(result)
    assert capsys.readouterr().out == EXPECTED


def test_official_classes_without_no_interaction(result) -> None:
    result["notes"] = [f"{ONLY_INTERACTIONS}: the official means run over the 520 classes"]
    text = shown(result)
    assert (
        "\nOfficial, Default (interactions)               31.00           –       31.00\n" in text
    )
    assert (
        "\nOfficial, Known Object (interactions)          35.00           –       35.00\n" in text
    )


V_COCO = """\
mAP, %                                                                  Full
────────────────────────────────────────────────────────────────────────────
Official, agent                                                        70.00
Official, scenario 1 (25 roles)                                        50.00
  without point (24 roles)                                             51.00
Official, scenario 2 (25 roles)                                        55.00
  without point (24 roles)                                                 –
Protocol v-coco-s1                                                     50.00
  mean of the highest recalls                                          80.00

                                                                        ΔmAP
Errors                                        Count     Share, %        Full
────────────────────────────────────────────────────────────────────────────
True positive                                   550        27.50
Human box                                       100         5.00       −0.12
Object box                                      100         5.00        0.00
Both boxes                                      100         5.00        0.00
Association                                     100         5.00       +5.00
Action                                        1,000        50.00      +11.68
Duplicate                                        50         2.50        0.00
Missed                                            5         0.25        0.00
Ignored                                       1,234

False positive                                1,450        72.50      +30.00
False negative                                1,450        72.50      +20.00
Share of the predictions; for missed and false negative, of the annotations.
Ignored: triplets on people without annotated actions; not counted as
predictions.

Pairs, negatives, actions, %                                            Full
────────────────────────────────────────────────────────────────────────────
Pair recall                                                            70.00
Pair precision                                                          2.00
  recall of human boxes                                                90.00
"""


@pytest.mark.parametrize(
    ("official", "words"),
    [
        (600, "images, 520 classes (600 in the official mAP), "),
        (520, "images, 520 classes, "),
    ],
)
def test_the_classes_of_both_means(result, official: int, words: str) -> None:
    result["counts"] |= {
        "classes_in_mean": {"full": 520},
        "classes_in_official": {"full": official},
    }
    assert words in shown(result)


@pytest.mark.parametrize(
    ("kind", "best", "words"),
    [
        ("11-point", 0.81, "at 11 recall levels, and a recall of 0.5 reaches 6 of them."),
        ("101-point", 0.81, "at 101 recall levels, and a recall of 0.5 reaches 51 of them."),
        ("11-point", 0.8, ""),
        ("area", 0.81, ""),
    ],
)
def test_why_a_perfect_ranking_exceeds_the_highest_recalls(result, kind, best, words) -> None:
    result["protocol"]["signature"] = f"classes: all | AP: {kind} | IoU >= 0.5"
    outranked = dict.fromkeys(result["errors"], 0.9)
    best_order = dict.fromkeys(result["map"], best)
    result["ranking"] = {"map_best_order": best_order, "outranked": outranked}
    text = " ".join(shown(result).split())
    assert ("If ranked perfectly: can exceed the highest recalls, " in text) == bool(words)
    assert words in text


def test_v_coco(result) -> None:
    """A data set without rare classes, with other official figures and ignored people."""
    scenarios = {
        name: {"ap": ap, "ap_without_point": without, "classes": dict.fromkeys(range(25), 0.5)}
        for name, ap, without in (("scenario_1", 0.5, 0.51), ("scenario_2", 0.55, None))
    }
    full = {"full": 0.5}
    result |= {
        "dataset": "v-coco",
        "protocol": {"name": "v-coco-s1", "signature": "classes: actions with a role"},
        "official": {"agent": {"ap": 0.7, "classes": {}}} | scenarios,
        "map": full,
        "max_recall": {"full": 0.8},
        "errors": result["errors"] | {"ignored": 1234},
    }
    for outcome in result["oracles"].values():
        for key, scores in outcome.items():
            outcome[key] = {"full": scores["full"]}
    for part in ("pairs", "actions"):
        del result[part]["rare"], result[part]["non_rare"]
    assert V_COCO in shown(result)


def test_one_image_is_no_images(result) -> None:
    result["counts"] |= {"images": 1, "predicted_triplets": 1, "predicted_pairs": 1}
    text = shown(result)
    assert "1 image, " in text
    assert " 1 predicted triplet\n" in text
    assert "1 predicted pair, " in text


def test_no_label_no_pairs(result) -> None:
    result["label"] = ""
    result["pairs"] |= {"source": "triplets", "per_image": None}
    text = shown(result)
    assert text.startswith("Predictions on HICO-DET (hico-det-520)\n")
    assert "98,765 predicted pairs, taken from the triplets; 96,000 are negatives" in text


def test_names_are_no_markup(result) -> None:
    result["label"] = "[red]model[/red]"
    result["notes"] = ["see [1] and [/x]"]
    text = shown(result)
    assert text.startswith("[red]model[/red] on HICO-DET")
    assert "Note: see [1] and [/x]\n" in text


def test_an_oracle_of_the_user_has_no_count(result) -> None:
    result["oracles"]["small_objects"] = result["oracles"]["action"]
    line = next(line for line in shown(result).splitlines() if line.startswith("small_objects"))
    assert line.split() == ["small_objects", "+11.68", "–", "+11.68"]


def test_nothing_to_divide_by(result) -> None:
    result["counts"] |= {"annotated_triplets": 0, "predicted_triplets": 0}
    result["errors"] = dict.fromkeys(result["errors"], 0)
    line = next(line for line in shown(result).splitlines() if line.startswith("Action  "))
    assert line.split()[:3] == ["Action", "0", "–"]


@pytest.mark.parametrize(
    ("value", "signed", "text"),
    [
        (None, False, "–"),
        (0.12345, False, "12.35"),
        (1.0, False, "100.00"),
        (0.01, True, "+1.00"),
        (-0.01, True, "−1.00"),
        (-0.00001, True, "0.00"),
        (0.00001, True, "0.00"),
        (0.0, True, "0.00"),
    ],
)
def test_percent(value: float | None, signed: bool, text: str) -> None:
    assert percent(value, signed=signed) == text


def test_the_published_ap_of_negatives_belongs_to_hico_det(result) -> None:
    """Its ceiling is not that of the paper's V-COCO figures."""
    assert "as published (at most 91.82)" in shown(result)
    result["dataset"] = "v-coco"
    assert "as published" not in shown(result)


def test_lost_pairs_are_counted_with_the_missed(result) -> None:
    result["counts"]["annotated_triplets"] = 1318
    result["localised"] = {"missed_gt": {"delta_map": dict.fromkeys(result["map"], 0.0124)}}
    result["lost"] = {"triplets": 40, "both_boxes": 3}
    (row,) = [line for line in shown(result).splitlines() if line.startswith("  on found pairs")]
    assert row.split()[:6] == ["on", "found", "pairs", "40", "3.03", "+1.24"]
