"""``diaghoi choice ask`` with servers that are slow, wrong, overloaded, or dead."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.rater_server import error, serving
from support.vision_server import PEOPLE, Vision

from diaghoi.choice import read_answers, read_questions

Run = Callable[..., Any]
COUNT = 12
NAMES = [f"HICO_{number:02}.jpg" for number in range(COUNT)]
OPTIONS = ["ride a/an bicycle", "hold a/an bicycle", "wash a/an bicycle", "jump a/an bicycle"]
QUESTION = {"gt_choices": OPTIONS[:1], "wrong_choices": OPTIONS[1:]}
BOX = {"human": [11, 6, 40, 50], "object": [1, 1, 20, 20]}
QUICK = ("--pause", 0.01, "--yes")
KEY = (*sorted(OPTIONS),)


def letters(image: str, options: tuple[str, ...]) -> str:
    return ",".join("ABCD"[place] for place, each in enumerate(options) if each == OPTIONS[0])


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with twelve pictures of 64 x 56 pixels."""
    folder = tmp_path_factory.mktemp("pictures")
    for number, name in enumerate(NAMES):
        Image.fromarray(np.full((56, 64, 3), 20 * number, np.uint8)).save(folder / name)
    return folder


@pytest.fixture
def model(pictures: Path) -> Iterator[Vision]:
    with serving(Vision(folder=pictures, answer=letters)) as served:
        assert isinstance(served, Vision)
        yield served


def questions(value: dict[str, Any] | None = None, *, boxes: bool = False) -> Path:
    path = Path("questions.json")
    one = QUESTION | ({"boxes": BOX} if boxes else {})
    path.write_text(json.dumps(dict.fromkeys(NAMES, one) if value is None else value))
    return path


def words(model: Vision, *more: object, out: str = "a.jsonl") -> tuple[object, ...]:
    own = ("--images", model.folder, "--model", f"{model.url},m", "--out", out)
    return ("choice", "ask", "questions.json", *own, *QUICK, *more)


