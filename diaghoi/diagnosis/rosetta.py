"""Evaluate one run as each code base of the field does, to show why the numbers differ.

Each code base has its own evaluator. Expressed as a protocol, an evaluator is a set of choices, few
of which differ from the official evaluator's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from diaghoi.data.protocol import HICO_DET, PROTOCOLS, Protocol
from diaghoi.diagnosis.benchmark import default_setting
from diaghoi.evaluation.means import Split, split_means

if TYPE_CHECKING:
    from diaghoi.diagnosis.diagnosis import Diagnosis

FAMILIES: dict[str, Protocol] = {
    name: PROTOCOLS[name]
    for name in (
        *("cdn", "gen-vlkt", "hoiclip", "ppdm", "cmd-se", "cmd-se-600", "cmd-se-520"),
        *("qahoi", "upt"),
    )
}


def figures(diagnosis: Diagnosis) -> dict[str, Split]:
    """Return the mAP that the evaluator of each family prints.

    Parameters
    ----------
    diagnosis : Diagnosis
        A diagnosis on HICO-DET with the protocols of ``FAMILIES`` as ``also``.

    Returns
    -------
    dict
        For each family, ``full``, ``rare``, ``non_rare`` and the groups of the diagnosis: mAP as
        fractions, or None for groups without classes.
    """
    vocabulary, benchmark = diagnosis.vocabulary, diagnosis.benchmark
    found = {}
    for protocol in benchmark.protocols[len(vocabulary.benchmarks) :]:
        setting = default_setting(vocabulary, protocol, diagnosis.protocol.groups)
        found[protocol.name], _ = split_means(setting.scores(benchmark), protocol, setting.splits)
    return found


def differences(protocol: Protocol) -> list[str]:
    """Describe the choices of a protocol that differ from the official evaluator."""
    official = HICO_DET.choices
    return [
        f"{choice}: {value}" if value else choice
        for choice, value in protocol.choices.items()
        if official.get(choice) != value
    ]
