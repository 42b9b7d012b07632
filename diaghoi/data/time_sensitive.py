"""Interactions whose direction in time a still picture does not show (HICO-DET)."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays.types import BoolArray
from diaghoi.data.vocabulary import Vocabulary, facts


def time_sensitive(vocabulary: Vocabulary) -> BoolArray | None:
    """(C,) mark the time-sensitive classes; None for data sets without a list: all but HICO-DET."""
    if vocabulary.name != "hico-det":
        return None
    classes = np.zeros(len(vocabulary), dtype=bool)
    for row in facts("hico_det_time_sensitive.csv"):
        label = vocabulary.objects.index(row["object"])
        classes[vocabulary.class_of[label, vocabulary.verbs.index(row["verb"])]] = True
    return classes


def counterparts(vocabulary: Vocabulary) -> BoolArray | None:
    """(C, C) table of the counterparts of time-sensitive classes.

    Rows are time-sensitive classes, columns their counterparts. None for data sets without a list,
    which are all but HICO-DET.
    """
    if vocabulary.name != "hico-det":
        return None
    table = np.zeros((len(vocabulary), len(vocabulary)), dtype=bool)
    for row in facts("hico_det_time_sensitive.csv"):
        label = vocabulary.objects.index(row["object"])
        verbs = [vocabulary.verbs.index(v) for v in (row["verb"], *row["counterparts"].split())]
        hoi, *others = vocabulary.class_of[label, verbs]
        table[hoi, others] = True
    return table
