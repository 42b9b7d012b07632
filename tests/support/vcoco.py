"""Small V-COCO files for tests: three people and two images."""

import json

from diaghoi.formats.v_coco import ACTION, ACTIONS, KEYS

INSTANCES = {
    "images": [
        {"id": 7, "width": 100, "height": 80, "file_name": "COCO_val2014_000000000007.jpg"},
        {"id": 5, "width": 50, "height": 50, "file_name": "COCO_val2014_000000000005.jpg"},
    ],
    "annotations": [
        {"id": 70, "image_id": 7, "category_id": 18, "iscrowd": 0, "area": 9.0,
         "bbox": [10.1, 20, 30, 20]},
        {"id": 71, "image_id": 7, "category_id": 1, "iscrowd": 0, "area": 9.0,
         "bbox": [-5, 0, 25, 200]},
        {"id": 50, "image_id": 5, "category_id": 1, "iscrowd": 0, "area": 9.0,
         "bbox": [1, 2, 10, 10]},
        {"id": 72, "image_id": 7, "category_id": 1, "iscrowd": 0, "area": 9.0,
         "bbox": [40, 40, 20, 20]},
        {"id": 73, "image_id": 7, "category_id": 1, "iscrowd": 0, "area": 9.0,
         "bbox": [60, 10, 1, 20]},
        {"id": 74, "image_id": 7, "category_id": 1, "iscrowd": 0, "area": 0.0,
         "bbox": [60, 10, 10, 20]},
        {"id": 75, "image_id": 7, "category_id": 1, "iscrowd": 0, "area": 9.0, "ignore": 1,
         "bbox": [60, 10, 10, 20]},
        {"id": 76, "image_id": 7, "category_id": 90, "iscrowd": 1, "area": 9.0,
         "bbox": [2, 2, 4, 4]},
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 18, "name": "dog"},
                   {"id": 90, "name": "toothbrush"}],
}  # fmt: skip
# Person 71 holds the dog, cuts something unseen with the toothbrush and stands; 50 does nothing;
# 72 is not annotated.
PEOPLE = ((7, 71), (5, 50))
DONE = {
    ("hold", 71): {"obj": 70},
    ("cut", 71): {"instr": 76, "obj": 0},
    ("stand", 71): {},
}


def actions(people=PEOPLE, done=DONE):
    found = []
    for action, name in enumerate(ACTIONS):
        keys = [key for key, of in zip(KEYS, ACTION, strict=True) if of == action]
        names = [key.removeprefix(f"{name}_") for key in keys]
        doing = [done.get((name, person)) for _, person in people]
        ids = [person for _, person in people]
        found.append(
            {
                "action_name": name,
                "role_name": names,
                "include": [[] for _ in names],
                "image_id": [image for image, _ in people],
                "ann_id": ids,
                "label": [int(d is not None) for d in doing],
                "role_object_id": ids
                + [(d or {}).get(role, 0) for role in names[1:] for d in doing],
            }
        )
    return found


def write_annotations(folder, vcoco=None, instances=None, ids=(7, 5), places=("", "")):
    """Write the three files, and return the path of the V-COCO file."""
    of_instances, of_ids = (folder / place for place in places)
    for each in (folder, of_instances, of_ids):
        each.mkdir(parents=True, exist_ok=True)
    content = INSTANCES if instances is None else instances
    (of_instances / "instances_vcoco_all_2014.json").write_text(json.dumps(content))
    (of_ids / "vcoco_test.ids").write_text("".join(f"{number}\n" for number in ids))
    path = folder / "vcoco_test.json"
    path.write_text(json.dumps(actions() if vcoco is None else vcoco))
    return path


def result(image=7, person=(1.0, 2.0, 30.0, 40.0), **values):
    """Return one dict of the official layout; what is not given is not predicted."""
    nan = float("nan")
    row = {} if image is None else {"image_id": image}
    row["person_box"] = list(person)
    for key in KEYS:
        row[key] = nan if key.endswith("_agent") else [nan] * 5
    return row | values
