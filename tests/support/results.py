"""A result with figures that are easy to recognise."""

from __future__ import annotations

from typing import Any

from diaghoi.oracles import ORACLES


def _split(full: float | None, rare: float | None = None) -> dict[str, float | None]:
    return {"full": full, "rare": rare, "non_rare": full}


def example(label: str = "model") -> dict[str, Any]:
    """Make a result as :meth:`diaghoi.Diagnosis.to_dict` does."""
    gains = dict.fromkeys(ORACLES, 0.0) | {
        "human_box": -0.00123,
        "action": 0.11677,
        "association": 0.05,
        "false_positive": 0.3,
        "false_negative": 0.2,
    }
    errors = dict.fromkeys(("human_box", "object_box", "both_boxes", "association"), 100)
    errors |= {"action": 1000, "duplicate": 50, "missed_gt": 5}
    return {
        "diaghoi": "1",
        "dataset": "hico-det",
        "label": label,
        "protocol": {
            "name": "hico-det-520",
            "signature": "classes: no_interaction left out | AP: 11-point | IoU >= 0.5 | "
            "rare: < 10 train instances",
        },
        "counts": {
            "images": 1234,
            "annotated_triplets": 2000,
            "predicted_triplets": 2000,
            "predicted_pairs": 98765,
        },
        "official": {
            "default": _split(0.31),
            "known_object": _split(0.35) | {"source": "image labels"},
        },
        "map": _split(0.5675),
        "max_recall": _split(0.8),
        "errors": {"true_positive": 550} | errors,
        "oracles": {
            name: {
                "map": _split(0.5675 + gain),
                "delta_map": _split(gain),
                "max_recall": _split(0.8),
            }
            for name, gain in gains.items()
        },
        "pairs": {
            "recall": 0.7,
            "precision": 0.02,
            "per_image": 80.04,
            "source": "pairs",
            "human_recall": 0.9,
            "object_recall": None,
            "mean_object_recall": 0.6,
            "rare": {"recall": None, "precision": 0.001},
            "non_rare": {"recall": 0.71, "precision": 0.019},
        },
        "negatives": {"ap": 0.95, "ap_published": 0.87, "pairs": 98765, "negatives": 96000},
        "actions": {
            "map": 0.46,
            "max_recall": 0.9,
            "rare": {"map": 0.125, "max_recall": 0.8},
            "non_rare": {"map": None, "max_recall": None},
        },
        "notes": ["a note"],
    }
