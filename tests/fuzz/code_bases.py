"""Small right files as the code bases of the field write them: what :mod:`fuzz.targets` spoils."""

from __future__ import annotations

from typing import Any

import numpy as np

HUMAN, THING = [10.0, 20.0, 50.0, 80.0], [30.5, 40.0, 90.0, 95.0]
NAME = "HICO_test2015_00000001.jpg"
# Classes of one object.
RIDE, HOLD = 156, 149

GEN_VLKT: dict[str, Any] = {
    "preds": [
        {
            "filename": NAME,
            "predictions": [{"bbox": HUMAN}, {"bbox": THING}],
            "hoi_prediction": [
                {"subject_id": 0, "object_id": 1, "category_id": RIDE, "score": 0.5},
                {"subject_id": 0, "object_id": 1, "category_id": HOLD, "score": 0.25},
            ],
        }
    ],
    "gts": [
        {
            "filename": NAME,
            "annotations": [
                {"bbox": HUMAN, "category_id": 0},
                {"bbox": THING, "category_id": 1},
            ],
            "hoi_annotation": [{"subject_id": 0, "object_id": 1, "category_id": 76}],
        }
    ],
}
# As an evaluation loop that keeps NumPy's scalars leaves it.
GEN_VLKT_NUMPY: dict[str, Any] = {
    "preds": [
        GEN_VLKT["preds"][0]
        | {
            "predictions": [{"bbox": list(map(np.float32, box))} for box in (HUMAN, THING)],
            "hoi_prediction": [
                row | {"score": np.float32(row["score"])}
                for row in GEN_VLKT["preds"][0]["hoi_prediction"]
            ],
        }
    ],
    "gts": [
        GEN_VLKT["gts"][0]
        | {
            "annotations": [
                {"bbox": np.array(box), "category_id": n} for n, box in enumerate((HUMAN, THING))
            ]
        }
    ],
}
PPDM: list[Any] = [
    {
        "file_name": NAME,
        "predictions": [
            {"bbox": HUMAN, "category_id": 1},
            {"bbox": THING, "category_id": 2},
        ],
        "hoi_prediction": [{"subject_id": 0, "object_id": 1, "category_id": 77, "score": 0.5}],
    }
]
# Enough images to be told from HICO-DET: each of these verbs with its object is a class of HOI-A.
HOI_A: list[Any] = [
    {
        "file_name": f"test_{number:06}.png",
        "predictions": [
            {"bbox": HUMAN, "category_id": "1"},
            {"bbox": THING, "category_id": thing},
        ],
        "hoi_prediction": [{"subject_id": 0, "object_id": 1, "category_id": verb, "score": 0.5}],
    }
    for number in range(24)
    for verb, thing in [((1, "3"), (7, "11"), (9, "10"), (10, "10"))[number % 4]]
]
HOI_TRANSFORMER: list[Any] = [
    {
        "image_id": NAME,
        "hoi_list": [
            {
                "h_box": [1, 2, 30, 40],
                "o_box": THING,
                "i_box": [0, 0, 0, 0],
                "h_cls": 0.5,
                "o_cls": 0.75,
                "i_cls": 0.25,
                "h_name": "person",
                "o_name": "cell phone",
                "i_name": "hold",
            }
        ],
    },
    {"image_id": "two.jpg", "hoi_list": []},
]
# THID's rows, by the number of the image.
THID: list[Any] = [[], [[RIDE, *HUMAN, *THING, 0.5, 0], [HOLD, *HUMAN, *THING, 0.25, 1]], []]
ANNO_LIST: list[Any] = [
    {
        "global_id": "HICO_test2015_00000001",
        "image_size": [480, 640, 3],
        "hois": [
            {
                "id": "149",
                "human_bboxes": [HUMAN],
                "object_bboxes": [THING],
                "connections": [[0, 0]],
                "invis": 0,
            }
        ],
        "pos_hoi_ids": ["149"],
        "neg_hoi_ids": [],
    }
]
HOIDET: list[Any] = [
    {
        "image_id": 1,
        "boxes": [HUMAN, THING],
        "h_idx": [0, 0],
        "o_idx": [1, 1],
        "hoi_score": [0.5, 0.25],
        "hoi_class": [RIDE, HOLD],
    }
]
CMD_SE: dict[str, Any] = {
    "scores": {RIDE: [0.5, 0.25], HOLD: []},
    "boxes": {RIDE: [HUMAN + THING, THING + HUMAN], HOLD: []},
    "keys": {RIDE: [1, 2], HOLD: []},
    "gts": {RIDE: {1: np.array([HUMAN + THING])}, HOLD: {}},
}
ICAN: dict[int, Any] = {
    683: [
        [np.array(HUMAN), np.array(THING), 2, np.full(117, 0.125), 0.5, 0.25],
        [np.array(THING), np.array(HUMAN), 2, np.full(117, 0.25), 0.5, 0.25],
    ],
    7: [],
}
AGENT_HOI: list[Any] = [
    {
        "filename": NAME,
        "Object Category": ["horse", "cell phone"],
        "Object Logits": [0.5, 1.0],
        "IC Logits": [[0.75, 0.25], [0.5]],
        "Interaction Class": [["ride", "sit_on"], ["hold"]],
        "Box": [
            {"humanBox": [*HUMAN, 0.5], "objBox": [*THING, 0.25], "Interaction Class": []},
            {"humanBox": [*HUMAN, 0.5], "objBox": [*THING, 1.0], "Interaction Class": []},
        ],
    }
]
DA_HOI: list[Any] = [
    {
        "img_id": 683,
        "pred_object_names": ["bicycle"],
        "bboxes": [[0.0, 0.5, 0.25, 1.0, 0.5, 0.5, 1.0, 1.0]],
        "max_scores": [[0.5, 0.75, 1.0]],
        "merge_potential_list": [["riding a bicycle", "sitting on a bicycle"]],
        "merge_pred_logits": [(np.array([[0.5, 1]]), np.array([[1, 0.25]]))],
        "width": 640,
        "height": 480,
    }
]
# Rows of the files for the official evaluator as GEN-VLKT's converter writes them: boxes, image,
# class of the object, score.
CONVERTED = np.empty((2, 5), dtype=object)
for _row in CONVERTED:
    _row[:] = [np.array([part]) for part in (HUMAN, THING, [1.0], [2.0], [500.0])]
