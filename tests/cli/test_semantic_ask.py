"""``diaghoi semantic ask`` with a model on loopback, and ``semantic`` with its answers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.rater_server import Reply, error, serving
from support.vision_server import Vision

from diaghoi import read_annotations, read_predictions

Run = Callable[..., Any]
NAMES = [f"HICO_test2015_{number:08}.jpg" for number in range(1, 5)]
BICYCLE = 2  # as COCO numbers it
RIDE, HOLD = 76, 36
QUICK = ("--pause", 0.01, "--yes")
TABLES = ("--similarity", "verbs.csv,objects.csv")


def spoken(*tokens: tuple[str, float], scored: bool = True) -> Reply:
    """A reply of some tokens with their probabilities."""
    content = [{"token": token, "logprob": math.log(p)} for token, p in tokens]
    choice: dict[str, Any] = {"message": {"content": "".join(token for token, _ in tokens)}}
    if scored:
        choice["logprobs"] = {"content": content}
    return {"body": json.dumps({"choices": [choice]}).encode()}


RIDING = spoken(("ride", 0.8), (" bicycle", 0.2))


@dataclass
class Namer(Vision):
    """Names interactions; each question counts under its image and the boxes in it."""

    says: Callable[[str, str], Reply] = lambda image, boxes: RIDING

    def reply(self, request: dict[str, Any], key: str | None) -> tuple[tuple[str, ...], Reply]:
        ((picture, question),) = (message["content"] for message in request["messages"])
        image = self._named(picture["image_url"]["url"])
        boxes = " ".join(re.findall(r"\[\d.*?\]", question["text"]))
        with self.lock:
            number = self.asked[image, boxes]
            self.asked[image, boxes] += 1
            self.requests.append(request)
            self.texts.append(question["text"])
        return (image, boxes), self.hostile((image, boxes), number) or self.says(image, boxes)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for number, name in enumerate(NAMES):
        Image.fromarray(np.full((56, 64, 3), 20 * number, np.uint8)).save(folder / name)
    return folder


@pytest.fixture
def model(pictures: Path) -> Iterator[Namer]:
    with serving(Namer(folder=pictures)) as served:
        assert isinstance(served, Namer)
        yield served


@pytest.fixture
def truth(alone: Path) -> Path:
    """Annotations of one pair per image, which rides a bicycle and holds it."""
    boxes = [
        {"bbox": [11, 6, 40, 50], "category_id": 1},
        {"bbox": [21, 16, 60, 55], "category_id": BICYCLE},
    ]
    hois = [{"subject_id": 0, "object_id": 1, "category_id": verb} for verb in (RIDE + 1, HOLD + 1)]
    path = alone / "test_hico.json"
    images = [{"file_name": name, "annotations": boxes, "hoi_annotation": hois} for name in NAMES]
    path.write_text(json.dumps(images))
    (alone / "verbs.csv").write_text("a,b,score\nride,straddle,3\n")
    (alone / "objects.csv").write_text("a,b,score\nbicycle,motorcycle,3\n")
    return path


def words(model: Vision, *more: object, out: str = "a.jsonl") -> tuple[object, ...]:
    own = ("--images", model.folder, "--model", f"{model.url},m", "--out", out)
    return ("semantic", "ask", "test_hico.json", *own, *QUICK, *more)


def lines(path: str = "a.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def result(run: Run, *more: object) -> dict[str, Any]:
    done = run(
        "semantic", "a.jsonl", "--annotations", "test_hico.json", *TABLES, "--json", "s.json", *more
    )
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(Path("s.json").read_text())
    return found


def test_the_answers_are_what_semantic_reads(run: Run, model: Namer, truth: Path) -> None:
    done = run(*words(model))
    assert (done.code, sum(model.asked.values())) == (0, 4)
    assert done.out == "a.jsonl: 4 of 4 pairs answered, 4 now, 0 without an interaction; m\n"
    found = result(run)
    assert found["counts"]["predicted_triplets"] == 4
    # "ride" is found in all images, "hold" is not.
    assert found["map"] == found["soft_map"] == 0.5
    # The geometric mean of 0.8 and 0.2.
    assert [line["score"] for line in lines()] == [pytest.approx(0.4)] * 4
    annotated, predicted = read_annotations(truth), read_predictions("a.jsonl")
    assert predicted.box_xyxy[:2].tolist() == annotated.box_xyxy[:2].tolist()
    assert predicted.box_label[1] == annotated.box_label[1]


def test_the_model_sees_the_picture_and_the_boxes(run: Run, model: Namer, truth: Path) -> None:
    run(*words(model, "--limit", 1, "--max-tokens", 77))
    (request,) = model.requests
    assert (request["model"], request["max_tokens"], request["logprobs"]) == ("m", 77, True)
    (text,) = model.texts
    assert "the person in the box [11, 6, 40, 50] and the object in the box [21, 16," in text
    assert "64 wide and 56 high" in text
    done = run(*words(model, "--limit", 1, "--coordinates", "thousandths", out="b.jsonl"))
    assert (done.code, "thousandths" in model.texts[-1]) == (0, True)
    assert "coordinates 'pixels', and this run has 'thousandths'; give another --out" in (
        run(*words(model, "--coordinates", "thousandths")).err
    )


def test_several_interactions_are_several_predictions(run: Run, model: Namer, truth: Path) -> None:
    model.says = lambda image, boxes: spoken(
        ("<think>", 1), ("hm\nride", 0.1), ("</think>", 1), ("\n1. ", 0.5),
        ("riding a bicycle", 0.9), (".\n", 0.5), ("- ", 0.5),
        ('"', 0.5), ("hold bicycle", 0.3), ('"\n', 0.1),
    )  # fmt: skip
    assert run(*words(model)).code == 0
    told = [(line["text"], line["score"]) for line in lines()[:2]]
    assert told == [("riding a bicycle", pytest.approx(0.9)), ("hold bicycle", pytest.approx(0.3))]
    assert result(run)["map"] == 1.0


@pytest.mark.parametrize("reply", ["none", "None.", "No interaction", "", " \n"])
def test_a_pair_may_have_no_interaction(run: Run, model: Namer, truth: Path, reply: str) -> None:
    model.says = lambda image, boxes: spoken((reply, 0.5)) if image == NAMES[0] else RIDING
    done = run(*words(model))
    assert "4 of 4 pairs answered, 4 now, 1 without an interaction" in done.out
    found = result(run)
    assert found["counts"] | {"images": 4, "predicted_triplets": 3} == found["counts"]
    assert any("1 pairs are reported to have no interaction" in note for note in found["notes"])
    assert "4 of 4 pairs answered, 0 now" in run(*words(model)).out


def test_no_pair_may_have_an_interaction(run: Run, model: Namer, truth: Path) -> None:
    model.says = lambda image, boxes: spoken(("none", 0.5))
    run(*words(model))
    assert result(run)["counts"]["predicted_triplets"] == 0


def test_an_endpoint_without_probabilities(run: Run, model: Namer, truth: Path) -> None:
    model.says = lambda image, boxes: spoken(("ride bicycle", 1), scored=False)
    done = run(*words(model, "--json", "j.json"))
    assert "m gives no token probabilities, so the answers have no scores" in done.err
    assert json.loads(Path("j.json").read_text())["scores"] == "none"
    assert not any("score" in line for line in lines())
    found = result(run)
    assert (found["soft_map"], found["measure"]["scores"]) == (None, False)
    assert found["mf1"] == pytest.approx(0.5, abs=1e-6)


def test_an_endpoint_that_refuses_to_be_asked_for_them(run: Run, model: Namer, truth: Path) -> None:
    model.says = lambda image, boxes: (
        error(400, "logprobs are not supported")
        if "logprobs" in model.requests[-1]
        else spoken(("ride bicycle", 1), scored=False)
    )
    done = run(*words(model, "--concurrent", 1))
    assert "4 of 4 pairs answered, 4 now" in done.out
    assert ["logprobs" in request for request in model.requests] == [True, *[False] * 4]


def test_scores_of_some_answers_alone_are_no_scores(run: Run, model: Namer, truth: Path) -> None:
    def says(image: str, boxes: str) -> Reply:
        return spoken(("ride bicycle", 0.5), scored=image != NAMES[1])

    model.says = says
    done = run(*words(model, "--concurrent", 1))
    assert (
        f"1 images had no reply; run the same command again to retry them: {NAMES[1]} (the "
        f"reply comes" in (done.err)
    )
    assert len(lines()) == 3
    model.says = lambda image, boxes: RIDING
    assert "4 of 4 pairs answered, 1 now" in run(*words(model)).out


def test_an_interrupted_run_resumes(run: Run, model: Namer, truth: Path) -> None:
    run(*words(model, "--limit", 3))
    whole = Path("a.jsonl").read_bytes()
    Path("a.jsonl").write_bytes(whole[:-20])  # as if killed while writing
    done = run(*words(model, "--concurrent", 1))
    assert "m: 2 pairs to ask in 2 requests (2 are answered), about " in done.err
    assert "4 of 4 pairs answered, 2 now" in done.out
    assert len(lines()) == 4
    assert sorted(model.asked.values()) == [1, 1, 1, 2]
    # Less may be asked about than is answered.
    assert "2 of 2 pairs answered, 0 now" in run(*words(model, "--limit", 2)).out


def test_nothing_is_asked_without_yes(run: Run, model: Namer, truth: Path) -> None:
    done = run(*[each for each in words(model, "--price", "2,8") if each != "--yes"])
    assert (done.code, done.out, model.asked) == (0, "", {})
    assert "at the given price" in done.err
    assert not Path("a.jsonl").exists()


def test_answers_of_another_file_are_refused(refuse, run: Run, model: Namer, truth: Path) -> None:
    run(*words(model, "--concurrent", 1))
    truth.write_text(truth.read_text().replace("[11, 6, 40, 50]", "[12, 6, 40, 50]"))
    assert "a.jsonl: line 1: image 'HICO_test2015_00000001.jpg': answers a question that" in refuse(
        *words(model)
    )
    own = ("--images", model.folder, "--model", f"{model.url},other", "--out", "a.jsonl", *QUICK)
    done = run("semantic", "ask", "test_hico.json", *own)
    assert "was asked with model 'm', and this run has 'other'" in done.err


@pytest.mark.parametrize("kind", ["predictions", "pairs"])
def test_pairs_of_predictions_and_pair_files(run, model, truth, alone, kind) -> None:
    box = {"h_box": [10, 5, 39, 49], "o_box": [20, 15, 59, 54], "o_label": 1}
    line = {"human_box": box["h_box"], "object_box": box["o_box"], "score": 0.5}
    other = {**line, "object_box": [1, 2, 30, 40]}
    if kind == "pairs":
        value: Any = [
            {"filename": NAMES[0], "box_pairs": [{**box, "hoi_score_inter": 0.5}]},
            {"filename": NAMES[1], "box_pairs": [{**box, "hoi_score_inter": 0.5}] * 2},
        ]
    else:
        value = [
            {**line, "image": NAMES[0], "verb": "hold", "object": "bicycle"},
            {**line, "image": NAMES[0], "verb": "ride", "object": "bicycle"},
            {**other, "image": NAMES[1], "verb": "ride", "object": "horse"},
        ]
    (alone / "test_hico.json").write_text(json.dumps(value))
    assert "2 of 2 pairs answered" in run(*words(model)).out
    assert {line["image"] for line in lines()} == {*NAMES[:2]}


def test_what_cannot_be_asked_is_refused(refuse, run, model, truth, alone) -> None:
    nothing = alone / "none"
    nothing.mkdir()
    assert "contains none of the 4 pictures to ask about" in refuse(
        *(nothing if each == model.folder else each for each in words(model))
    )
    assert "--coordinates 'pixel': not known (did you mean 'pixels'?)" in (
        run(*words(model, "--coordinates", "pixel")).err
    )
    empty = [{"file_name": NAMES[0], "annotations": [], "hoi_annotation": []}]
    truth.write_text(json.dumps(empty))
    assert "test_hico.json" in refuse(*words(model))


def test_semantic_of_a_file_stays_a_command(run: Run) -> None:
    assert "no such file" in run("semantic", "x.pkl", *TABLES).err.lower()
    assert "Usage: diaghoi semantic [OPTIONS]" in run("semantic", "--help").out
    assert "Usage: diaghoi semantic ask [OPTIONS]" in run("semantic", "ask", "--help").out
