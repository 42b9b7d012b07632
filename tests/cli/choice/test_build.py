"""``diaghoi choice build``: benchmarks from annotations, judges and files."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support.rater_server import Model, Reply, error, serving, text
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, WASH, image, scenes

from diaghoi.choice.candidates import targets_in_images
from diaghoi.formats import read_annotations, write

Run = Callable[..., Any]
BOXES = [(PERSON, (10, 20, 39, 59)), (PERSON, (60, 20, 89, 59)), (BICYCLE, (30, 30, 69, 69))]
FIGURES = ("instance_f1", "macro_f1", "micro_f1", "micro_precision", "micro_recall", "exact_match")
QUICK = ("--yes", "--pause", 0.01)
_LISTED = re.compile(r"^\d+\. (.+)$", re.MULTILINE)


@dataclass
class Looking(Model):
    """A model that judges: the words of a question are its candidates."""

    verdict: Callable[[str], str] = lambda candidate: "no"

    def reply(self, request: dict[str, Any], key: str | None) -> tuple[tuple[str, ...], Reply]:
        (message,) = request["messages"]
        picture, question = message["content"]
        assert picture["image_url"]["url"].startswith("data:image/jpeg;base64,")
        candidates = tuple(_LISTED.findall(question["text"]))
        with self.lock:
            number = self.asked[candidates]
            self.asked[candidates] += 1
            self.requests.append(request)
        done = self.hostile(candidates, number)
        if done is None or "body" not in done:
            lines = [f"{n}: {self.verdict(each)}" for n, each in enumerate(candidates, 1)]
            done = text("\n".join(lines)) | (done or {})
        return candidates, done


def looking(**more: Any) -> Looking:
    return Looking(rate=lambda a, b: 0, **more)


@pytest.fixture
def annotations(alone: Path) -> Path:
    """Four images of two people and a bicycle, sizes known."""
    done = [(0, 2, RIDE), (1, 2, HOLD), (1, 2, WASH)]
    images = [image(f"HICO_{number}.jpg", BOXES, done) for number in range(4)]
    write(alone / "gt.npz", scenes(images, scored=False))
    return alone / "gt.npz"


@pytest.fixture
def pictures(alone: Path) -> Path:
    folder = alone / "pictures"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (120, 90), (50 * number, 90, 200)).save(folder / f"HICO_{number}.jpg")
    return folder


def load(path: str) -> Any:
    return json.loads(Path(path).read_text())


def perfect(questions: str, out: str) -> None:
    """Write the answers of a model that picks all right options by their letters."""
    lines = []
    for name, entry in load(questions).items():
        options = entry["wrong_choices"] + entry["gt_choices"]
        letters = "ABCD"[len(entry["wrong_choices"]) :]
        lines.append({"image": name, "question": "QA_0", "options": options,
                      "reply": ",".join(letters)})  # fmt: skip
    Path(out).write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def verdicts(path: str, source: str, verdict: Callable[[dict[str, str]], str]) -> None:
    with Path(source).open() as stream:
        rows = list(csv.DictReader(stream))
    with Path(path).open("w") as stream:
        writer = csv.writer(stream)
        writer.writerow(("image", "person", "verb", "object", "verdict"))
        for row in rows:
            writer.writerow((row["image"], row["person"], row["verb"], row["object"], verdict(row)))


@pytest.mark.slow
@pytest.mark.long
def test_a_benchmark_of_the_real_annotations_is_answered_perfectly(run: Run, shared: Path) -> None:
    real = shared / "data" / "hico_det" / "instances_test2015.json"
    # Verdicts on every tenth image: the others are left out, unless they need no negative.
    image_targets = targets_in_images(read_annotations(real))[::10]
    for name, positive in (("one", "wash"), ("two", "hold"), ("three", "feed")):
        with Path(f"{name}.csv").open("w") as stream:
            stream.write("image,class,verdict\n")
            stream.writelines(
                f"{each.image},{one.name},{'yes' if one.verb == positive else 'no'}\n"
                for each in image_targets
                for one in {*each.scene.candidates, *each.scene.right}
            )
    judges = [word for name in ("one", "two", "three") for word in ("--judge", f"{name}.csv")]
    done = run("choice", "build", real, *judges, "--out", "b", "--json", "s.json")
    assert done.code == 0, done.err
    summary = load("s.json")
    assert 0.9 * len(image_targets) < summary["images"] < 9_658 / 3
    lost = sum(each["images"] for each in summary["left_out"].values())
    assert summary["images"] + lost == 9_658
    assert [each["part"] for each in summary["judges"]] == ["groups", "confirms", "decides"]
    assert Path("b/setting_2.json").read_bytes() == Path("b/setting_3.json").read_bytes()
    for setting in (1, 2):
        perfect(f"b/setting_{setting}.json", "answers.jsonl")
        scored = run("choice", "score", f"b/setting_{setting}.json", "answers.jsonl",
                     "--people", "b/people.json", "--json", "r.json")  # fmt: skip
        assert scored.code == 0, scored.err
        result = load("r.json")
        assert result["questions"] == summary["images"]
        for group in (result, result["single"], result["multi"]):
            assert [group[key] for key in FIGURES] == [1.0] * len(FIGURES)


def test_what_was_made_is_told(run: Run, annotations: Path) -> None:
    done = run("choice", "build", annotations, "--judge", "time-sensitive", "--out", "b")
    assert done.code == 0
    assert "hico-det: questions on 4 images, 0 with one person and 4 with several" in done.out
    assert "setting 1: 4 questions; right options: 0 with 1, 0 with 2, 4 with 3" in done.out
    assert "time-sensitive rules out: " in done.out
    assert done.err == ""
    assert sorted(path.name for path in Path("b").iterdir()) == [
        "people.json", "setting_1.json", "setting_2.json", "setting_3.json", "summary.json",
        "verdicts.csv",
    ]  # fmt: skip


def test_the_summary_goes_to_stdout_alone_for_json(run: Run, annotations: Path) -> None:
    words = ("choice", "build", annotations, "--judge", "time-sensitive", "--out", "b")
    found = json.loads(run(*words, "--json", "-").out)
    assert found["questions"] == {"setting_1": 4, "setting_2": 4, "setting_3": 4}
    assert found["files"][0] == "b/setting_1.json"


def test_the_verdicts_of_a_benchmark_are_a_judge_that_makes_it_again(run, annotations) -> None:
    words = ("choice", "build", annotations)
    run(*words, "--judge", "time-sensitive", "--out", "b")
    assert run(*words, "--judge", "b/verdicts.csv", "--out", "c").code == 0
    for name in ("setting_1.json", "setting_2.json"):
        assert Path("b", name).read_bytes() == Path("c", name).read_bytes()


def test_left_out_images_are_named_on_stderr(run: Run, annotations: Path) -> None:
    run("choice", "build", annotations, "--judge", "time-sensitive", "--out", "b", "-q")
    verdicts("v.csv", "b/verdicts.csv", lambda row: "no" if "_2" not in row["image"] else "")
    done = run("choice", "build", annotations, "--judge", "v.csv", "--out", "c")
    assert done.err == (
        "Note: left out: 1 images with too few negatives by the judges, such as HICO_2.jpg\n"
    )
    assert len(load("c/setting_1.json")) == 3


def test_models_judge_in_turn(run: Run, annotations: Path, pictures: Path) -> None:
    words = ("choice", "build", annotations, "--out", "b", "--images", pictures, *QUICK)
    judges = (
        looking(verdict=lambda each: "yes" if each.startswith("repair") else "no"),
        looking(verdict=lambda each: "Yes." if each.startswith(("walk", "push")) else "No."),
        looking(verdict=lambda each: "yes" if each.startswith("walk") else "no"),
    )
    with serving(judges[0]) as one, serving(judges[1]) as two, serving(judges[2]) as three:
        named = [
            word
            for n, model in enumerate((one, two, three))
            for word in ("--judge", f"{model.url},m{n}")
        ]
        done = run(*words, *named, "--json", "s.json")
        again = run(*words, *named, "--json", "t.json")
    assert (done.code, again.code) == (0, 0), done.err
    assert load("s.json") == load("t.json")
    # A scene and a person of each image, whose statements are the same here and there.
    assert [sum(model.asked.values()) for model in (one, two, three)] == [8, 8, 8]
    with Path("b/verdicts.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    said = {row["verb"]: (row["m0"], row["m1"], row["m2"], row["verdict"]) for row in rows}
    assert said["repair"] == ("positive", "", "", "positive")
    assert said["walk"] == ("negative", "positive", "positive", "positive")
    assert said["push"] == ("negative", "positive", "negative", "negative")
    assert said["jump"] == ("negative", "negative", "", "negative")


def test_a_model_counts_people_where_one_is_annotated(run, alone, pictures) -> None:
    """As the paper does; annotations alone are the default, and it is said which was used."""
    one = [BOXES[0], BOXES[2]]
    images = [image(f"HICO_{n}.jpg", one, [(0, 1, RIDE), (0, 1, HOLD)]) for n in range(3)]
    images.append(image("HICO_3.jpg", BOXES, [(0, 2, RIDE), (1, 2, HOLD)]))
    write(alone / "gt.npz", scenes(images, scored=False))
    words = ("choice", "build", "gt.npz", "--judge", "time-sensitive", "--images", pictures)
    done = run(*words, "--out", "a", "--json", "a.json")
    assert "3 with one person and 1 with several, as counted by annotations\n" in done.out
    replies = iter(("Yes.", "<think>yes?</think>no", "Perhaps"))
    with serving(looking(hostile=lambda words, number: text(next(replies)))) as model:
        check = ("--check-people", f"{model.url},m", "--concurrent", 1, *QUICK)
        asked = run(*words, "--out", "b", "--json", "b.json", *check)
        again = run(*words, "--out", "b", "--json", "c.json", *check)
    assert (asked.code, again.code) == (0, 0), asked.err
    assert len(model.requests) == 3  # not about the image in which two are annotated, and once
    assert load("a/people.json") == dict.fromkeys(load("a/people.json"), "single") | {
        "HICO_3.jpg": "multi"
    }
    assert sorted(load("b/people.json").values()) == ["multi", "multi", "single", "single"]
    assert (load("a.json")["people_by"], load("b.json")["people_by"]) == (
        "annotations",
        "annotations and m",
    )
    assert "m: 1 of 3 images with one annotated person show more people" in asked.err
    assert "m: gives no valid answer about the people in 1 images" in asked.err
    assert load("b.json") == load("c.json")


def test_a_model_is_asked_about_the_person_with_the_picture(run, annotations, pictures) -> None:
    with serving(looking()) as model:
        run("choice", "build", annotations, "--out", "b", "--images", pictures, *QUICK,
            "--judge", f"{model.url},m")  # fmt: skip
    texts = [each["messages"][0]["content"][1]["text"] for each in model.requests]
    people = [each for each in texts if "All is about the person in the box [" in each]
    assert (len(texts), len(people)) == (8, 4)
    assert any("[10, 20, 39, 59]" in each or "[60, 20, 89, 59]" in each for each in people)


def test_a_hostile_server_changes_no_verdict(run: Run, annotations: Path, pictures: Path) -> None:
    trouble = [error(429, "slow", Retry_After="0.01"), error(500), text("hm"), {"drop": True},
               {"cut": 5}]  # fmt: skip

    def hostile(words: tuple[str, ...], number: int) -> Reply | None:
        return trouble[number] if number < len(trouble) else None

    words = ("choice", "build", annotations, "--images", pictures, *QUICK, "--json")
    with serving(looking()) as calm, serving(looking(hostile=hostile)) as model:
        run(*words, "a.json", "--out", "a", "--judge", f"{calm.url},m")
        done = run(*words, "b.json", "--out", "b", "--judge", f"{model.url},m")
    assert done.code == 0, done.err
    assert Path("a/verdicts.csv").read_bytes() == Path("b/verdicts.csv").read_bytes()


def test_a_run_that_was_ended_asks_nothing_twice(run, annotations, pictures) -> None:
    def dying(words: tuple[str, ...], number: int) -> Reply | None:
        return error(404) if sum(model.answered.values()) >= 3 else None

    words = ("choice", "build", annotations, "--images", pictures, "--out", "b", *QUICK,
             "--concurrent", 1)  # fmt: skip
    with serving(looking(hostile=dying)) as model:
        done = run(*words, "--judge", f"{model.url},m")
        assert done.code == 2
        assert "HTTP 404" in done.err
        assert not Path("b").exists()
        model.hostile = lambda words, number: None
        assert run(*words, "--judge", f"{model.url},m").code == 0
    assert sum(model.answered.values()) == 8


def test_replies_that_stay_unread_are_no_negatives_and_can_be_asked_again(
    run: Run, annotations: Path, pictures: Path
) -> None:
    def stubborn(words: tuple[str, ...], number: int) -> Reply | None:
        return text("It depends.") if any(each.startswith("walk") for each in words) else None

    words = ("choice", "build", annotations, "--images", pictures, "--out", "b", *QUICK)
    verdict = {"verdict": lambda each: "no"}
    with serving(looking(**verdict, hostile=stubborn)) as model:
        judge = ("--judge", f"{model.url},m", "--judge", "time-sensitive")
        done = run(*words, *judge, "--asks", 2)
        assert done.code == 2
        assert (
            "no question with 4 options can be built: 4 images have too few negatives" in done.err
        )
        asked = sum(model.asked.values())
        model.hostile = lambda words, number: None
        assert run(*words, *judge).code == 2
        assert sum(model.asked.values()) == asked
        assert run(*words, *judge, "--ask-again").code == 0


def test_missing_and_damaged_pictures_are_named_and_stop_nothing(run, annotations, pictures):
    (pictures / "HICO_1.jpg").unlink()
    (pictures / "HICO_2.jpg").write_bytes(b"\xff\xd8nonsense")
    with serving(looking()) as model:
        done = run("choice", "build", annotations, "--images", pictures, "--out", "b", *QUICK,
                   "--judge", f"{model.url},m")  # fmt: skip
    assert done.code == 0, done.err
    assert set(load("b/setting_1.json")) == {"HICO_0.jpg", "HICO_3.jpg"}
    assert re.search(r"Note: m: 2 pictures cannot be shown: HICO_[12].jpg, HICO_[12].jpg", done.err)


def test_nothing_is_asked_without_yes(run: Run, annotations: Path, pictures: Path) -> None:
    with serving(looking()) as model:
        done = run("choice", "build", annotations, "--images", pictures, "--out", "b",
                   "--judge", f"{model.url},m")  # fmt: skip
    assert (done.code, done.out, model.requests) == (0, "", [])
    assert done.err == (
        "m: at most 8 requests, each with a picture\nNothing has been asked yet; add --yes to "
        "start.\n"
    )
    assert not Path("b").exists()


def test_a_quality_sheet_shows_random_questions(run, annotations, pictures) -> None:
    (pictures / "HICO_3.jpg").unlink()
    done = run("choice", "build", annotations, "--images", pictures, "--out", "b",
               "--judge", "time-sensitive", "--quality-sheet", 8)  # fmt: skip
    assert done.code == 0, done.err
    page = Path("b/quality_sheet.html").read_text()
    assert page.count("<figure>") == 8
    assert page.count("<svg") == 6
    assert page.count("<rect") == 2 * 3
    assert page.count("No picture: not in ") == 2
    assert page.count('type="checkbox"') == 4 * 8
    assert "Which of the following properly describes the interactions in the image?" in page
    assert "interactions between the target person and any object in the image?" in page
    # The boxes on the picture are those of the annotations, counted from zero.
    drawn = set(re.findall(r'<rect x="(\d+)" y="20" width="29" height="39"', page))
    assert drawn <= {"10", "60"}
    assert drawn
    assert "b/quality_sheet.html: 1 pictures are not shown: HICO_3.jpg" in done.err


def test_a_quality_sheet_escapes_names_and_loads_nothing(run: Run, alone: Path) -> None:
    name = 'HICO_<script>alert("1")</script>&\'.jpg'
    write(alone / "gt.npz", scenes([image(name, BOXES, [(0, 2, RIDE)])], scored=False))
    done = run("choice", "build", "gt.npz", "--out", "b", "--judge", "time-sensitive",
               "--quality-sheet", 2)  # fmt: skip
    assert done.code == 0, done.err
    page = Path("b/quality_sheet.html").read_text()
    assert "<script" not in page
    assert page.count("HICO_&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;&amp;&#39;.jpg") == 2
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_quality_sheet_needs_jinja2_before_anything_is_read(run, alone, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    (alone / "gt.npz").write_bytes(b"nothing that can be read")
    done = run("choice", "build", "gt.npz", "--out", "b", "--judge", "time-sensitive",
               "--quality-sheet", 2)  # fmt: skip
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("diaghoi: error: a page needs jinja2, which is not installed: pip")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "give at least one --judge"),
        (("--judge", "no.csv"), "--judge 'no.csv': there is no such file"),
        (("--judge", "http://x/v1,m"), "models judge pictures; give the folder"),
        (("--judge", "time-sensitive", "--check-people", "http://x/v1,m"), "judge pictures; give"),
        (("--judge", "http://x/v1"), "--judge: has 1 part; give URL,MODEL"),
        (("--judge", "time-sensitive", "--images", "none"), "none: no such folder"),
        (("--judge", "time-sensitive", "--dataset", "hico"), "unknown data set 'hico'"),
        (("--judge", "similarity:no.csv"), "no.csv"),
        (("--judge", "time-sensitive", "--json", "gt.npz"), "would overwrite an input file"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(run, annotations, words, problem) -> None:
    done = run("choice", "build", annotations, "--out", "b", *words)
    assert done.code == 2
    assert done.out == ""
    assert problem in done.err
    assert len(done.err.splitlines()) == 1
    assert not Path("b").exists()


def test_an_output_that_is_a_file_is_refused(run: Run, annotations: Path) -> None:
    Path("b").write_text("")
    done = run("choice", "build", annotations, "--out", "b", "--judge", "time-sensitive")
    assert done.code == 2
    assert "b: cannot be the output folder" in done.err


def test_the_verdicts_that_are_read_are_not_overwritten(run: Run, annotations: Path) -> None:
    words = ("choice", "build", annotations, "--out", "b", "--judge")
    run(*words, "time-sensitive")
    done = run(*words, "b/verdicts.csv")
    assert done.code == 2
    assert "would overwrite an input file" in done.err


def test_annotations_of_every_data_set_do(run: Run, shared: Path, alone: Path) -> None:
    words = ("--judge", "time-sensitive", "--out", "b", "-q")
    official = shared / "conformance" / "v_coco"
    found = next(iter(sorted(official.glob("*vcoco*test*.json"))), None)
    if found is None:
        pytest.skip("the annotations of V-COCO are not among the conformance cases")
    done = run("choice", "build", found, *words)
    assert done.code == 0, done.err
    perfect("b/setting_1.json", "a.jsonl")
    assert run("choice", "score", "b/setting_1.json", "a.jsonl", "--json", "r.json").code == 0
    assert load("r.json")["dataset"] == "v-coco"
    assert load("r.json")["macro_f1"] == 1.0
