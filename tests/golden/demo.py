"""Results on simulated data: the demo, the demo of robustness, and a small SWIG-HOI."""

from __future__ import annotations

import json
import random

from golden.groups import Group, tables

MAKE = "demo --out demo --size 60 --quiet"
TRUTH = "--annotations demo/annotations.pkl"
ONE = f"demo/one_stage.pkl {TRUTH}"
TWO = f"demo/two_stage.pkl {TRUTH}"
PAIRS_OF_ONE = "--pairs demo/one_stage_pairs.pkl"
PAIRS_OF_TWO = "--pairs demo/two_stage_pairs.pkl"
BOTH = f"demo/one_stage.npz demo/two_stage.npz {TRUTH}"
FURTHER = "--also attribution,causes,calibration"

report = Group(
    files={
        "groups.json": '{"cycling": ["ride bicycle", "ride motorcycle"], "bears": [20, 21], '
        '"base": 1}'
    },
    before=(
        MAKE,
        f"convert demo/one_stage.pkl one.npz {PAIRS_OF_ONE} --quiet",
        "convert demo/annotations.pkl truth.npz --quiet",
    ),
    results={
        "triplets": f"report {ONE}",
        "pairs": f"report {ONE} {PAIRS_OF_ONE} {tables('pairs')}",
        "two": f"report {TWO} {PAIRS_OF_TWO} --label second",
        "columnar": f"report one.npz --annotations truth.npz --sort ap {tables('columnar')}",
        "top": f"report {ONE} --protocol top=5",
        "iou": f"report {ONE} --protocol iou=0.75,rare=test",
        "own_groups": f"report {ONE} --groups groups.json",
        "variants": f"report {ONE} --also pair-nms=0.5,pair-nms=0.9,detection-threshold=0.3",
        "further": f"report {ONE} {PAIRS_OF_ONE} {FURTHER} {tables('further')}",
        **{
            f"protocol_{name}": f"report {ONE} {PAIRS_OF_ONE} --protocol {name}"
            for name in ("diag-hoi", "hico-det", "hico-det-520", "upt")
        },
        **{
            f"zero_shot_{name}": f"report {TWO} --zero-shot {name}"
            for name in ("RF-UC", "NF-UC", "UO", "UV")
        },
    },
)

intervals = Group(
    files=report.files,
    before=(MAKE,),
    results={
        "centred": f"report {TWO} {PAIRS_OF_TWO} --bootstrap 6 {FURTHER},pair-nms=0.7 "
        f"--groups groups.json {tables('centred')}",
        "percentile": f"report {ONE} --bootstrap 10 --interval percentile --confidence 0.8",
        "bca": f"report {TWO} --bootstrap 10 --interval bca --seed 3",
        "compare": f"compare {BOTH} --stage one,two --backbone R50,R101",
        "compare_results": "compare demo/one_stage.json demo/two_stage.json --labels one,two",
        "significance": f"compare {BOTH} --significance --resamples 20 --seed 1",
    },
)

files = Group(
    before=(MAKE,),
    results={
        "predictions": f"inspect {ONE} {PAIRS_OF_ONE}",
        "alone": "inspect demo/two_stage.npz",
        "annotations": "inspect demo/annotations.pkl",
        "pairs": "inspect demo/one_stage_pairs.pkl",
        "hico_det": f"inspect hico-det {TRUTH}",
    },
)

MEANING = "--similarity verbs.csv,objects.csv"
meaning = Group(
    files={
        "verbs.csv": "a,b,score\nride,hold,2\nride,straddle,3\nwash,clean,4\nsit_on,ride,2.5\n",
        "objects.csv": "a,b,score\nbicycle,motorcycle,3\ncup,bottle,2\nbench,chair,3.5\n",
        "raters.csv": "a,b,x,y,z\nride,hold,0.5,0.25,0.75\nride,straddle,1,0.75,0.5\n"
        "wash,clean,1,0.9,0\nsit_on,ride,0.25,0.5,1\n",
        "people.csv": "a,b,ann,bob\nride,hold,2,1\nride,straddle,3,4\nwash,clean,4,3\n",
        "ratings.csv": "item,ann,bob,score\nx,0,1,0.1\ny,4,4,0.9\nz,2,,0.5\nw,3,1,0.4\nv,1,1,0.3\n",
    },
    before=(MAKE, "similarity merge verbs.csv raters.csv --out merged.csv --quiet"),
    results={
        "plain": f"semantic {ONE} {MEANING}",
        "diagnosed": f"semantic {TWO} {MEANING} --also diagnose --out diagnosed.classes.json "
        "--out diagnosed.examples.json --example-images 5",
        "weighted": f"semantic {ONE} {MEANING} --weight 0.3 --combine minimum --theta 0.4 "
        "--delta 0.6 --tau 0.25 --protocol hico-det",
        "unscored": f"semantic {TWO} {MEANING} --no-scores --combine geometric --also classes=3",
        "table": "similarity inspect verbs.csv",
        "merged": "similarity inspect merged.csv",
        "subset": "similarity subset raters.csv --human people.csv",
        "agreement": "similarity agreement ratings.csv --resamples 200 --seed 1",
    },
)

