"""The description of a study, and saved results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.results import example

import diaghoi
from diaghoi import InputError, simulate
from diaghoi.comparison.results import read_result, refuse_result
from diaghoi.comparison.study import Model, Study, check_models, read_study
from diaghoi.formats import write

FULL = """
annotations = "gt.npz"
instances = "sub/instances.json"
ids = "/abs/test.ids"
dataset = "hico-det"
protocol = "diag-hoi"

[[model]]
label = "QPIC"
file = "qpic.npz"
pairs = "pairs.pkl"
stage = "one"
backbone = "ResNet-50"

[[model]]
file = "sub/upt.json"
"""


def study_file(folder: Path, text: str) -> Path:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_study_is_read_with_paths_from_its_file(tmp_path: Path) -> None:
    path = study_file(tmp_path, FULL)
    study = read_study(path)
    assert study == Study(
        models=(
            Model(
                label="QPIC",
                file=tmp_path / "qpic.npz",
                pairs=tmp_path / "pairs.pkl",
                stage="one",
                backbone="ResNet-50",
            ),
            Model(label="upt", file=tmp_path / "sub" / "upt.json"),
        ),
        annotations=tmp_path / "gt.npz",
        instances=tmp_path / "sub" / "instances.json",
        ids=Path("/abs/test.ids"),
        dataset="hico-det",
        protocol="diag-hoi",
        source=str(path),
    )
    assert study.vocabulary is diaghoi.data.vocabulary.hico_det()


def test_a_description_of_a_data_set_lies_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "zoo.toml").write_text('name = "zoo"\nobjects = ["person"]\nverbs = ["hug"]\n')
    study = read_study(study_file(tmp_path, 'dataset = "zoo.toml"\n[[model]]\nfile = "a.pkl"\n'))
    assert study.vocabulary is not None
    assert study.vocabulary.name == "zoo"


def test_what_is_left_out_is_none(tmp_path: Path) -> None:
    study = read_study(study_file(tmp_path, '[[model]]\nfile = "a.pkl"\n'))
    assert (study.annotations, study.dataset, study.protocol) == (None, None, None)
    assert study.vocabulary is None
    assert study.models == (Model(label="a", file=tmp_path / "a.pkl"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "model: give at least one [[model]] with label and file"),
        ("model = 3", "model: give at least one [[model]] with label and file"),
        ("model = [1]", "model: give at least one [[model]] with label and file"),
        ("[[model]]\nlabel = 'a'", "model 1: file: missing; name the predictions"),
        ("[[model]]\nfile = 3", "model 1: file: is 3; give a string"),
        ("[[model]]\nfile = ''", "model 1: file: is ''; give a string"),
        ("[[model]]\nfile = 'a'\nstage = 'ones'", "model 'a': stage 'ones' (did you mean 'one'?)"),
        ("[[model]]\nfile = 'a'\n" * 2, "label 'a': used for two models"),
        ("[[model]]\nfile = 'a'\nlabel = '\ufeff'", "contains unprintable characters; remove them"),
        (
            f"[[model]]\nfile = 'a'\nvenue = '{'x' * 201}'",
            "model 1: venue: has 201 characters; give",
        ),
        ("anotations = 'x'\n[[model]]\nfile = 'a'", "(did you mean 'annotations'?)"),
        ("[[model]]\nfile = 'a'\nbackbones = 'x'", "backbones: unknown key (did you mean"),
        ("protocol = 1\n[[model]]\nfile = 'a'", "protocol: is 1; give a string"),
        ("[[model]", "not valid TOML"),
    ],
)
def test_bad_studies(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_study(study_file(tmp_path, text))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'study.toml'}: ")


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: No such file or directory; check the path"):
        read_study(tmp_path / "none.toml")


def test_labels_must_differ_and_stages_be_known(tmp_path: Path) -> None:
    a = Model(label="a", file=Path("a"))
    assert check_models([a]) == (a,)
    with pytest.raises(InputError, match="label 'a': used for two models"):
        check_models([a, Model(label="a", file=Path("b"))])
    with pytest.raises(
        InputError, match=r"'a': stage 'ones' \(did you mean 'one'\?\): give one or"
    ):
        check_models([Model(label="a", file=Path("a"), stage="ones")])


def test_a_study_diagnoses_its_models(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(5, rng)
    write(tmp_path / "gt.npz", annotations)
    write(tmp_path / "a.npz", simulate.detect(annotations, simulate.ONE_STAGE, rng))
    text = 'annotations = "gt.npz"\nprotocol = "hico-det"\n[[model]]\nlabel = "A"\nfile = "a.npz"\n'
    study = read_study(study_file(tmp_path, text))
    diagnosis = study.diagnose(study.models[0], study.read_annotations())
    assert (diagnosis.label, diagnosis.protocol.name) == ("A", "hico-det")
    other = study.diagnose(study.models[0], study.read_annotations(), "diag-hoi")
    assert other.protocol.name == "diag-hoi"


def test_predictions_need_annotations(tmp_path: Path) -> None:
    study = read_study(study_file(tmp_path, '[[model]]\nfile = "a.pkl"\n'))
    with pytest.raises(InputError, match=r"study\.toml: annotations: missing; predictions need"):
        study.read_annotations()


def test_saved_results_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("\n  " + json.dumps(example()))
    assert read_result(path) == example()


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b"{", b'{"a": 1}', b"\x80\x04.", b"[" * 10**5, b'{"\xff": 1}']
)
def test_other_files_are_no_results(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert read_result(path) is None


def test_deeply_nested_json_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": ' * 10**5)
    assert read_result(path) is None


def test_a_folder_is_no_result(tmp_path: Path) -> None:
    """Predictions may be a folder of .mat files."""
    assert read_result(tmp_path) is None


def test_a_result_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: No such file or directory; check the path"):
        read_result(tmp_path / "none.json")


def test_a_part_of_a_result_is_none(tmp_path: Path) -> None:
    result: dict[str, Any] = example()
    del result["oracles"]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(result))
    assert read_result(path) is None


def test_a_saved_result_is_refused_where_something_else_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    for value, message in (
        (
            example("A"),
            "saved result of 'diaghoi report --json'; give the predictions themselves, or",
        ),
        ({"diaghoi": "0.1.0", "soft_map": 0.5}, "saved result of a diaghoi command with --json"),
    ):
        path.write_text(json.dumps(value))
        with pytest.raises(InputError, match=message):
            refuse_result(path, "the predictions")
    for text in ("{}", "[]", "{", ""):
        path.write_text(text)
        refuse_result(path, "the predictions")
    refuse_result(tmp_path, "the predictions")
