"""What a robustness study says, and what it must not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from diaghoi.exceptions import InputError
from diaghoi.robustness.study import CLEAN, Condition, read_robustness_study

MODEL = '[[model]]\nlabel = "A"\nclean = "c.npz"\nfiles = "{corruption}_{severity}.npz"\n'


def read(folder: Path, text: str):
    path = folder / "study.toml"
    path.write_text(text)
    return read_robustness_study(path)


def test_conditions_are_by_default_those_of_the_paper(tmp_path: Path) -> None:
    study = read(tmp_path, MODEL)
    assert len(study.conditions) == 101  # names and groups: test_corruptions.py
    assert study.conditions[0] == CLEAN
    study = read(tmp_path, 'corruptions = ["EI", "motion blur"]\n' + MODEL)
    assert len(study.corruptions) == 5
    assert study.corruptions[0] == "motion_blur"


@pytest.mark.parametrize(
    ("clean", "pattern", "files"),
    [
        ("c.npz", "{corruption}/{severity:02d}.npz", ("HERE/c.npz", "HERE/occlusion/02.npz")),
        (
            "memory://c.npz",
            "s3://b/{corruption}_{severity}",
            ("memory://c.npz", "s3://b/occlusion_2"),
        ),
    ],
)
def test_files_follow_the_pattern(tmp_path: Path, clean: str, pattern: str, files) -> None:
    """Braces of the folder are not fields."""
    folder = tmp_path / "{a}"
    folder.mkdir()
    text = MODEL.replace("{corruption}_{severity}.npz", pattern).replace("c.npz", clean)
    pairs = 'clean_pairs = "p.pkl"\npairs = "{corruption}-{severity}.pkl"\n'
    study = read(folder, 'corruptions = ["OCC"]\nseverities = [2, 2]\n' + text + pairs)
    runs = list(study.runs())
    assert [run.condition for run in runs] == [CLEAN, Condition("occlusion", 2)]
    assert [run.file for run in runs] == [file.replace("HERE", str(folder)) for file in files]
    assert [run.pairs for run in runs] == [str(folder / "p.pkl"), str(folder / "occlusion-2.pkl")]


def test_paths_start_from_the_file(tmp_path: Path) -> None:
    text = 'annotations = "gt"\ninstances = "i"\nids = "/j"\ndataset = "d.toml"\n'
    study = read(tmp_path, text + MODEL)
    assert (study.annotations, study.instances) == (tmp_path / "gt", tmp_path / "i")
    assert (study.ids, study.dataset) == (Path("/j"), str(tmp_path / "d.toml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "model: give at least one [[model]] with label, clean and files"),
        ("model = 3", "model: give at least one [[model]]"),
        ("anotations = 'x'\n" + MODEL, "anotations: unknown key (did you mean 'annotations'?)"),
        (MODEL.replace("clean", "cleen"), "cleen: unknown key (did you mean 'clean'?)"),
        (MODEL.replace('label = "A"', ""), "model 1: label: missing; name the model"),
        (MODEL.replace('clean = "c.npz"', ""), "clean: missing; name the predictions on clean"),
        (
            MODEL.replace("{severity}", "5"),
            "files: '{corruption}_5.npz' gives several conditions the same file; write {corr",
        ),
        (
            MODEL.replace("{severity}", "{severty}"),
            "cannot be formatted (KeyError: 'severty'); write {corruption} and {severity}",
        ),
        (MODEL.replace("{severity}", "{severity"), "cannot be formatted (ValueError: "),
        (MODEL.replace("{severity}", "{severity:q}"), "cannot be formatted (ValueError: "),
        (
            MODEL.replace("{severity}", "{severity:{width}}"),
            "formatted (KeyError: 'width')",
        ),
        (MODEL.replace("{severity}", "{severity:{}}"), "cannot be formatted (IndexError: "),
        (MODEL.replace("{corruption}", "{corruption:.1}"), "gives several conditions the same"),
        (MODEL + 'clean_pairs = "p.pkl"', "clean_pairs and pairs: give both or neither"),
        (
            MODEL + 'pairs = "{corruption}_{severity}.pkl"',
            "clean_pairs and pairs: give both or neither",
        ),
        (MODEL.replace("{severity}", "{corruption[x]}"), "cannot be formatted (TypeError: "),
        (MODEL.replace("{severity}", "{severity.x}"), "cannot be formatted (AttributeError: "),
        (MODEL.replace("{severity}", "{}"), "cannot be formatted (IndexError: "),
        (MODEL + 'pairs = "p.pkl"', "pairs: 'p.pkl' gives several conditions the same file"),
        (MODEL + MODEL, "label 'A': used for two models"),
        (MODEL + 'stage = "three"', "stage 'three'"),
        (
            'corruptions = ["motion_blurr"]\n' + MODEL,
            "corruptions: unknown corruption 'motion_blurr' (did you mean 'motion_blur'",
        ),
        ("corruptions = 'OS'\n" + MODEL, "corruptions: is 'OS'; give a list of names"),
        ("corruptions = []\n" + MODEL, "corruptions: is []; give a list of names"),
        ("severities = [0]\n" + MODEL, "severities: is [0]; give a list like [1, 3, 5]"),
        ("severities = [true]\n" + MODEL, "severities: is [True]; give a list like [1, 3, 5]"),
        ("severities = []\n" + MODEL, "severities: is []; give a list"),
        ("severities = 3\n" + MODEL, "severities: is 3; give a list"),
        (
            "annotations = 's3://b/gt.npz'\n" + MODEL,
            "annotations: s3://b/gt.npz lies elsewhere; copy it to this machine",
        ),
        (
            "verb_similarity = 'v.csv'\n" + MODEL,
            'verb_similarity: give similarity = "VERBS,OBJECTS"',
        ),
        (
            "similarity = 'v.csv'\n" + MODEL,
            "similarity 'v.csv': give two tables, VERBS,OBJECTS, or own or wordnet",
        ),
        (
            "similarity = 's3://v.csv,o.csv'\n" + MODEL,
            "similarity: s3://v.csv,o.csv lies elsewhere; copy it to this machine",
        ),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert (
        "study.toml" in str(error.value)
        or "label 'A'" in str(error.value)
        or "stage" in str(error.value)
    )
    assert message in str(error.value)
