"""The registry of numbers, in the order in which tables show them."""

from __future__ import annotations

from collections.abc import Iterator

from diaghoi.measures.measure import Measure
from diaghoi.oracles import ORACLES, error_title

_REGISTERED = (
    Measure(
        path="official.default.{}",
        title="Official, Default",
        doc="Official mAP of the benchmark: the mean of AP over the classes, over all images.",
        report="map",
        table="official",
        group="Default",
        quoted=True,
    ),
    Measure(
        path="official.known_object.{}",
        title="Official, Known Object",
        doc="Official mAP in which each class is evaluated only on images that show its object.",
        report="map",
        table="official",
        group="Known Object",
        quoted=True,
    ),
    Measure(
        path="official.agent.ap",
        title="Official, agent",
        doc="AP of finding the people who perform each V-COCO action.",
        report="map",
        table="official",
        short="Agent",
        quoted=True,
    ),
    *(
        Measure(
            path=f"official.scenario_{number}.{key}",
            title=f"{name} ({roles})",
            doc=f"Role AP of V-COCO, scenario {number}: {missing}{without}.",
            report="map",
            table="official",
            short=roles,
            group=f"Scenario {number}",
            indented=key != "ap",
            quoted=key == "ap",
        )
        for number, missing in (
            (1, "an object that is not annotated must be predicted as absent"),
            (2, "predictions for an object that is not annotated are ignored"),
        )
        for key, name, roles, without in (
            ("ap", f"Official, scenario {number}", "{roles} roles", ""),
            ("ap_without_point", "without point", "{fewer} roles", ", without the role of point"),
        )
    ),
    Measure(
        path="map.{}",
        title="Protocol {protocol}",
        doc="mAP under the protocol of the report, the reference for the costs of errors.",
        report="map",
        table="map",
        short="mAP",
        quoted=True,
    ),
    Measure(
        path="max_recall.{}",
        title="mean of the highest recalls",
        doc="Recall reached by all predictions of a class, averaged over the classes.",
        report="map",
        table="map",
        short="Mean of the highest recalls",
        indented=True,
    ),
    Measure(
        path="ranking.map_best_order.{}",
        title="if ranked perfectly",
        doc="mAP if the true positives of each class were ranked before its other predictions.",
        report="map",
        indented=True,
    ),
    Measure(
        path="pairs.per_image",
        title="Pairs/image",
        doc="Predicted pairs per image.",
        table="pairs",
        unit="number",
        better=None,
        pairs=("predicted", "images"),
    ),
    Measure(
        path="pairs.{}.recall",
        title="Pair recall",
        doc="Share of annotated pairs that a predicted pair finds, whatever the verbs.",
        report="parts",
        table="pairs",
        short="Recall",
        group="{}",
        quoted=True,
        pairs=("localised", "annotated"),
    ),
    Measure(
        path="pairs.{}.precision",
        title="Pair precision",
        doc="Share of the predicted pairs that are the first to find an annotated pair.",
        report="parts",
        table="pairs",
        short="Precision",
        group="{}",
        quoted=True,
        pairs=("credited", "predicted"),
    ),
    Measure(
        path="pairs.human_recall",
        title="recall of human boxes",
        doc="Share of the human boxes of annotated pairs that a box of a predicted pair matches.",
        report="parts",
        table="pairs",
        short="Humans",
        group="Recall of boxes",
        indented=True,
        pairs=("humans_found", "humans"),
    ),
    Measure(
        path="pairs.object_recall",
        title="recall of object boxes",
        doc="Share of the object boxes of annotated pairs that a box of a predicted pair matches.",
        report="parts",
        table="pairs",
        short="Objects",
        group="Recall of boxes",
        indented=True,
        pairs=("objects_found", "objects"),
    ),
    Measure(
        path="pairs.mean_object_recall",
        title="mean over object categories",
        doc="Recall of the boxes of an object category, averaged over the categories.",
        report="parts",
        indented=True,
    ),
    Measure(
        path="negatives.ap",
        title="Negatives: AP of rejecting wrong pairs",
        doc="AP of ranking pairs that match no annotated pair behind pairs that do.",
        report="parts",
        table="negatives_actions",
        short="AP",
        group="Negatives",
        better=None,
        quoted=True,
    ),
    Measure(
        # The published code divides a sum over 101 levels by 110; published numbers on V-COCO are
        # higher.
        path="negatives.ap_published",
        title="as published (at most 91.82)",
        doc="AP of rejecting wrong pairs, as computed by the published code.",
        report="parts",
        table="negatives_actions",
        short="As published",
        dataset="hico-det",
        group="Negatives",
        better=None,
        indented=True,
    ),
    Measure(
        path="actions.{}.map",
        title="Actions: mAP on found pairs",
        doc="AP of naming a verb on found pairs, averaged over the verbs.",
        report="parts",
        table="negatives_actions",
        short="Action mAP",
        quoted=True,
    ),
    *(
        measure
        for prior, name in (("object", "object"), ("verb", "frequency"))
        for measure in (
            Measure(
                path=f"shortcuts.{prior}.map.full",
                title=f"Prior by the {name}",
                doc="mAP of the detector's pairs if verbs are scored by their annotated frequency.",
                table="shortcuts",
                short="Prior",
                group=f"By the {name}",
                better=None,
            ),
            Measure(
                path=f"shortcuts.{prior}.lift.{{}}",
                title=f"Lift over the prior by the {name}",
                doc="mAP of the detector minus mAP of the prior.",
                table="shortcuts",
                short="Lift",
                group=f"By the {name}",
                unit="points",
            ),
        )
    ),
)

MEASURES: dict[str, Measure] = {measure.path: measure for measure in _REGISTERED}
"""All numbers except ΔmAP, by path; users may register more."""


def cost(name: str) -> Measure:
    """Describe the ΔmAP of an error, given the name of an oracle, even one defined by a user."""
    title = error_title(name)
    return Measure(
        path=f"oracles.{name}.delta_map.{{}}",
        title=f"ΔmAP, {title.lower()}",
        doc=f"Gain in mAP from repairing this error: {ORACLES[name].definition}"
        if name in ORACLES
        else "",
        table="delta_map",
        short=title,
        unit="points",
        better="lower",
        quoted=name in ORACLES,
    )


def of_table(table: str) -> Iterator[Measure]:
    """List the numbers of a comparison table."""
    return (measure for measure in MEASURES.values() if measure.table == table)
