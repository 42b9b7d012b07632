"""The options that pass the files of V-COCO through."""

import json

import pytest
from support import vcoco
from support.commands import outcome

ERRORS = (
    "true_positive", "human_box", "object_box", "both_boxes", "association", "action", "duplicate"
)  # fmt: skip


@pytest.mark.parametrize(
    "detector", ["one_stage", pytest.param("two_stage", marks=pytest.mark.slow)]
)
def test_report_without_naming_the_data_set(detector, shared):
    folder = shared / "conformance" / "v_coco"
    truth = ("--annotations", folder / "vcoco_test.json")
    pairs = ("--pairs", folder / f"{detector}_pairs.pkl")
    done = outcome("report", folder / f"{detector}.pkl", *truth, *pairs, "--json", "-")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    expected = json.loads((folder / f"{detector}_expected.json").read_text())
    assert result["dataset"] == "v-coco"
    assert result["protocol"]["name"] == "v-coco-s1"
    assert {key: result["errors"][key] for key in expected["errors"]} == expected["errors"]
    for part, official in expected["official"].items():
        assert result["official"][part]["classes"] == pytest.approx(official["classes"], abs=1e-6)


@pytest.mark.slow
def test_files_of_the_annotations(tmp_path, saved):
    truth = vcoco.write_annotations(tmp_path / "a", places=("b", "c"))
    found = saved([vcoco.result(hold_agent=0.5)])
    instances = tmp_path / "a/b/instances_vcoco_all_2014.json"
    beside = ("--read", f"instances={instances},ids={tmp_path / 'a/c/vcoco_test.ids'}")
    done = outcome("report", found, "--annotations", truth)
    assert done.code == 2
    assert done.err.startswith(f"diaghoi: error: {truth}: instances_vcoco_all_2014.json belongs")
    assert len(done.err.splitlines()) == 1
    for words in (("report", found, "--annotations", truth), ("inspect", truth)):
        assert outcome(*words, *beside).code == 0
    done = outcome("inspect", found, "--annotations", truth, *beside)
    assert done.code == 0, done.err
    done = outcome("convert", truth, tmp_path / "x.npz", *beside)
    assert "2 images, 5 boxes, 3 pairs, 6 triplets" in done.out


@pytest.mark.slow
def test_image_of_a_single_file(saved, tmp_path):
    path = saved([vcoco.result(None, hold_agent=0.5)])
    for command in (("inspect", path), ("convert", path, tmp_path / "x.npz")):
        done = outcome(*command)
        assert done.code == 2
        assert "give the number of this image with --read image-id=ID" in done.err
        assert outcome(*command, "--read", "image-id=7").code == 0


def test_what_a_cache_template_fills_in_counts_for_the_official_figures_alone(tmp_path):
    """The same predictions with every key written out give the same official figures."""
    truth = vcoco.write_annotations(tmp_path)
    person, dog = [0.0, 0.0, 19.0, 79.0], [10.0, 20.0, 39.0, 39.0]
    sparse = [
        {"image_id": 7, "person_box": person, "hold_agent": 0.5, "hold_obj": [*dog, 0.5]},
        {"image_id": 7, "person_box": person, "sit_agent": 0.25, "sit_instr": [*dog, 0.25]},
    ]
    blank = {
        key: 0.0 if key.endswith("_agent") else [0.0, 0.0, 0.1, 0.1, 0.0] for key in vcoco.KEYS
    }
    results = []
    for name, dicts in (("sparse", sparse), ("full", [blank | row for row in sparse])):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(dicts))
        done = outcome("report", path, "--annotations", truth, "--force", "--json", "-")
        assert done.code == 0, done.err
        results.append(json.loads(done.out))
    few, many = results
    assert few["official"] == many["official"]
    assert few["official"]["agent"]["classes"]["stand"] > 0
    assert few["official"]["scenario_2"]["classes"]["cut obj"] > 0
    assert few["map"] == many["map"]
    assert sum(count for key, count in few["errors"].items() if key in ERRORS) == 2
    assert sum(count for key, count in many["errors"].items() if key in ERRORS) == 50


def test_cache_of_upt(shared):
    folder = shared / "conformance"
    path, truth = folder / "field" / "upt_vcoco_cache_300.pkl", folder / "v_coco/vcoco_test.json"
    done = outcome("report", path, "--annotations", truth, "--json", "-")
    errors = json.loads(done.out)["errors"]
    assert sum(count for key, count in errors.items() if key in ERRORS) == 300
    told = outcome("inspect", path, "--annotations", truth).out
    assert "boxes                    588" in told
    assert "triplets                 600" in told


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("qpic_vcoco_label80.pkl", ("--annotations", "test_vcoco_1.json")),
        ("muren_ko_partial_score.json", ()),
    ],
)
def test_files_of_the_field(file, more, shared):
    folder = shared / "conformance" / "field"
    words = [folder / word if word.endswith("json") else word for word in more]
    done = outcome("report", folder / file, *words)
    assert done.code == 0, done.err
