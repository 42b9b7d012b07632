"""Made-up results of robustness studies, for figures and texts."""

from __future__ import annotations

from typing import Any

from diaghoi.oracles import ERRORS
from diaghoi.robustness.corruptions import CORRUPTIONS, GROUPS

SEVERITIES = (1, 2, 3, 4, 5)


def study(models: int = 2, corruptions: int = 20, label: str = "Model") -> dict[str, Any]:
    """A result in which corruption c costs c % of the clean score at severity 1, and so on."""
    names = list(CORRUPTIONS)[:corruptions]
    groups = dict.fromkeys(CORRUPTIONS[name].group for name in names)
    return {
        "protocol": {"name": "hico-det-520"},
        "metric_title": "official mAP, Default, Full (all 600 classes)",
        "corruptions": [
            {
                "name": name,
                "label": CORRUPTIONS[name].label,
                "abbreviation": CORRUPTIONS[name].abbreviation,
                "group": GROUPS[CORRUPTIONS[name].group].label,
            }
            for name in names
        ],
        "severities": list(SEVERITIES),
        "bootstrap": {"confidence": 0.95},
        "models": [
            {
                "label": f"{label} {number}",
                "stage": "one",
                "backbone": None,
                "clean": 0.4,
                "indices": {
                    "groups": {
                        name: {"mri": 0.3 - 0.01 * number, "partial": False} for name in groups
                    },
                    "corruptions": {name: {"partial": False} for name in names},
                },
                "drops": {name: 0.01 * (place + number) for place, name in enumerate(names)},
                "growth": {
                    error: {
                        name: 0.01 * (row - 3) * place / len(names)
                        for place, name in enumerate(names)
                    }
                    for row, error in enumerate(ERRORS)
                },
                "cells": [
                    cell(None, 0, number),
                    *(cell(name, each, number) for name in names for each in SEVERITIES),
                ],
            }
            for number in range(models)
        ],
    }


def cell(name: str | None, severity: int, model: int) -> dict[str, Any]:
    """One condition, in which the errors grow by one point a severity."""
    place = 0 if name is None else list(CORRUPTIONS).index(name)
    costs = {
        error: 0.01 * (row + severity + model) + 0.001 * place for row, error in enumerate(ERRORS)
    }
    shares = {error: 2 * cost for error, cost in costs.items()}
    told = {"delta_map": costs, "shares": shares}
    return {
        "corruption": name,
        "severity": severity,
        "score": 0.4 - 0.01 * severity,
        **told,
        "intervals": {
            quantity: {error: [value - 0.02, value + 0.03] for error, value in values.items()}
            for quantity, values in told.items()
        },
    }


def incomplete(told: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """Take one condition, motion blur in severity 2, away from a model."""
    model = told["models"][number]
    gone = ("motion_blur", 2)
    model["cells"] = [
        each for each in model["cells"] if (each["corruption"], each["severity"]) != gone
    ]
    model["indices"]["groups"]["optical"]["partial"] = True
    model["indices"]["corruptions"]["motion_blur"]["partial"] = True
    return told


def model_of(told: dict[str, Any], number: int = 0) -> dict[str, Any]:
    return {
        **told["models"][number],
        "corruptions": told["corruptions"],
        "severities": told["severities"],
        "bootstrap": told["bootstrap"],
    }