def lines(path: str = "a.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_the_answers_are_what_score_reads(run: Run, model: Vision) -> None:
    asked = questions()
    done = run(*words(model))
    assert (done.code, model.asked) == (0, {(name, *KEY): 1 for name in NAMES})
    assert done.out == "a.jsonl: 12 of 12 questions answered, 12 now; m, setting 1, seed 0\n"
    assert run("choice", "score", asked, "a.jsonl", "--json", "s.json").code == 0
    assert json.loads(Path("s.json").read_text())["exact_match"] == 1.0
    assert len({tuple(line["options"]) for line in lines()}) > 1
    assert {(line["model"], line["setting"], line["seed"]) for line in lines()} == {("m", 1, 0)}


def test_the_request_is_that_of_chat_completions(run: Run, model: Vision) -> None:
    questions()
    run(*words(model, "--limit", 1, "--max-tokens", 77))
    (request,) = model.requests
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("m", 0, 77)
    run(*words(model, "--limit", 1, "--max-tokens", 0, "--temperature", -1, out="b.jsonl"))
    assert set(model.requests[1]) == {"model", "messages"}


def test_another_instruction_is_sent_and_kept_apart(run: Run, model: Vision) -> None:
    questions()
    run(*words(model, "--limit", 1))
    assert model.texts[-1].splitlines()[-1].startswith("IMPORTANT: Reply with the letter(s) ONLY,")
    assert lines()[0]["instruction"] == "paper"
    Path("own.txt").write_text("Give letters,\nand nothing else.\n")
    own = ("--instruction", "own.txt")
    done = run(*words(model, *own))
    assert done.code == 2
    assert "was asked with instruction 'paper', and this run has 'Give letters," in done.err
    assert run(*words(model, "--limit", 1, *own, "--json", "r.json", out="b.jsonl")).code == 0
    assert model.texts[-1].endswith("\nGive letters,\nand nothing else.")
    assert lines("b.jsonl")[0]["instruction"] == "Give letters,\nand nothing else."
    assert json.loads(Path("r.json").read_text())["instruction"].startswith("Give letters,")
    Path("own.txt").write_text(" \n")
    assert "own.txt: is empty; give the" in run(*words(model, *own, out="c.jsonl")).err


def test_the_setting_is_told_by_the_questions(run: Run, model: Vision) -> None:
    questions(boxes=True)
    done = run(*words(model))
    assert "setting 2" in done.out
    assert "also have object boxes, which are not sent; --object-box sends them" in done.err
    # HICO-DET counts from one, models from zero.
    assert all(
        "a target person with a bounding box [10, 5, 39, 49]." in asked for asked in model.texts
    )
    assert all("which is 64 wide and 56 high" in asked for asked in model.texts)
    done = run(*words(model, "--setting", 1, out="b.jsonl"))
    assert "setting 1" in done.out
    assert "box" not in model.texts[-1]
    done = run(*words(model, "--object-box", out="c.jsonl"))
    assert "- Object bbox: [0, 0, 19, 19]" in model.texts[-1]
    assert "Note" not in done.err


def test_the_order_of_options_depends_on_the_seed_alone(run: Run, model: Vision) -> None:
    questions()
    run(*words(model, "--concurrent", 1))
    run(*words(model, "--concurrent", 8, out="b.jsonl"))
    run(*words(model, "--limit", 5, out="c.jsonl"))
    run(*words(model, "--seed", 1, out="d.jsonl"))
    order = [{line["image"]: line["options"] for line in lines(f"{name}.jsonl")} for name in "abcd"]
    assert order[0] == order[1] != order[3]
    assert order[2] == {name: order[0][name] for name in NAMES[:5]}


def test_an_image_with_several_questions(run: Run, model: Vision) -> None:
    other = {"gt_choices": [OPTIONS[1]], "wrong_choices": ["eat a/an apple"]}
    questions({NAMES[0]: {"QA_0": QUESTION, "QA_1": other}, NAMES[1]: QUESTION})
    assert run(*words(model)).code == 0
    assert {(line["image"], line["question"]) for line in lines()} == {
        (NAMES[0], "QA_0"), (NAMES[0], "QA_1"), (NAMES[1], "QA_0"),
    }  # fmt: skip
    filled = next(line for line in lines() if line["question"] == "QA_1")
    assert filled["options"][2:] == ["None", "None"]
    assert "(D) None" in "\n".join(model.texts)
    assert run("choice", "score", "questions.json", "a.jsonl").code == 0
    # What is answered with fillers is known again.
    assert "0 now" in run(*words(model)).out


def test_an_option_may_be_worded_as_a_filler(run: Run, model: Vision) -> None:
    """As in three published questions."""
    short = {"gt_choices": [OPTIONS[0]], "wrong_choices": ["None"]}
    questions({NAMES[0]: short, NAMES[1]: short})
    run(*words(model, "--limit", 1))
    assert "2 of 2 questions answered, 1 now" in run(*words(model)).out
    score = run("choice", "score", "questions.json", "a.jsonl", "--json", "-")
    assert json.loads(score.out)["exact_match"] == 1.0


def test_nothing_is_asked_without_yes(run: Run, model: Vision) -> None:
    questions()
    command = [each for each in words(model, "--price", "2,8") if each != "--yes"]
    done = run(*command)
    assert (done.code, done.out, model.asked) == (0, "", {})
    assert "m: 12 questions to ask in 12 requests, about " in done.err
    assert "at the given price" in done.err
    assert done.err.endswith("Nothing has been asked yet; add --yes to start.\n")
    assert not Path("a.jsonl").exists()


def test_the_estimate_counts_what_is_left(run: Run, model: Vision) -> None:
    questions()
    run(*words(model, "--limit", 5))
    done = run(*words(model, "--json", "j.json"))
    assert "m: 7 questions to ask in 7 requests (5 are answered)" in done.err
    result = json.loads(Path("j.json").read_text())
    assert result["estimate"]["questions"] == 7
    # A picture of 64 x 56 pixels is 4 patches of 28 x 28 and a bit.
    most = max(map(len, model.texts)) / 4 + 64 * 56 / 28**2
    assert result["estimate"]["tokens_in"] == pytest.approx(7 * most, rel=0.01)
    assert (result["answered"], result["answered_before"], result["questions"]) == (12, 5, 12)


def test_a_second_run_asks_nothing_again(run: Run, model: Vision) -> None:
    questions()
    run(*words(model))
    before = Path("a.jsonl").read_bytes()
    done = run(*words(model))
    assert done.code == 0
    assert done.out.startswith("a.jsonl: 12 of 12 questions answered, 0 now")
    assert (sum(model.asked.values()), Path("a.jsonl").read_bytes()) == (12, before)


@pytest.mark.parametrize("reply", ["", "I'm sorry, I can't help with that.", "It depends.", "\0"])
def test_what_a_model_says_is_its_answer(run: Run, model: Vision, reply: str) -> None:
    questions()
    model.answer = lambda image, options: reply
    assert run(*words(model)).code == 0
    assert set(model.asked.values()) == {1}
    assert {line["reply"] for line in lines()} == {reply}
    asked = read_questions("questions.json")
    assert len(read_answers("a.jsonl", asked).unread) == COUNT


def test_a_question_without_a_reply_does_not_end_the_run(run: Run, model: Vision) -> None:
    questions()
    model.hostile = lambda words, number: error(500, "boom") if words[0] == NAMES[0] else None
    done = run(*words(model, "--tries", 2, "--json", "j.json"))
    assert done.code == 0
    assert (
        f"1 images had no reply; run the same command again to retry them: {NAMES[0]} (HTTP 500"
        in done.err
    )
    (told,) = json.loads(Path("j.json").read_text())["unanswered"]
    assert told["image"] == NAMES[0]
    model.hostile = lambda words, number: None
    assert "12 of 12 questions answered, 1 now" in run(*words(model)).out
    assert set(model.asked.values()) == {1, 3}


def refuse(model: Vision, names: list[str]) -> None:
    model.hostile = lambda words, number: error(400, "filtered") if words[0] in names else None


def test_a_model_that_takes_no_pictures_ends_the_run(run: Run, model: Vision) -> None:
    questions()
    refuse(model, NAMES)
    done = run(*words(model, "--concurrent", 1))
    assert done.code == 2
    assert "5 questions in a row without a reply (HTTP 400 Bad Request: filtered)" in done.err
    assert sum(model.asked.values()) == 5


def test_pictures_that_are_refused_do_not_end_the_run(run: Run, model: Vision) -> None:
    """More of them than would end a run if they were a server that is dead."""
    questions()
    refuse(model, NAMES[1:9])
    for count in (1, 2):
        done = run(*words(model, "--concurrent", 1))
        assert (done.code, len(lines())) == (0, 4)
        assert "8 images had no reply" in done.err
        assert {model.asked[(name, *KEY)] for name in NAMES[1:9]} == {count}


def test_what_had_no_reply_is_asked_after_what_is_new(run: Run, model: Vision) -> None:
    questions()
    refuse(model, NAMES[1:4])
    run(*words(model, "--concurrent", 1, "--limit", 6))
    asked = list(model.asked)
    assert [name for name, *_ in asked] == NAMES[:6]
    model.asked.clear()
    run(*words(model, "--concurrent", 1))
    assert [name for name, *_ in model.asked] == NAMES[6:] + NAMES[1:4]


def test_a_dead_server_ends_the_run_with_one_line(run: Run, pictures: Path) -> None:
    questions()
    with serving(Vision(folder=pictures)) as model:
        pass
    done = run(*words(model, "--tries", 2))  # type: ignore[arg-type]
    assert done.code == 2
    assert "5 questions in a row without a reply (ConnectError" in done.err
    assert not Path("a.jsonl").exists()


def test_a_server_that_is_killed_loses_no_answer(run: Run, pictures: Path) -> None:
    questions()
    dead = threading.Event()

    def dies(words: tuple[str, ...], number: int) -> dict[str, Any] | None:
        return {"drop": True} if dead.is_set() or len(model.answered) >= 5 else None

    with serving(Vision(folder=pictures, answer=letters, hostile=dies)) as model:
        done = run(*words(model, "--tries", 1, "--concurrent", 1))  # type: ignore[arg-type]
        assert done.code == 2
        assert "5 questions in a row without a reply (RemoteProtocolError" in done.err
        assert sorted(line["image"] for line in lines()) == NAMES[:5]
    with serving(Vision(folder=pictures, answer=letters)) as again:
        done = run(*words(again))  # type: ignore[arg-type]
        assert "12 of 12 questions answered, 7 now" in done.out
        assert again.asked == {(name, *KEY): 1 for name in NAMES[5:]}


def test_no_more_requests_than_allowed_are_under_way(run: Run, model: Vision) -> None:
    questions()
    model.hostile = lambda words, number: {"wait": 0.03}
    run(*words(model, "--concurrent", 4))
    assert 1 < model.most_under_way <= 4


def test_keys_are_sent_and_kept_nowhere(run: Run, model: Vision, monkeypatch, alone: Path) -> None:
    secret = "sk-secret-0123456789"
    monkeypatch.setenv("DIAGHOI_API_KEY", secret)
    questions(boxes=True)
    model.answer = lambda image, options: f"{secret} A"
    model.people = lambda image: f"{secret} [[10, 5, 39, 49]]"
    done = run(*words(model, "--setting", 3, "--json", "j.json"))
    assert set(model.keys) == {f"Bearer {secret}"}
    model.hostile = lambda words, number: error(401, f"the key {secret} is wrong")
    failed = run(*words(model, "--setting", 3, out="b.jsonl"))
    assert failed.code == 2
    assert "the key *** is wrong" in failed.err
    assert "secret" not in done.out + done.err + failed.out + failed.err
    for path in alone.iterdir():
        assert b"secret" not in path.read_bytes(), path


def broken_pictures(pictures: Path, folder: Path) -> Path:
    """All pictures but one, one cut off, and one that is none."""
    folder.mkdir()
    for name in NAMES[1:]:
        (folder / name).write_bytes((pictures / name).read_bytes())
    (folder / NAMES[1]).write_bytes((pictures / NAMES[1]).read_bytes()[:400])
    (folder / NAMES[2]).write_text("not a picture")
    return folder


def test_missing_and_damaged_pictures_are_named_and_stop_nothing(run, pictures, alone) -> None:
    questions()
    folder = broken_pictures(pictures, alone / "folder")
    with serving(Vision(folder=folder, answer=letters)) as model:
        done = run(*words(model, "--json", "j.json"))  # type: ignore[arg-type]
        assert done.code == 0
        assert "9 of 12 questions answered" in done.out
        assert "3 pictures are missing or cannot be read; nothing was asked" in done.err
        told = json.loads(Path("j.json").read_text())["pictures"]
        assert [each["image"] for each in told] == NAMES[:3]
        assert told[0]["why"] == "not in the folder"
        assert "truncated" in told[1]["why"].lower()
        assert told[2]["why"] == "is neither JPEG nor PNG"
        for name in NAMES[:3]:
            (folder / name).write_bytes((pictures / name).read_bytes())
        assert "12 of 12 questions answered, 3 now" in run(*words(model)).out  # type: ignore[arg-type]
        assert set(model.asked.values()) == {1}


def test_a_run_that_lacks_nothing_but_missing_pictures_is_no_error(run: Run, model: Vision) -> None:
    questions(dict.fromkeys((*NAMES, "HICO_99.jpg"), QUESTION))
    for now in (12, 0):
        done = run(*words(model))
        assert done.code == 0
        assert f"12 of 13 questions answered, {now} now" in done.out
        assert "cannot be read; nothing was asked about them: HICO_99.jpg (not in the" in done.err


def test_a_picture_that_is_to_be_turned_is_sent_as_stored(run, pictures, alone) -> None:
    folder = alone / "folder"
    folder.mkdir()
    turned = Image.Exif()
    turned[0x0112] = 6
    with Image.open(pictures / NAMES[0]) as opened:
        opened.save(folder / NAMES[0], exif=turned)
    questions({NAMES[0]: QUESTION | {"boxes": BOX}})
    with serving(Vision(folder=folder)) as model:
        assert run(*words(model)).code == 0  # type: ignore[arg-type]
        assert "64 wide and 56 high" in model.texts[0]  # type: ignore[attr-defined]
        url = model.requests[0]["messages"][0]["content"][0]["image_url"]["url"]
        assert url.startswith("data:image/png;base64,")


def test_boxes_beyond_their_pictures_are_noted(run: Run, model: Vision) -> None:
    far = {"human": [11, 6, 400, 50]}
    questions({name: QUESTION | {"boxes": far if name == NAMES[3] else BOX} for name in NAMES})
    done = run(*words(model))
    assert (
        "some boxes in the questions lie outside their pictures, in 1 of the pictures: "
        f"{NAMES[3]};" in done.err
    )
    assert len(lines()) == COUNT


def finds(image: str) -> str:
    """Boxes of people: the one asked about in even images, somebody else in the others."""
    if image == NAMES[1]:
        return "I see nobody that I could name."
    box = [12, 5, 39, 49] if NAMES.index(image) % 2 == 0 else [40, 5, 60, 20]
    return f'```json\n{{"boxes": [[0, 0, 5, 5], {box}]}}\n```'


def test_setting_3_asks_for_people_first(run: Run, model: Vision) -> None:
    questions(boxes=True)
    model.people = finds
    done = run(*words(model, "--setting", 3, "--json", "j.json"))
    assert done.code == 0
    even = NAMES[::2]
    assert {key[0] for key in model.asked if key[1] == PEOPLE} == set(NAMES)
    assert {key[0] for key in model.asked if key[1] != PEOPLE} == set(even)
    assert set(model.asked.values()) == {1}
    # The box that was found is asked about, not the annotated one.
    assert (
        sum("a target person with a bounding box [12, 5, 39, 49]" in asked for asked in model.texts)
        == 6
    )
    assert "in 6 questions, the person was not found" in done.err
    assert f"1 replies about people have no readable boxes: {NAMES[1]}" in done.err
    assert "m: 12 questions to ask in 24 requests" in done.err
    by_image = {line["image"]: line for line in lines()}
    assert by_image[NAMES[0]]["box"] == [12, 5, 39, 49]
    assert (by_image[NAMES[1]]["box"], by_image[NAMES[1]]["chosen"]) == (None, [])
    score = run("choice", "score", "questions.json", "a.jsonl", "--json", "-")
    assert json.loads(score.out)["exact_match"] == 0.5
    assert len(lines("a.people.jsonl")) == COUNT
    again = run(*words(model, "--setting", 3))
    assert "in 6 questions, the person was not found" in again.err
    assert sum(model.asked.values()) == 18


def test_people_are_asked_for_once_though_questions_fail(run: Run, model: Vision) -> None:
    one = QUESTION | {"boxes": BOX}
    questions({name: {"QA_0": one, "QA_1": one} for name in NAMES[:3]})
    model.people = lambda image: "[[10, 5, 39, 49]]"
    model.hostile = lambda words, number: None if words[1] == PEOPLE else error(500)
    run(*words(model, "--setting", 3, "--tries", 1))
    assert not Path("a.jsonl").exists()
    model.hostile = lambda words, number: None
    assert "6 of 6 questions answered, 6 now" in run(*words(model, "--setting", 3)).out
    assert {count for key, count in model.asked.items() if key[1] == PEOPLE} == {1}


def test_thousandths_are_asked_for_and_read(run: Run, model: Vision) -> None:
    questions(boxes=True)
    model.people = lambda image: "[[156, 89, 609, 875]]"  # of 64 x 56 pixels
    run(*words(model, "--setting", 3, "--coordinates", "thousandths", "--limit", 1))
    assert "in thousandths of the width and height" in model.texts[0]
    assert "a target person with a bounding box [156, 89, 609, 875]" in model.texts[1]
    assert lines()[0]["box"] == [9.98, 4.98, 38.98, 49.0]


def test_detections_stand_in(run: Run, model: Vision) -> None:
    questions(boxes=True)
    found = {name: [[12, 5, 39, 49]] for name in NAMES[:4]} | {NAMES[4]: [[0, 0, 3, 3]]}
    Path("det.json").write_text(json.dumps(found))
    done = run(*words(model, "--detections", "det.json"))
    assert done.code == 0
    assert "setting 3" in done.out
    assert "does not include 7 of 12 images, in which nobody is found" in done.err
    assert "in 8 questions, the person was not found" in done.err
    assert model.asked == {(name, *KEY): 1 for name in NAMES[:4]}
    assert not Path("a.people.jsonl").exists()
    assert {line["people"].split()[0] for line in lines()} == {"det.json"}
    found[NAMES[4]] = [[12, 5, 39, 49]]
    Path("det.json").write_text(json.dumps(found))
    done = run(*words(model, "--detections", "det.json"))
    assert done.code == 2
    assert "was asked with people 'det.json " in done.err


OTHER = [
    (("--seed", 1), "line 1: was asked with seed 0, and this run has 1; give another --out, or "),
    (("--setting", 1), "was asked with setting 2, and this run has 1"),
    (("--setting", 3), "was asked with setting 2, and this run has 3"),
    (("--object-box",), "was asked with object box False, and this run has True"),
    (("--coordinates", "thousandths"), "coordinates 'pixels', and this run has 'thousandths'"),
]


@pytest.mark.parametrize(("more", "message"), OTHER)
def test_a_run_with_other_settings_is_refused(run, model, more, message) -> None:
    questions(boxes=True)
    run(*words(model, "--limit", 2))
    before = Path("a.jsonl").read_bytes()
    done = run(*words(model, *more))
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert (Path("a.jsonl").read_bytes(), sum(model.asked.values())) == (before, 2)


def test_another_model_is_refused_and_another_address_is_not(run, model, pictures) -> None:
    questions()
    run(*words(model, "--limit", 2))
    command = [f"{model.url},n" if each == f"{model.url},m" else each for each in words(model)]
    done = run(*command)
    assert done.code == 2
    assert "was asked with model 'm', and this run has 'n'; give another --out" in done.err
    with serving(Vision(folder=pictures, answer=letters)) as moved:
        assert "12 of 12 questions answered, 10 now" in run(*words(moved)).out  # type: ignore[arg-type]


def test_other_questions_are_refused(run: Run, model: Vision) -> None:
    questions()
    run(*words(model))
    changed = QUESTION | {"wrong_choices": ["eat a/an apple", *OPTIONS[2:]]}
    questions(dict.fromkeys(NAMES, changed))
    done = run(*words(model))
    assert done.code == 2
    assert "answers a question that is not asked here; give another --out" in done.err
    questions({"HICO_99.jpg": QUESTION, NAMES[5]: QUESTION})
    assert "answers a question that is not asked here" in run(*words(model)).err


def test_a_question_that_is_answered_twice_is_refused(run: Run, model: Vision) -> None:
    questions()
    run(*words(model, "--limit", 2))
    path = Path("a.jsonl")
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{second}\n{first}\n")
    done = run(*words(model))
    image = json.loads(first)["image"]
    assert (done.code, done.err) == (
        2,
        f"diaghoi: error: a.jsonl: line 3: image '{image}': is the second answer to the same "
        "question; keep only one answer\n",
    )


def test_an_object_box_needs_boxes_of_objects(run: Run, model: Vision) -> None:
    people = {key: value for key, value in BOX.items() if "object" not in key}
    questions(dict.fromkeys(NAMES, QUESTION | {"boxes": people}))
    done = run(*words(model, "--object-box"))
    assert done.code == 2
    assert "QA_0 has no box of the object; leave --object-box out" in done.err
    assert not model.asked


def test_people_found_by_another_model_are_refused(run: Run, model: Vision) -> None:
    questions(boxes=True)
    model.people = finds
    run(*words(model, "--setting", 3))
    Path("a.jsonl").unlink()
    command = [f"{model.url},n" if each == f"{model.url},m" else each for each in words(model)]
    done = run(*command, "--setting", 3)
    assert done.code == 2
    assert "a.people.jsonl: line 1: was asked with model 'm', and this run has 'n'" in done.err


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_was(pictures: Path) -> None:
    """SIGKILL: only what was under way at that moment is asked again, and nothing is lost."""
    workers, moment = 3, 9
    questions(boxes=True)

    def command(model: Vision) -> list[str]:
        more = ("--setting", 3, "--concurrent", workers)
        return [sys.executable, "-m", "diaghoi", *map(str, words(model, *more))]

    reached = threading.Event()

    def slow(words: tuple[str, ...], number: int) -> dict[str, Any]:
        if sum(model.answered.values()) >= moment:
            reached.set()
        return {"wait": 0.05}

    server = Vision(
        folder=pictures, answer=letters, people=lambda image: "[[10, 5, 39, 49]]", hostile=slow
    )
    with serving(server) as model:
        running = subprocess.Popen(
            command(server), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert reached.wait(900)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        model.wait_until_idle()
        asked_first = dict(model.asked)
        kept = {line["image"] for line in lines()} if Path("a.jsonl").exists() else set()
        done = subprocess.run(command(server), check=False, timeout=900, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert len(model.asked) == 2 * COUNT
    twice = {key for key, count in model.asked.items() if count > 1}
    assert len(twice) <= workers
    assert all(model.asked[key] == 2 for key in twice)
    assert twice <= set(asked_first)
    # What was kept is never asked again, and everything is kept once.
    assert not {key[0] for key in twice if key[1] != PEOPLE} & kept
    assert sorted(line["image"] for line in lines()) == NAMES
    assert {line["reply"] for line in lines()} <= set("ABCD")


BAD: list[tuple[tuple[object, ...], str]] = [
    (("--model", "x,m"), "x: is not a model URL; give one"),
    (("--model", "http://h/v1"), "--model: has 1 part; give URL,MODEL"),
    (("--model", "http://u:p@h/v1,m"), "contains a password"),
    (
        ("--model", "http://h/v1,m,NO_SUCH"),
        "the environment variable that is to hold its API key is not set",
    ),
    (("--images", "nowhere"), "nowhere: no such folder"),
    (("--images", "questions.json"), "questions.json: is a file"),
    (("--images", "empty"), "contains none of the 12 pictures to ask about"),
    (("--out", "questions.json"), "would overwrite an input file"),
    (("--out", "no/a.jsonl"), "the folder no does not exist"),
    (("--out", "empty"), "it is a folder"),
    (("--out", "notes.txt"), "notes.txt: line 1: b'my notes' is not a line of answers"),
    (("--out", "foreign.jsonl"), "line 1: was not written by this command; give another --out"),
    (("--setting", "4"), "--setting 4: give 1, 2 or 3"),
    (("--setting", "2"), "image 'HICO_00.jpg': QA_0 has no box of the person; give questions with"),
    (("--setting", "3"), "QA_0 has no box of the person; give questions with boxes"),
    (("--object-box",), "--object-box: applies to setting 2, which gives the object box"),
    (("--coordinates", "pixel"), "--coordinates 'pixel': not known (did you mean 'pixels'?); give"),
    (("--detections", "no.json"), "no.json: No such file"),
    (("--detections", "foreign.jsonl", "--setting", "1"), "applies to setting 3, where people"),
    (("--price", "a"), "give the price of a million input"),
    (("--json", "questions.json"), "would overwrite an input file"),
    (("--dataset", "hico"), "did you mean 'hico-det'"),
]


@pytest.mark.parametrize(("more", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(run, model, alone, more, message) -> None:
    questions()
    (alone / "empty").mkdir()
    (alone / "notes.txt").write_text("my notes\n")
    line = {"image": NAMES[0], "question": "QA_0", "options": OPTIONS, "reply": "A"}
    (alone / "foreign.jsonl").write_text(json.dumps(line) + "\n")
    before = {path: path.is_dir() or path.read_bytes() for path in alone.iterdir()}
    done = run(*words(model), *more)
    assert done.code == 2
    assert message in done.err
    assert done.err.startswith("diaghoi: error: ")
    assert done.err.count("\n") == 1
    assert {path: path.is_dir() or path.read_bytes() for path in alone.iterdir()} == before
    assert not model.asked


def test_quiet_prints_nothing(run: Run, model: Vision) -> None:
    questions(boxes=True)
    done = run(*words(model, "--quiet"))
    assert (done.code, done.out, done.err, len(lines())) == (0, "", "", COUNT)


def test_json_on_stdout_alone(run: Run, model: Vision) -> None:
    questions()
    done = run(*words(model, "--json", "-"))
    result = json.loads(done.out)
    assert (result["answers"], result["model"], result["answered"]) == ("a.jsonl", "m", COUNT)