HOI_R1: dict[str, Any] = {
    "outputs": ["<answer>[{...}]</answer>", "[]", "I do not know"],
    "preds": [
        [
            {
                "human": HUMAN,
                "object": THING,
                "object class": "bicycle",
                "verb class": "ride, sit on, juggle",
            }
        ],
        [],
        None,
    ],
    "gt_paths": [{"file_name": f"HICO_test2015_{n:08d}"} for n in (1, 2, 3)],
}
_BOUNDS = np.zeros((600, 2))
_BOUNDS[156] = 0, 1
VSGNET: dict[str, Any] = {
    NAME: {
        "start_end_ids": _BOUNDS,
        "human_obj_boxes_scores": np.array([[*HUMAN, *THING, 0.5]]),
    }
}
# Of the 80 objects only the second one, a bicycle, has a pair.
IDN: dict[str, Any] = {
    key: [np.array(pair) if place == 1 else np.zeros(0) for place in range(80)]
    for key, pair in (
        ("keys", [1]),
        ("bboxes", [[*HUMAN, *THING]]),
        ("scores", [[0.5, 0.25, *[0.0] * 12]]),
        ("hdet", [0.5]),
        ("odet", [1.0]),
    )
} | {"sel": [None] * 600}
BY_IMAGE: dict[str, Any] = {
    NAME: [{"hoi_id": 156, "score": 0.5, "sub_bbox": HUMAN, "obj_bbox": THING}]
}
BY_IMAGE_AND_COLUMN: dict[str, Any] = {
    NAME: {
        "boxes_h": [HUMAN],
        "boxes_o": [THING],
        "verbs": ["ride"],
        "objects": ["bicycle"],
        "scores": [0.5],
    }
}
