"""Building tables with raters that are slow, wrong, overloaded, or dead."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import threading
from itertools import combinations
from pathlib import Path

import pytest
from support.rater_server import Model, error, serving, text

from diaghoi.semantic.tables.ratings import read_ratings
from diaghoi.semantic.tables.similarity import read_similarity

WORDS = ("ride", "hold", "sit", "eat", "wash", "push", "kick", "read")
PAIRS = sorted(combinations(WORDS, 2))
QUICK = ("--pause", 0.01, "--yes")


def rate(a: str, b: str) -> int:
    return (len(a) * len(b) + len(a) + len(b)) % 5


def zero(a: str, b: str) -> bool:
    return rate(a, b) == 0


@pytest.fixture
def verbs(alone: Path) -> Path:
    path = alone / "verbs.txt"
    path.write_text("\n".join(WORDS))
    return path


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_first_rater_filters_for_the_others(run, verbs: Path) -> None:
    with serving(Model(rate)) as one, serving(Model(lambda a, b: 4)) as other:
        raters = ("--rater", f"{one.url},one", "--rater", f"{other.url},other")
        done = run("similarity", "build", "--verbs", verbs, *raters, "--out", "t.csv", *QUICK)
    assert done.code == 0, done.err
    assert sum(one.asked.values()) == len(PAIRS)
    assert set(one.asked.values()) == {1}
    filtered = {pair for pair in one.asked if not zero(*pair)}
    assert 0 < len(filtered) < len(PAIRS)
    assert set(other.asked) == filtered
    found = read_similarity(Path("t.csv"))
    for a, b in PAIRS:
        assert found.of(a, b) == (0 if zero(a, b) else (rate(a, b) + 4) / 8)
    assert found.names == WORDS
    assert read_ratings(Path("t.csv")).raters == ("one", "other")


def test_what_the_filter_loses_is_measured_on_a_sample(run, verbs: Path) -> None:
    def first(a: str, b: str) -> int:
        return int("ride" not in (a, b))

    def second(a: str, b: str) -> int:
        return int(b in ("sit", "eat"))

    zeros = {pair for pair in PAIRS if "ride" in pair}
    words = ("similarity", "build", "--verbs", verbs, "--json", "j.json", *QUICK)
    with serving(Model(first)) as one, serving(Model(second)) as other:
        raters = ("--rater", f"{one.url},one", "--rater", f"{other.url},other")
        run(*words, *raters, "--out", "t.csv")
        plain, without = Path("t.csv").read_text(), sum(other.asked.values())
        assert not zeros & set(other.asked)
        done = run(*words, *raters, "--out", "t.csv", "--check-zeros", 3)
        assert done.code == 0, done.err
        sample = zeros & set(other.asked)
        assert len(sample) == 3 < len(zeros)
        run(*words, *raters, "--out", "t.csv", "--check-zeros", 100, "--seed", 1)
        assert zeros < set(other.asked)
        again = run("similarity", "build", "--verbs", verbs, "--json", "j.json", "--out", "t.csv",
                    *raters, "--check-zeros", 100)  # fmt: skip
    assert Path("t.csv").read_text() == plain  # filtered pairs stay filtered
    assert sum(other.asked.values()) == without + len(zeros)
    assert again.code == 0
    expected = f"verbs: of {len(zeros)} pairs that one rates 0, other rates 2 above 0"
    assert f"{expected} ({200 / len(zeros):.2f} %)" in again.out
    assert json.loads(Path("j.json").read_text())["zeros"] == [
        {"kind": "verb", "first": "one", "rater": "other", "pairs": len(zeros), "above": 2,
         "share": 2 / len(zeros)}
    ]  # fmt: skip


def test_the_question_has_both_definitions_and_the_scale(run, verbs: Path) -> None:
    with serving(Model(rate)) as model:
        run("similarity", "build", "--verbs", verbs, "--rater", f"{model.url},m", "--out", "t.csv",
            *QUICK)  # fmt: skip
    asked = "\n".join(part["content"] for part in model.requests[0]["messages"])
    assert "0 = " in asked
    assert "4 = " in asked
    assert "sit and travel on the back of animal, usually while controlling its motions" in asked
    assert model.requests[0]["model"] == "m"
    assert model.requests[0]["temperature"] == 0


def test_a_second_run_asks_nothing_again(run, verbs: Path) -> None:
    words = ("similarity", "build", "--verbs", verbs, "--out", "t.csv", *QUICK)
    with serving(Model(rate)) as model:
        run(*words, "--rater", f"{model.url},m")
        before, asked = Path("t.csv").read_text(), sum(model.asked.values())
        done = run(*words, "--rater", f"{model.url},m")
    assert done.code == 0
    assert sum(model.asked.values()) == asked == len(PAIRS)
    assert Path("t.csv").read_text() == before


def test_other_definitions_are_asked_anew(run, alone: Path) -> None:
    path = alone / "verbs.csv"
    words = ("similarity", "build", "--verbs", path, "--out", "t.csv", *QUICK)
    with serving(Model(rate)) as model:
        for gloss in ("one", "one", "another"):
            path.write_text(f"name,definition\nride,{gloss}\nhold,x\neat,y\n")
            assert run(*words, "--rater", f"{model.url},m").code == 0
    assert model.asked == {("ride", "hold"): 2, ("ride", "eat"): 2, ("hold", "eat"): 1}


def test_nothing_is_asked_without_yes(run, verbs: Path) -> None:
    with serving(Model(rate)) as model:
        done = run("similarity", "build", "--verbs", verbs, "--rater", f"{model.url},m",
                   "--out", "t.csv", "--price", "2,8")  # fmt: skip
    assert (done.code, done.out, model.asked) == (0, "", {})
    assert "m: 28 pairs to rate in 28 requests, about " in done.err
    assert "at the given price" in done.err
    assert done.err.endswith("Nothing has been asked yet; add --yes to start.\n")
    assert not Path("t.csv").exists()


def hostile(words: tuple[str, ...], number: int) -> dict[str, object] | None:
    """Every pair meets another trouble the first time, and most the second time."""
    trouble = [
        error(429, "slow down", Retry_After="0.01"),
        error(500, "oops"),
        error(503, "busy", Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"),
        text("I would say somewhere between 2 and 3."),
        text("7"),
        text(None),
        {"body": b"<html>not json</html>"},
        {"body": b'{"choices": []}'},
        {"drop": True},
        {"cut": 5},
        {"wait": 0.05},
        text(""),
    ]
    place = PAIRS.index((words[0], words[1]))
    if number < 2:
        return trouble[(place + 5 * number) % len(trouble)]
    return None


def test_a_hostile_server_changes_no_score(run, verbs: Path) -> None:
    with serving(Model(rate, hostile)) as model:
        done = run("similarity", "build", "--verbs", verbs, "--rater", f"{model.url},m",
                   "--out", "t.csv", *QUICK)  # fmt: skip
    assert done.code == 0, done.err
    assert "no valid reply" not in done.err
    found = read_similarity(Path("t.csv"), scale=1)
    assert {(a, b): found.of(a, b) for a, b in PAIRS} == {(a, b): rate(a, b) / 4 for a, b in PAIRS}


def test_replies_that_stay_invalid_are_listed_and_not_asked_forever(run, verbs: Path) -> None:
    def stubborn(words: tuple[str, ...], number: int) -> dict[str, object] | None:
        return text("It depends.") if words == ("ride", "hold") else None

    words = ("similarity", "build", "--verbs", verbs, "--out", "t.csv", "--json", "j.json", *QUICK)
    with serving(Model(rate, stubborn)) as model:
        done = run(*words, "--rater", f"{model.url},m")
        assert done.code == 0
        assert model.asked["ride", "hold"] == 3
        assert "could not be read" in json.dumps(model.requests)
        assert "1 pairs have no valid reply" in done.err
        assert "ride and hold (m)" in done.err
        listed = json.loads(Path("j.json").read_text())["unread"]
        assert listed == [{"rater": "m", "a": "ride", "b": "hold"}]
        run(*words, "--rater", f"{model.url},m")
        assert model.asked["ride", "hold"] == 3
        run(*words, "--rater", f"{model.url},m", "--ask-again")
        assert model.asked["ride", "hold"] == 6


def test_what_the_first_rater_did_not_say_clearly_the_others_are_asked(run, verbs: Path) -> None:
    def stubborn(words: tuple[str, ...], number: int) -> dict[str, object] | None:
        return text("?") if words == ("ride", "hold") else None

    with serving(Model(lambda a, b: 0, stubborn)) as one, serving(Model(lambda a, b: 2)) as other:
        raters = ("--rater", f"{one.url},one", "--rater", f"{other.url},other")
        run("similarity", "build", "--verbs", verbs, *raters, "--out", "t.csv", *QUICK)
    assert other.asked == {("ride", "hold"): 1}
    assert [row for row in table(Path("t.csv")) if row["a"] != row["b"]] == [
        {"a": "ride", "b": "hold", "one": "", "other": "0.5"}
    ]


def test_one_pair_without_a_reply_does_not_end_the_run(run, verbs: Path) -> None:
    def broken(words: tuple[str, ...], number: int) -> dict[str, object] | None:
        return error(500, "it crashes me") if words == ("ride", "hold") else None

    words = ("similarity", "build", "--verbs", verbs, "--out", "t.csv", "--tries", 2, *QUICK)
    with serving(Model(rate, broken)) as model:
        done = run(*words, "--rater", f"{model.url},m", "--json", "j.json")
        assert done.code == 0
        assert "1 pairs had no reply" in done.err
        (unanswered,) = json.loads(Path("j.json").read_text())["unanswered"]
        assert unanswered["why"].startswith("HTTP 500 Internal Server Error: it crashes me")
        assert model.asked["ride", "hold"] == 2
        model.hostile = lambda words, number: None
        assert "had no reply" not in run(*words, "--rater", f"{model.url},m").err
    assert read_similarity(Path("t.csv"), scale=1).of("ride", "hold") == rate("ride", "hold") / 4


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "set the API key in DIAGHOI_API_KEY"),
        (404, "check the URL and the model name"),
        (400, "the request would fail again"),
        (302, "give the URL to which the server redirects"),
    ],
)
def test_what_would_fail_again_is_not_tried_again(run, verbs: Path, status: int, advice) -> None:
    model = Model(rate, lambda words, number: error(status, "no", Location="http://other.invalid"))
    with serving(model):
        done = run("similarity", "build", "--verbs", verbs, "--rater", f"{model.url},m",
                   "--out", "t.csv", "--concurrent", 1, *QUICK)  # fmt: skip
    assert done.code == 2
    assert f"HTTP {status}" in done.err
    assert advice in done.err
    assert sum(model.asked.values()) == 1


@pytest.mark.slow
def test_batches_give_what_single_questions_give(run, verbs: Path) -> None:
    def gaps(words: tuple[str, ...], number: int) -> dict[str, object] | None:
        return text("1: 3\nand no more") if len(words) == 10 else None

    words = ("similarity", "build", "--verbs", verbs, *QUICK)
    with serving(Model(rate)) as model:
        run(*words, "--rater", f"{model.url},m", "--out", "one.csv")
    with serving(Model(rate)) as model:
        run(*words, "--rater", f"{model.url},m", "--out", "many.csv", "--batch", 5)
    assert sum(model.asked.values()) == 6
    assert Path("one.csv").read_text() == Path("many.csv").read_text()
    with serving(Model(rate, gaps)) as model:
        done = run(*words, "--rater", f"{model.url},m", "--out", "gaps.csv", "--batch", 5)
    assert "no valid reply" not in done.err


def test_one_key_does_not_go_to_two_servers(refuse, run, verbs: Path, monkeypatch) -> None:
    monkeypatch.setenv("DIAGHOI_API_KEY", "k")
    monkeypatch.setenv("OTHER_KEY", "o")
    with serving(Model(rate)) as one, serving(Model(rate)) as other:
        words = ("similarity", "build", "--verbs", verbs, "--out", "t.csv", *QUICK)
        first = ("--rater", f"{one.url},one")
        assert "DIAGHOI_API_KEY would go to 127.0.0.1:" in refuse(
            *words, *first, "--rater", f"{other.url},other"
        )
        assert not one.asked
        assert run(*words, *first, "--rater", f"{other.url},other,OTHER_KEY").code == 0
    assert set(one.keys) == {"Bearer k"}
    assert set(other.keys) == {"Bearer o"}


def test_candidates_are_not_compared_with_each_other(run, alone: Path) -> None:
    (alone / "own.txt").write_text("ride\nhold")
    (alone / "more.txt").write_text("hold\neat\npush.v.01")
    with serving(Model(rate)) as model:
        run("similarity", "build", "--verbs", "own.txt", "--verb-candidates", "more.txt",
            "--rater", f"{model.url},m", "--out", "t.csv", *QUICK)  # fmt: skip
    assert set(model.asked) == {
        ("ride", "hold"), ("ride", "eat"), ("ride", "push"), ("hold", "eat"), ("hold", "push"),
    }  # fmt: skip


def test_words_of_one_sense_are_identical_without_asking(run, alone: Path) -> None:
    (alone / "v.txt").write_text("sit_on\nsit_at\nhold")
    with serving(Model(lambda a, b: 0)) as model:
        run("similarity", "build", "--verbs", "v.txt", "--rater", f"{model.url},m",
            "--out", "t.csv", *QUICK)  # fmt: skip
    assert set(model.asked) == {("sit on", "hold"), ("sit at", "hold")}
    assert read_similarity(Path("t.csv")).of("sit_on", "sit_at") == 1


def test_verbs_and_objects_give_two_tables(run, verbs: Path, alone: Path) -> None:
    (alone / "objects.csv").write_text("ID,Object,Synset\n1,train,train.n.01\n2,tie,necktie.n.01\n")
    with serving(Model(lambda a, b: 3)) as model:
        done = run("similarity", "build", "--verbs", verbs, "--objects", "objects.csv",
                   "--rater", f"{model.url},m", "--out", "t.csv", *QUICK)  # fmt: skip
    assert done.code == 0
    assert read_similarity(Path("t_objects.csv")).of("train", "tie") == 0.75
    assert len(read_similarity(Path("t_verbs.csv"))) == len(WORDS)


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_was(verbs: Path) -> None:
    """SIGKILL after some answers: only what was under way is asked again."""
    workers, moment = 3, 6
    command = [
        sys.executable, "-m", "diaghoi", "similarity", "build", "--verbs", str(verbs),
        "--out", "t.csv", "--concurrent", str(workers), "--pause", "0.01", "--yes", "--rater",
    ]  # fmt: skip
    reached = threading.Event()

    def slow(words: tuple[str, ...], number: int) -> dict[str, object]:
        if sum(model.answered.values()) >= moment:
            reached.set()
        return {"wait": 0.1}

    with serving(Model(rate, slow)) as model:
        running = subprocess.Popen(
            [*command, f"{model.url},m"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert reached.wait(900)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        model.wait_until_idle()
        first, answered = sum(model.asked.values()), sum(model.answered.values())
        assert 0 < first < len(PAIRS)
        assert not Path("t.csv").exists()
        done = subprocess.run([*command, f"{model.url},m"], check=False, timeout=900)
    assert done.returncode == 0
    assert set(model.asked) == set(combinations(WORDS, 2))
    asked_twice = sum(model.asked.values()) - len(PAIRS)
    assert asked_twice <= workers
    assert sum(model.asked.values()) - first >= len(PAIRS) - answered
    lines = map(json.loads, Path("t.answers.jsonl").read_text().splitlines())
    kept = [(line["a"], line["b"], line["score"]) for line in lines]
    assert sorted(kept) == sorted((a, b, rate(a, b)) for a, b in combinations(WORDS, 2))


def test_a_store_that_another_run_uses(run, verbs: Path) -> None:
    from diaghoi.language.answers import AnswerStore

    with AnswerStore(Path("t.answers.jsonl")), serving(Model(rate)) as model:
        done = run("similarity", "build", "--verbs", verbs, "--rater", f"{model.url},m",
                   "--out", "t.csv", *QUICK)  # fmt: skip
    assert done.code == 2
    assert "another run is writing to it; let it finish, or give another --store" in done.err


def test_baselines_are_named_as_what_they_are(run, verbs: Path) -> None:
    for method, title in (("path", "path"), ("wu-palmer", "Wu-Palmer")):
        done = run("similarity", "build", "--verbs", verbs, "--baseline", method, "--out", "b.csv")
        assert done.code == 0
        assert "a baseline, not SHOE" in done.out
        assert read_ratings(Path("b.csv")).raters == (f"WordNet {title} similarity (not SHOE)",)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--rater", "x,m"), "x: is not a model URL; give one"),
        (("--rater", "http://h/v1"), "give URL,MODEL"),
        (("--rater", "http://u:p@h/v1,m"), "contains a password"),
        (("--rater", "http://h/v1,m", "--rater", "http://i/v1,m"), "m is named twice"),
        (
            ("--rater", "http://h/v1,m,NO_SUCH"),
            "the environment variable that is to hold its API key is not set",
        ),
        (("--rater", "http://h/v1,m", "--baseline", "path"), "give either --rater"),
        ((), "give either --rater"),
        (("--baseline", "wup"), "baseline 'wup': not known"),
        (("--baseline", "path", "--wordnet", "."), "--wordnet needs WordNet's dict folder"),
        (("--rater", "http://h/v1,m", "--price", "a"), "give the price of a million input"),
        (("--baseline", "path", "--verb-candidates", "no.txt"), "no.txt: No such file"),
        (
            ("--rater", "http://127.0.0.1:1/v1,m", "--check-zeros", 5),
            "--check-zeros: asks a second rater; give another --rater",
        ),
        (
            ("--baseline", "path", "--object-candidates", "verbs.txt"),
            "--object-candidates: is compared with --objects, which is missing",
        ),
    ],
)
def test_bad_options(refuse, verbs: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refuse("similarity", "build", "--verbs", verbs, "--out", "t.csv", *words)
    assert not Path("t.csv").exists()


def test_without_words_nothing_is_compared(refuse) -> None:
    words = ("similarity", "build", "--baseline", "path", "--out", "t.csv")
    assert refuse(*words) == "no words to compare; give --verbs FILE, --objects FILE or both"


def test_json_alone_on_stdout(run, verbs: Path) -> None:
    words = ("similarity", "build", "--verbs", verbs, "--baseline", "path", "--out", "t.csv")
    done = run(*words, "--json", "-", "-q")
    assert (done.code, done.err) == (0, "")
    assert [each["file"] for each in json.loads(done.out)["tables"]] == ["t.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ride\nfrobnicate\n", "has no definition of frobnicate"),
        ("", "is empty; give one word or synset per line"),
        ("name\n", "holds no words"),
        ("x" * 200_000, "not a CSV file (field larger than field limit"),
        ("sit.v." + "1" * 5000, "line 1: WordNet 3.0 (without named individuals) has no synset"),
        ("ride\nsit.v.99", "line 2: WordNet 3.0 (without named individuals) has no synset 'sit.v."),
        ("name,definition\nride,x\n,y\n", "line 3: neither name nor synset"),
        ("id,name\n7\n", "line 2: neither name nor synset"),
        ("ride\nhold,carry\n", "line 2: 2 columns where the first line has 1"),
        ("name,synset\nbat,bat.n.01\nbat,bat.n.02\n", "line 3: 'bat' appears twice"),
        ("name,synset\nride,ride.v.99\n", "has no synset 'ride.v.99'"),
        ("nam,definitio\nride,x\n", "the columns are nam, definitio (did you mean"),
    ],
)
def test_bad_lists(refuse, alone: Path, content: str, message: str) -> None:
    (alone / "v.txt").write_text(content)
    assert message in refuse(
        "similarity", "build", "--verbs", "v.txt", "--baseline", "path", "--out", "t.csv"
    )
