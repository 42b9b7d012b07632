"""Small right files of every format, as values: what :mod:`fuzz.targets` spoils."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.vcoco import result

from diaghoi.data.vocabulary import hico_det

OPTIONS = ("ride a/an bicycle", "hold a/an bicycle", "wash a/an bicycle", "inspect a/an bicycle")


PREDICTIONS: list[Any] = [
    {
        "filename": "HICO_test2015_00000001.jpg",
        "predictions": [
            {"bbox": [10.0, 20.0, 50.0, 80.0], "category_id": 0, "score": 0.5},
            {"bbox": [30.5, 40.0, 90.0, 95.0], "category_id": 1, "score": 0.25},
            {"bbox": [0.0, 0.0, 5.0, 5.0], "category_id": 0, "score": 1.0},
        ],
        "hoi_prediction": [
            {"subject_id": 2, "object_id": 1, "category_id": 76, "score": 0.5, "action_score": 0.7},
            {"subject_id": 0, "object_id": 1, "category_id": 36, "score": 0.1, "action_score": 0.2},
        ],
    },
    {"filename": "HICO_test2015_00000002.jpg", "predictions": [], "hoi_prediction": []},
]
ANNOTATIONS: list[Any] = [
    {
        "filename": image["filename"],
        "annotations": [
            {k: box[k] for k in ("bbox", "category_id")} for box in image["predictions"]
        ],
        "hoi_annotation": [
            {key: row[key] for key in ("subject_id", "object_id", "category_id")}
            for row in image["hoi_prediction"]
        ],
    }
    for image in PREDICTIONS
]
PAIRS: list[Any] = [
    {
        "filename": "one.jpg",
        "box_pairs": [
            {"h_box": [0.0, 0, 9, 9], "o_box": [1, 2, 3, 4], "o_label": 17, "hoi_score_inter": 0.2},
            {"h_box": [0.0, 0, 9, 9], "o_box": [[1, 2, 3, 4]], "o_label": 1, "hoi_score_inter": 1},
        ],
    },
    {"filename": "two.jpg", "box_pairs": []},
]
V_COCO_PAIRS: list[Any] = [
    {"image_id": 165, "box_pairs": [{"h_box": [[0, 0, 9, 9]], "o_box": [1, 2, 3, 4], "o_label": 1}]}
]


def dense(verbs: int, name: str) -> list[Any]:
    image = {
        "filename": name,
        "boxes": np.array([[10, 20, 50, 80], [30, 40, 90, 95], [0, 0, 5, 5]], dtype=np.float32),
        "labels": np.array([0, 1, 0]),
        "scores": np.array([0.5, 0.5, 1.0]),
        "verb_scores": np.linspace(0, 1, 2 * verbs, dtype=np.float32).reshape(2, verbs),
        "action_scores": np.linspace(0, 1, 2 * verbs).reshape(2, verbs),
        "sub_ids": np.array([0, 2]),
        "obj_ids": np.array([1, 1]),
    }
    empty = {key: value[:0] for key, value in image.items()}
    lists = {k: v.tolist() if k != "filename" else "three.jpg" for k, v in image.items()}
    return [image, empty | {"filename": "two.jpg"}, lists]


def columns(images: list[Any]) -> dict[str, Any]:
    return {key: [image[key] for image in images] for key in images[0]}


def objects(images: list[Any]) -> dict[str, Any]:
    found = {}
    for key, column in columns(images).items():
        found[key] = np.empty(len(column), dtype=object)
        for n, value in enumerate(column):
            found[key][n] = value
    return found


def instances() -> dict[str, Any]:
    words = hico_det()
    objects = sorted(words.objects)
    classes = zip(words.class_object, words.class_verb, strict=True)
    return {
        "filenames": ["one.jpg", "two.jpg"],
        "size": [[640, 480], [100, 200]],
        "objects": objects,
        "verbs": list(words.verbs),
        "correspondence": [
            [n, objects.index(words.objects[thing]), int(verb)]
            for n, (thing, verb) in enumerate(classes)
        ][:3],
        "annotation": [
            {"boxes_h": [[1, 2, 3, 4]], "boxes_o": [[11, 12, 13, 14]], "hoi": [0]},
            {"boxes_h": [[1, 1, 9, 9]] * 2, "boxes_o": [[1, 1, 9, 9]] * 2, "hoi": [1, 2]},
        ],
    }


def listed(start: str, first_verb: int, missing: bool) -> list[Any]:
    boxes = [
        {"bbox": [1, 2, 30, 40], "category_id": 1},
        {"bbox": [5, 6, 70, 80], "category_id": 2},
    ]
    hoi = {"subject_id": 0, "object_id": -1 if missing else 1, "category_id": first_verb}
    image = {"file_name": f"{start}000000000007.jpg", "annotations": boxes}
    return [image | {"hoi_annotation": [hoi, hoi | {"object_id": 1, "hoi_category_id": 3}]}]


SWIG: list[Any] = [
    {
        "img_id": "a.jpg",
        "width": 100,
        "height": 80,
        "box_annotations": [
            {"bbox": [0, 0, 9, 9], "category_id": 0},
            {"bbox": [1, 2, 30, 40], "category_id": 5},
        ],
        "hoi_annotations": [{"subject_id": 0, "object_id": 1, "action_id": 3}],
    },
    {"img_id": 7, "box_annotations": [], "hoi_annotations": []},
]
SWIG_ROWS = {
    "a.jpg": [[12, 0.5, 0, 0, 9, 9, 1, 2, 30, 40]],
    "7": [],
    "b.jpg": [[3, 1.0] + [1.0] * 8],
}
WORDS: list[Any] = [
    {
        "image": "a.jpg",
        "human_box": [0, 0, 9, 9],
        "object_box": [1, 2, 30, 40],
        "verb": "sit on",
        "object": "couch",
        "score": 0.9,
    },
    {
        "image": "b.jpg",
        "human_box": [0, 0, 9, 9],
        "object_box": [1, 2, 30, 40],
        "text": "person riding a bicycle",
        "score": 0.5,
    },
]
# A detector that lists interactions without scores.
WORDS_BY_IMAGE = {
    row["image"]: {
        "h_boxes": [row["human_box"]] * 2,
        "o_boxes": [row["object_box"]] * 2,
        "ho_scores": [0.9, 0.1],
        "ao_names": ["ride a/an horse", "no_interaction with a/an horse"],
    }
    for row in WORDS
}
WORDS_ALONE = [{key: value for key, value in row.items() if key != "score"} for row in WORDS]
RESULTS = [
    result(hold_agent=0.5, hold_obj=[1.0, 2, 3, 4, 0.5], ride_agent=0.25),
    result(image="COCO_val2014_000000000005.jpg", cut_instr=[0.0, 0, 0, 0, 0.5]),
]
_BOXES = [{"x1": 1.0, "x2": 3.0, "y1": 2.0, "y2": 4.0}]
_HOI = {
    "id": 1.0,
    "bboxhuman": _BOXES,
    "bboxobject": _BOXES,
    "connection": np.array([[1.0, 1.0]]),
    "invis": 0.0,
}
ANNO_BBOX = {
    "bbox_test": [
        {
            "filename": name,
            "size": [{"width": 640.0, "height": 480.0, "depth": 3.0}],
            "hoi": [_HOI, _HOI],
        }
        for name in ("a.jpg", "b.jpg")
    ]
}
LABELS = {
    "anno_test": np.where(np.arange(1200).reshape(600, 2) % 7, -1.0, 1.0),
    "list_test": [["a.jpg"], ["b.jpg"]],
}
DETECTIONS = np.array([[1.0, 2, 30, 40, 5, 6, 70, 80, 0.5]])

DESCRIPTION = """name = "mine"
objects = ["person", "cellphone", "cigarette"]
verbs = ["smoke", "call", "play (cellphone)"]
person = "person"
no_interaction = "call"
numbers = { objects = 1, verbs = [4, 5, 6] }
boxes = { origin = 1, layout = "xywh" }
annotations = "test_hoia.json"
[classes]
smoke = ["cigarette"]
call = ["cellphone", "cigarette"]
"play (cellphone)" = ["cellphone"]
[rare]
counts = { "smoke cigarette" = 3, "call cellphone" = 100 }
below = 10
[protocol]
average_precision = "area"
iou = 0.5
boxes = "continuous"
top = 100
"""
MATRIX = """name = "mine"
objects = ["person", "cellphone"]
verbs = ["smoke", "call"]
classes = "corre_hoia.npy"
"""
STUDY = """annotations = "instances.json"
protocol = "hico-det"
dataset = "hico-det"
[[model]]
label = "QPIC"
file = "qpic.npz"
pairs = "pairs.pkl"
stage = "one"
backbone = "ResNet-50"
[[model]]
label = "UPT"
file = "upt.pkl"
stage = "two"
"""
ROBUSTNESS = """annotations = "instances.json"
protocol = "hico-det"
corruptions = ["motion_blur", "EI"]
severities = [1, 3, 5]
similarity = "verbs.csv,objects.csv"
[[model]]
label = "QPIC"
clean = "qpic/clean.npz"
files = "qpic/{corruption}_{severity}.npz"
stage = "one"
clean_pairs = "qpic/clean_pairs.pkl"
pairs = "qpic/{corruption}_{severity}_pairs.pkl"
"""
TABLE = "a,b,one,two\nride,sit on,3,4\nhold,carry,4,\nride,ride,4,4\nsit.v.01,hold,0,1\n"
SPARSE = {
    "names": np.array(["ride", "sit_on", "hold"]),
    "row": np.array([0, 1, 2, 0]),
    "column": np.array([0, 1, 2, 1]),
    "value": np.array([1.0, 1, 1, 0.5]),
    "raters": np.array(["model"]),
}
SQUARE = {
    "names": np.array(["ride", "sit on"]),
    "values": np.array([[[4.0, 1], [1, 4]], [[4, 2], [2, 4]]]),
    "raters": np.array(["one", "two"]),
}
PEOPLE = "item,ann,bob,eve,clip\nride,0,1,2,0.5\nhold,4,,3,0.25\nwash,2,2,2,1\n"
ONE_A_ROW = "annotator,rating,item\nann,0,ride\nbob,1,ride\nann,4,hold\nbob,4,hold\n"
JUDGED = "a,b,ann,bob\nride,sit on,3,4\nhold,carry,4,\n"
JUDGED_INTERACTIONS = "verb_a,object_a,verb_b,object_b,similarity_level\nride,bike,sit on,bike,3\n"
SENSES = "word,synset\nride,ride.v.01\nhold,hold.v.02\n"
TERMS = "name,synset,definition\nride,ride.v.01,to sit and travel\nhold,,\n"

# Results as Python prints them.
PRINTED = (
    "{'preds': [{'filename': 'one.jpg', 'predictions': [{'bbox': [0.5, 20, 5e-05, 80.25]}, "
    "{'bbox': [np.float64(1.5), np.float32(nan), -inf, np.int64(3)]}], 'hoi_prediction': "
    "[{'subject_id': 0, 'object_id': 1, 'category_id': 76, 'score': np.float32(0.5)}]}], "
    "'gts': [], 3: (True, None, 'a (1) [2] np.nan.jpg')}",
    '{"it\'s": [array([[1., 2.],\n       [3., 4.]], dtype=float32), np.array([])], '
    "'b\\n\\u00e9': ((), ('a', 1), (np.str_('a'),))}",
    "{'preds': [{'filename': 'one.jpg', 'predictions': [{'bbox': [0.5, 20, 5e-05, 80.25]}], "
    "'hoi_prediction': [{'subject_id': 0, 'score': 0.5, 'b\\n': None, 3: \"it's\"}]}]}",
)

QUESTIONS = {
    "HICO_test2015_00000001.jpg": {
        "QA_0": {
            "gt_choices": list(OPTIONS[:1]),
            "wrong_choices": list(OPTIONS[1:]),
            "boxes": {"human": [1, 2, 3.5, 4], "object": [5, 6, 7, 8]},
        },
        "QA_1": {"gt_choices": [], "wrong_choices": list(OPTIONS[1:]), "boxes": None},
    },
    "HICO_test2015_00000002.jpg": {
        "gt_choices": list(OPTIONS[:2]),
        "wrong_choices": list(OPTIONS[2:]),
    },
}
ANSWERS: list[Any] = [
    {
        "image": "HICO_test2015_00000001.jpg",
        "question": "QA_0",
        "options": list(OPTIONS),
        "reply": "<think>B?</think> A, C",
    },
    {"image": "HICO_test2015_00000002.jpg", "chosen": list(OPTIONS[:2])},
]
PUBLISHED = {
    "HICO_test2015_00000001.jpg": {"QA_0": [OPTIONS[0]], "QA_0_reasoning": "so", "QA_1": []},
    "HICO_test2015_00000002.jpg": {"QA_0": list(OPTIONS[2:])},
}
REPLIES = (
    "A, C",
    "(A) (C)",
    "<think>First B is wrong, but C holds.</think>\n<answer>A and C</answer>",
    "The correct answers are **A** and D, because the person is riding the bicycle.",
    "I'm sorry, I cannot determine this from the image.",
    "None of the above.",
    "\\boxed{A,B}",
    "1, 3",
    "riding the bicycle; holding a bicycle",
    '{"answer": ["A", "B"]}\n```json\n["A"]\n```',
    "答案选 A 和 C。",
    "All except B; not C to D",
)