ASKED = "--dataset hico-det --people questions/people.json"
DIAGNOSED = "--also selection,distractors,positions"
choice = Group(
    files={"verbs.csv": meaning.files["verbs.csv"]},
    before=(MAKE,),
    results={
        "built": "choice build demo/annotations.pkl --out questions --judge time-sensitive",
        "built_by_table": "choice build demo/annotations.pkl --out more --all-people --seed 2 "
        "--judge similarity:verbs.csv,0.4 --judge time-sensitive",
        "scene": f"choice detect questions/setting_1.json demo/one_stage.npz {ASKED}",
        "person": f"choice detect questions/setting_2.json demo/one_stage.npz {ASKED} "
        f"{DIAGNOSED} --out person.classes.json",
        "threshold": f"choice detect questions/setting_3.json demo/two_stage.npz {ASKED} "
        "--match person --bootstrap 20 --seed 1 --threshold 0.2",
        "top": f"choice detect questions/setting_2.json demo/two_stage.npz {ASKED} --top-all 300",
        "compare": "choice compare questions/setting_3.json demo/one_stage.npz demo/two_stage.npz "
        f"{ASKED} --significance --resamples 20",
    },
)

STUDY = """annotations = "robust/annotations.npz"
[[model]]
label = "one"
clean = "robust/one_stage/clean.npz"
files = "one_{corruption}_{severity}.npz"
[[model]]
label = "two"
clean = "robust/two_stage/clean.npz"
files = "two_{corruption}_{severity}.npz"
"""
SOME = [
    f"{name}_{severity}.npz" for name in ("motion_blur", "jpeg_artifacts") for severity in (2, 5)
]
robustness = Group(
    files={"study.toml": STUDY},
    before=(
        "demo --out robust --robustness --size 6 --quiet",
        *(
            f"convert robust/{model}_stage/{name} {model}_{name} --quiet"
            for model in ("one", "two")
            for name in SOME
        ),
    ),
    results={
        "metric": "robustness robust/study.toml --cache robust/cache --metric map.rare",
        "tests": "robustness study.toml --bootstrap 4 --significance --resamples 6 --workers 1",
        "blocks": "robustness study.toml --block 2 --workers 2 --also errors",
    },
)

# Class of an interaction, object and verb, as SWIG-HOI numbers them.
SWIG_CLASSES = ((13111, 2, 82), (13137, 2, 208), (1399, 2, 75), (13187, 26, 43), (14010, 26, 263),
                (2086, 26, 96), (341, 26, 223))  # fmt: skip


def _swig_hoi(images: int = 30) -> dict[str, str]:
    rng = random.Random(0)
    annotated, predicted = [], {}
    for number in range(images):
        name, boxes, triplets, found = f"driving_{number}.jpg", [], [], []
        for _ in range(rng.randint(1, 3)):
            hoi, thing, verb = rng.choice(SWIG_CLASSES)
            human, other = _box(rng), _box(rng)
            boxes += [{"bbox": human, "category_id": 0}, {"bbox": other, "category_id": thing}]
            last = len(boxes) - 1
            triplets.append({"subject_id": last - 1, "object_id": last, "action_id": verb})
            for _ in range(3):
                guess = hoi if rng.random() < 0.6 else rng.choice(SWIG_CLASSES)[0]
                score = round(rng.random(), 3)
                found.append([guess, score, *_near(rng, human), *_near(rng, other)])
        annotated.append({"img_id": name, "box_annotations": boxes, "hoi_annotations": triplets})
        predicted[name] = found
    return {"annotated.json": json.dumps(annotated), "predicted.json": json.dumps(predicted)}


def _box(rng: random.Random) -> list[int]:
    x, y = rng.randint(0, 200), rng.randint(0, 200)
    return [x, y, x + rng.randint(40, 200), y + rng.randint(40, 200)]


def _near(rng: random.Random, box: list[int]) -> list[int]:
    return [side + rng.randint(-6, 6) for side in box]


SWIG = "predicted.json --annotations annotated.json --dataset swig-hoi"
swig_hoi = Group(
    files=_swig_hoi(),
    results={
        "report": f"report {SWIG} {FURTHER} --out report.images.json",
        "bootstrap": f"report {SWIG} --bootstrap 6",
        "inspect": f"inspect {SWIG}",
        "check": "inspect swig-hoi --annotations annotated.json",
    },
)

# The longest first, as they run side by side.
GROUPS = {
    "demo_robustness": robustness,
    "demo_report": report,
    "demo_intervals": intervals,
    "demo_files": files,
    "demo_meaning": meaning,
    "demo_choice": choice,
    "swig_hoi": swig_hoi,
}
