"""Judges, and what the filter makes of what they say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.scenes import BICYCLE, PERSON, RIDE, VOCABULARY, WASH, image, scenes

from diaghoi.choice.build import screen
from diaghoi.choice.candidates import ImageTargets, Target, Verdicts, targets_in_images
from diaghoi.choice.classes import Interaction
from diaghoi.choice.judges import (
    RuleJudge,
    file_judge,
    judge_files,
    read_judges,
    read_models,
    similarity_judge,
    time_sensitive_judge,
)
from diaghoi.choice.model_judge import judge_text, read_judgement
from diaghoi.exceptions import InputError
from diaghoi.formats.pictures import Frame
from diaghoi.semantic.tables.similarity import Similarity

A, B, C, D = (Interaction(verb, "cup") for verb in "abcd")
CUP = Target(
    image="a.jpg",
    right=(Interaction("hold", "cup"),),
    annotated=frozenset({Interaction("hold", "cup")}),
    candidates=(A, B, C, D),
)
YES, NO = True, False


class Says:
    """A judge that says what it is told to, "a- b+", and keeps what it was asked."""

    name, notes = "says", ()

    def __init__(self, verdicts: str, sees_pictures: bool = True) -> None:
        self.verdicts = {Interaction(v[0], "cup"): v[1] == "+" for v in verdicts.split()}
        self.sees_pictures = sees_pictures
        self.asked: list[str] = []

    def judge(self, asked: Sequence[Target]) -> list[Verdicts]:
        self.asked += ["".join(each.verb for each in of.candidates) for of in asked]
        return [
            {each: self.verdicts[each] for each in one.candidates if each in self.verdicts}
            for one in asked
        ]


@pytest.mark.parametrize(
    ("judges", "negatives", "asked"),
    [
        # The first judge retains what it calls inconsistent; silence makes no negative.
        (["a- b+ c-"], "ac", ["abcd"]),
        ([""], "", ["abcd"]),
        (["a-", "", ""], "", ["abcd", "a", "a"]),
        # The second confirms, and without a third its doubt rules out.
        (["a- b+ c- d-", "a- c+"], "a", ["abcd", "acd"]),
        # The third decides on what the second calls positive.
        (["a- b- c- d-", "a- b+ c+", "b- c+ d-"], "abd", ["abcd", "abcd", "bcd"]),
    ],
)
def test_judges_filter_in_turn(judges: list[str], negatives: str, asked: list[str]) -> None:
    saying = [Says(said) for said in judges]
    ((found,), _) = screen([CUP], saying)
    assert "".join(each.verb for each in found) == negatives
    assert [judge.asked for judge in saying] == [[each] for each in asked]


def test_judges_of_words_rule_out_wherever_they_stand() -> None:
    words, first = Says("a+ b- c- d-", sees_pictures=False), Says("a- b- c- d-")
    ((found,), _) = screen([CUP], [first, Says("a+ b+ c+ d+"), Says("a- b- c- d-"), words])
    assert "".join(each.verb for each in found) == "bcd"
    assert (words.asked, first.asked) == (["abcd"], ["bcd"])


def test_what_judges_said_is_counted() -> None:
    found = screen([CUP], [Says("a- b+")])[1][0].to_dict()
    counts = {"asked": 4, "consistent": 1, "inconsistent": 1, "silent": 2}
    assert found == {"judge": "says", "part": "groups", **counts}


def test_targets_without_candidates_are_not_asked_about() -> None:
    judge, bare = Says(""), replace(CUP, image="b.jpg", candidates=())
    negatives, _ = screen([bare, CUP], [judge])
    assert (judge.asked, negatives) == (["abcd"], [(), ()])


@pytest.mark.parametrize(
    ("number", "problem"),
    [(0, "at least one `judge`"), (4, "4 judges that see pictures; give at most 3")],
)
def test_no_judge_and_a_fourth_of_pictures_are_refused(number: int, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        screen([CUP], [Says("")] * number)


def test_time_sensitive_classes_are_ruled_out() -> None:
    open_, clean = (Interaction(verb, "refrigerator") for verb in ("open", "clean"))
    (said,) = time_sensitive_judge().judge([replace(CUP, candidates=(open_, clean))])
    assert said == {open_: YES, clean: NO}


def bicycles() -> list[ImageTargets]:
    boxes = [(PERSON, (0, 0, 19, 39)), (PERSON, (50, 0, 69, 39)), (BICYCLE, (30, 30, 49, 49))]
    found = [image(f"{name}.jpg", boxes, [(0, 2, RIDE), (1, 2, WASH)]) for name in "ab"]
    return targets_in_images(scenes(found, scored=False))


def bicycle(*verbs: str) -> tuple[Interaction, ...]:
    return tuple(Interaction(verb, "bicycle") for verb in verbs)


def test_similar_actions_are_consistent_from_the_threshold_on() -> None:
    names = ("ride", "wash", "push", "walk", "hold")
    values = np.eye(5)
    values[0, 2] = values[2, 0] = 0.5
    values[0, 3] = values[3, 0] = 0.49
    judge = similarity_judge(Similarity(names=names, values=values, name="t"), bicycles())
    rider = bicycles()[0].people[0]
    candidates = bicycle("push", "walk", "no_interaction", "jump")
    (said,) = judge.judge([replace(rider, candidates=candidates)])
    assert said == dict(zip(bicycle("push", "walk", "no_interaction"), (YES, NO, NO), strict=True))
    assert judge.notes[-1].startswith("t: lacks 8 of 13")
    assert "jump" in judge.notes[-1]


def verdicts(path: Path, text: str) -> RuleJudge:
    path.write_text(text)
    return file_judge(path, bicycles(), VOCABULARY)


def said(judge: RuleJudge, person: int | None, *verbs: str) -> dict[str, bool]:
    subject = bicycles()[0]
    about = subject.scene if person is None else subject.people[person]
    (found,) = judge.judge([replace(about, candidates=bicycle(*verbs))])
    return {each.verb: verdict for each, verdict in found.items()}


def test_a_csv_of_verdicts_is_read(tmp_path: Path) -> None:
    judge = verdicts(
        tmp_path / "v.csv",
        "image,person,verb,object,verdict,why\n"
        "a.jpg,0,push,bicycle,negative,x\n"
        "a.jpg,1,push,bicycle,Positive,\n"
        "a.jpg,,walk,bicycle,no,\n"
        "a.jpg,1,walk,bicycle,,\n"
        "a.jpg,1,hold,bicycle\n"
        "b.jpg,0,hold,bicycle,negative,\n"
        "z.jpg,0,hold,bicycle,negative,\n",
    )
    assert said(judge, 0, "push", "walk", "hold") == {"push": NO, "walk": NO}
    assert said(judge, 1, "push", "walk") == {"push": YES, "walk": NO}
    assert said(judge, None, "push", "walk") == {"walk": NO}
    assert judge.notes == (
        f"{tmp_path / 'v.csv'}: verdicts on images outside the questions (1): z.jpg",
    )


def test_json_lines_of_verdicts_are_read(tmp_path: Path) -> None:
    rows = [
        {"image": "a.jpg", "person": 0, "class": "push bicycle", "verdict": "negative"},
        {"image": "a.jpg", "person": 0, "class": "sit_on a/an bicycle", "verdict": True},
        {"image": "a.jpg", "person": [2, 1, 20, 41], "verb": "walk", "object": "bicycle",
         "verdict": False},
        {"image": "a.jpg", "person": "51 1 70 40", "class": "no_interaction with a/an bicycle",
         "verdict": 0},
        {"image": "a.jpg", "person": 0, "class": "hop on bicycle", "verdict": None},
    ]  # fmt: skip
    judge = verdicts(tmp_path / "v.jsonl", "\n\n".join(map(json.dumps, rows)))
    asked = ("push", "sit_on", "walk", "no_interaction", "hop_on")
    assert said(judge, 0, *asked) == {"push": NO, "sit_on": YES, "walk": NO}
    assert said(judge, 1, *asked) == {"no_interaction": NO}


HEAD = "image,person,verb,object,verdict\n"
NONE_OF_THEM = "is none of the 2 annotated people"
BAD_ROWS = {
    "a.jpg,0,push,bicycle,maybe": "line 2: verdict 'maybe'.*positive or negative",
    "a.jpg,0,push,bycicle,no": "'push bycicle' is not a class.*did you mean 'push bic",
    "a.jpg,0,,bicycle,no": "line 2: 'verb' is missing",
    ",0,push,bicycle,no": "line 2: 'image' is missing",
    "a.jpg,2,push,bicycle,no": f"'2' {NONE_OF_THEM} of a.jpg",
    **{
        f"a.jpg,{person},push,bicycle,no": f"'{person}' {NONE_OF_THEM}"
        for person in ("0.5", "-1", "nan", "90 1 99 9")
    },
    "a.jpg,0,push,bicycle,no\na.jpg,0,push,bicycle,yes": "line 3: contradicts line 2 about 'push b",
    "z.jpg,0,push,bicycle,no": "no verdict on any of the 2 images.*a.jpg.*z.jpg",
    "": "no verdict on any of the 2 images.*first in the file is none",
}
PUSH = '"image": "a.jpg", "class": "push bicycle", "verdict"'
BAD_FILES = {
    "": "no verdict on any of the 2 images.*first in the file is none",
    "image,person,verb,object,veredict\na.jpg,0,push,bicycle,no\n": "'verdict' is missing .did you",
    "picture,verdict\na.jpg,no\n": "line 2: 'image' is missing",
    '{"image": "a.jpg"': "v.txt: cut off or damaged JSON",
    '{"image": "a.jpg"}\n[1]': "line 1: 'verdict' is missing",
    f'{{{PUSH}: "no"}}\n[1]': "line 2: .1. is not a JSON object",
    f"{{{PUSH}: 2}}": "line 1: verdict 2",
    f'{{"person": [1{"0" * 400}], {PUSH}: 0}}': NONE_OF_THEM,
    f"{HEAD}{'a' * 200_000},0,push,bicycle,no\n": r"v.txt: not a CSV file \(field larger than",
}


@pytest.mark.parametrize(
    ("text", "problem"),
    [*((f"{HEAD}{row}\n", said) for row, said in BAD_ROWS.items()), *BAD_FILES.items()],
    ids=lambda text: text[:60],
)
def test_bad_files_of_verdicts_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        verdicts(tmp_path / "v.txt", text)


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{tmp_path}: Is a directory; check the path"):
        file_judge(tmp_path, bicycles(), VOCABULARY)
    (tmp_path / "v").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"v: not a CSV file \(.*\); give verdicts as CSV or JSON"):
        file_judge(tmp_path / "v", bicycles(), VOCABULARY)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("1: yes\n2: no", [YES, NO]),
        ("<think>1: no\n2: yes</think>\n1. Yes\n2) NO.", [YES, NO]),
        # Servers leave the opening tag out, or end a reply that is too long.
        ("1: no\n2: yes</think>\n1. Yes\n2) NO.", [YES, NO]),
        ("<think>1: no\n2: yes", [None, None]),
        ("**1**: yes\n- 2: no, because she sits", [YES, NO]),
        ("1: yes\n1: no\n2: no", [None, NO]),
        ("yes\nno", [None, None]),
        ("1: nobody\n2: yesterday", [None, None]),
        ("3: yes", [None, None]),
        ("", [None, None]),
    ],
)
def test_judgements_are_read(reply: str, found: list[bool | None]) -> None:
    assert read_judgement(reply, 2) == found


def test_a_model_is_told_the_person_the_annotations_and_the_candidates() -> None:
    person = bicycles()[0].people[0]
    asked = judge_text(person, bicycle("push", "hop_on"), Frame(width=90, height=60))
    assert "the person in the box [0, 0, 19, 39]" in asked
    assert "90 wide and 60 high" in asked
    assert "Annotated: ride a/an bicycle." in asked
    assert "\n1. push a/an bicycle\n2. hop on a/an bicycle\n" in asked
    scene = judge_text(bicycles()[0].scene, bicycle("push"), Frame(width=90, height=60))
    assert "box" not in scene
    assert "anybody in the picture" in scene


def test_judges_are_told_apart_by_their_text(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text(f"{HEAD}a.jpg,0,push,bicycle,no\n")
    Path("t,1.csv").write_text("a,b,score\nride,push,0.75\n")
    model = Says("")
    models, rider = {"http://x/v1,m": model}, bicycles()[0].people[0]
    texts = ["http://x/v1,m", "v.csv", "time-sensitive"]
    texts += ["similarity:t,1.csv", "similarity:t,1.csv,1"]
    found = read_judges(texts, bicycles(), VOCABULARY, models)
    names = ["says", "v.csv", "time-sensitive", "similarity:t,1", "similarity:t,1"]
    assert [each.name for each in found] == names
    for judge, verdict in zip(found[3:], (YES, NO), strict=True):
        assert judge.judge([replace(rider, candidates=bicycle("push"))]) == [
            dict.fromkeys(bicycle("push"), verdict)
        ]
    assert judge_files(texts, models) == [Path("v.csv"), Path("t,1.csv"), Path("t,1.csv")]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["time-sensitve"], "no such file .did you mean 'time-sensitive'"),
        (["time-sensitive"] * 2, "`judge` time-sensitive: is named twice"),
        (["similarity:t.csv,1.5"], "the threshold must be above 0 and at most 1"),
    ],
)
def test_other_judges_are_refused(texts: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_judges(texts, bicycles(), VOCABULARY, {})


def test_one_model_is_one_judge_and_one_key_goes_to_one_server(monkeypatch) -> None:
    with pytest.raises(InputError, match="`judge`: m is named twice"):
        read_models(["http://x/v1,m", "http://y/v1,m"])
    monkeypatch.setenv("DIAGHOI_API_KEY", "secret-secret-secret")
    with pytest.raises(InputError, match="would go to x and y; name the variable of each model"):
        read_models(["http://x/v1,m", "http://y/v1,n"])
    assert list(read_models(["http://x/v1,m", "http://x/v1,n", "v.csv"])) == [
        "http://x/v1,m",
        "http://x/v1,n",
    ]
