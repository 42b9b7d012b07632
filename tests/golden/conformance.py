"""Results on the conformance inputs, which lie beside the repository."""

from __future__ import annotations

from golden.groups import Group, tables

MEANING = "--similarity conformance/semantic/verbs.csv,conformance/semantic/objects.csv"

HICO = "conformance/hico_det_diagnosis"
HICO_TRUTH = f"--annotations {HICO}/gt_wo_nointer.pkl"


def _hico(detector: str, pairs: bool = True) -> str:
    given = f" --pairs {HICO}/{detector}_pairs.pkl" if pairs else ""
    return f"{HICO}/{detector}_preds.pkl {HICO_TRUTH}{given}"


DETECTORS = ("one_stage", "two_stage", "weak")
hico_det = Group(
    shared=True,
    results={
        **{f"diag-hoi_{d}": f"report {_hico(d)} --protocol diag-hoi" for d in DETECTORS},
        **{f"hico-det-520_{d}": f"report {_hico(d)}" for d in DETECTORS},
        **{
            f"{name}_{detector}": f"report {_hico(detector, pairs=False)} --protocol {name}"
            for name in ("hico-det", "upt")
            for detector in DETECTORS
        },
        "tables": f"report {_hico('two_stage')} --protocol diag-hoi {tables('tables')}",
        "further": f"report {_hico('two_stage')} --also attribution,causes,calibration "
        f"--zero-shot RF-UC {tables('further')}",
        "variants": f"report {_hico('weak')} --also pair-nms=0.7,detection-threshold=0.2",
        "inspect": f"inspect {_hico('one_stage')}",
        "annotations": f"inspect {HICO}/gt_wo_nointer.pkl",
        "pairs": f"inspect {HICO}/weak_pairs.pkl",
        "compare": f"compare {HICO}/one_stage_preds.pkl {HICO}/two_stage_preds.pkl "
        f"{HICO}/weak_preds.pkl {HICO_TRUTH} --pairs {HICO}/one_stage_pairs.pkl,"
        f"{HICO}/two_stage_pairs.pkl,{HICO}/weak_pairs.pkl --labels one,two,weak",
    },
)

ARRAYS = (
    "conformance/hico_det_official/one_stage_arrays.pkl "
    "--annotations conformance/hico_det_official/annotations.json"
)
official = Group(
    shared=True,
    results={
        "default": f"report {ARRAYS} {tables('default')}",
        "hico-det": f"report {ARRAYS} --protocol hico-det",
        "diag-hoi": f"report {ARRAYS} --protocol diag-hoi",
        "upt": f"report {ARRAYS} --protocol upt",
        "image_labels": f"report {ARRAYS} --protocol hico-det --image-labels "
        "data/hico_det/anno.mat",
        "top": f"report {ARRAYS} --protocol hico-det,top=20",
        "inspect": f"inspect {ARRAYS}",
    },
)

V_COCO = "conformance/v_coco"
V_COCO_TRUTH = f"--annotations {V_COCO}/vcoco_test.json"


def _v_coco(detector: str) -> str:
    return f"{V_COCO}/{detector}.pkl {V_COCO_TRUTH} --pairs {V_COCO}/{detector}_pairs.pkl"


v_coco = Group(
    shared=True,
    results={
        **{
            f"{protocol}_{detector}": f"report {_v_coco(detector)} --protocol {protocol}"
            for protocol in ("v-coco-s1", "v-coco-s2")
            for detector in ("one_stage", "two_stage")
        },
        "tables": f"report {_v_coco('one_stage')} {tables('tables')}",
        "further": f"report {_v_coco('two_stage')} --also attribution,causes,calibration",
        "inspect": f"inspect {_v_coco('one_stage')}",
        "annotations": f"inspect {V_COCO}/vcoco_test.json",
        "compare": f"compare {V_COCO}/one_stage.pkl {V_COCO}/two_stage.pkl {V_COCO_TRUTH}",
        "semantic": f"semantic {V_COCO}/one_stage.pkl {V_COCO_TRUTH} {MEANING}",
    },
)

semantic = Group(
    shared=True,
    results={
        "plain": f"semantic {_hico('one_stage', pairs=False)} {MEANING}",
        "diagnosed": f"semantic {_hico('one_stage', pairs=False)} {MEANING} --also diagnose "
        "--out diagnosed.classes.json --out diagnosed.examples.json",
        "two_stage": f"semantic {_hico('two_stage', pairs=False)} {MEANING} --also diagnose "
        "--weight 0.25 --combine geometric",
        "unscored": f"semantic {_hico('weak', pairs=False)} {MEANING} --no-scores",
        "verbs": "similarity inspect conformance/semantic/verbs.csv",
        "objects": "similarity inspect conformance/semantic/objects.csv",
        "people": "similarity agreement "
        "data/shoe/balanced_user_study_sample500including0.csv --resamples 50",
    },
)

SETTINGS = ("allscene", "hum_box", "hum_obj_box")
PREDICTED = f"{HICO}/one_stage_preds.pkl"


def _asked(setting: str) -> str:
    return f"data/choice/hicodet/crosshoi_bench_{setting}_final.json"


choice = Group(
    shared=True,
    results={
        **{
            f"score_{name}": f"choice score {_asked(name)} conformance/choice/{name}.jsonl "
            f"--also selection,distractors,positions --out score_{name}.classes.json --bootstrap 10"
            for name in SETTINGS
        },
        **{f"detect_{name}": f"choice detect {_asked(name)} {PREDICTED}" for name in SETTINGS},
        **{
            f"compare_{name}": f"choice compare {_asked(name)} conformance/choice/{name}.jsonl "
            f"{PREDICTED} --significance --resamples 10"
            for name in SETTINGS
        },
    },
)

BASES = "conformance/code_bases"
BASES_TRUTH = f"--annotations {BASES}/canonical_gts.pkl"
# Only the layouts that are read: the others are refused with a message.
code_bases = Group(
    shared=True,
    results={
        "canonical": f"report {BASES}/canonical_preds.pkl {BASES_TRUTH} {tables('canonical')}",
        "hoitransformer": f"report {BASES}/canonical_hoitransformer.pkl {BASES_TRUTH}",
        "bootstrap": f"report {BASES}/canonical_preds.pkl {BASES_TRUTH} --bootstrap 5",
        "ppdm_annotations": f"report {BASES}/canonical_preds.pkl --annotations "
        f"{BASES}/test_hico.json",
        "inspect": f"inspect {BASES}/canonical_preds.pkl {BASES_TRUTH}",
        "significance": f"compare {BASES}/canonical_preds.pkl "
        f"{BASES}/canonical_hoitransformer.pkl {BASES_TRUTH} --significance --resamples 10",
    },
)

GROUPS = {
    "hico_det_diagnosis": hico_det,
    "hico_det_official": official,
    "v_coco": v_coco,
    "semantic": semantic,
    "choice": choice,
    "code_bases": code_bases,
}
