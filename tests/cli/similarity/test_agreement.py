"""How far people agree, through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

RATINGS = "item,ann,bob,score\nx,0,1,0.1\ny,4,4,0.9\nz,2,,0.5\nw,3,1,0.4\nv,1,1,0.3\n"


@pytest.fixture
def ratings(alone: Path) -> Path:
    path = alone / "ratings.csv"
    path.write_text(RATINGS)
    return path


def test_all_figures_in_json(run, ratings: Path) -> None:
    done = run("similarity", "agreement", ratings, "--json", "-")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["annotators"] == ["ann", "bob"]
    assert (found["items"], found["ratings"]) == (5, 9)
    assert found["agreement"]["mean"] == pytest.approx(1 - (1 + 0 + 2 + 0) / 4 / 4)
    assert found["distribution"] == {"ann": [1, 1, 1, 1, 1], "bob": [0, 3, 0, 0, 1]}
    (metric,) = found["metrics"]
    means = np.array([0.5, 4, 2, 2, 1]) / 4
    scores = np.array([0.1, 0.9, 0.5, 0.4, 0.3])
    assert metric["agreement"] == pytest.approx(1 - np.abs(means - scores).mean())
    assert metric["name"] == "score"
    assert metric["items"] == 5
    assert found["by_majority"][1] == {"ann": [0, 1, 0, 1, 0], "bob": [0, 2, 0, 0, 0]}


def test_the_tables_say_what_they_are(run, ratings: Path) -> None:
    done = run("similarity", "agreement", ratings, "--detail")
    assert "ann and bob" in done.out
    assert "Krippendorff's alpha" in done.out
    assert "Spearman" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert "Note: ratings.csv: 'score' is read as a metric from 0 to 1" in done.err


def test_what_people_change_with_the_picture(run, ratings: Path, alone: Path) -> None:
    # In another order, with the picture: ann changes w by 2, bob x by 1.
    again = "item,image,ann,bob\nw,w.jpg,1,1\nx,x.jpg,0,2\ny,y.jpg,4,4\nz,,2,\nv,,1,1\n"
    (alone / "again.csv").write_text(again)
    words = ("similarity", "agreement", ratings, "--again", "again.csv")
    found = json.loads(run(*words, "--json", "-").out)["again"]
    assert found["annotators"] == ["ann", "bob"]
    assert (found["ratings"], found["changed"]) == (9, 2)
    # Wilson's interval: the roots of (p - 2/9)^2 = z^2 p (1 - p) / 9.
    z2 = 1.959964**2
    low, high = sorted(np.roots([1 + z2 / 9, -(4 / 9 + z2 / 9), 4 / 81]))
    assert found["share"] == pytest.approx(2 / 9)
    assert (found["share_low"], found["share_high"]) == pytest.approx((low, high))
    assert (found["size"], found["size_low"], found["size_high"]) == (1.5, None, None)
    done = run(*words, "--detail")
    assert "Rated again in again.csv" in done.out
    assert re.search(r"Changed ratings, % +22\.22 +6\.32 to 54\.74\n", done.out)
    assert re.search(r"Size of a change, points +1\.500 +–\n", done.out)
    assert "2 of 9 ratings by ann, bob changed; 95 % interval (Wilson's" in done.out
    same = json.loads(
        run("similarity", "agreement", ratings, "--again", ratings, "--json", "-").out
    )
    assert (same["again"]["share"], same["again"]["size"]) == (0, None)


@pytest.mark.parametrize("second", ["0", "02"])
def test_the_mean_of_ten_changes_has_an_interval_unless_they_are_equal(run, alone, second) -> None:
    for name, scores in (("one.csv", "1"), ("two.csv", second)):
        rows = [f"{item},{scores[item % len(scores)]},{item % 2}\n" for item in range(9)]
        # One more change, of two points in the second case.
        rows.append(f"9,{0 if name == 'one.csv' else len(second)},1\n")
        (alone / name).write_text("".join(["item,ann,bob\n", *rows]))
    words = ("similarity", "agreement", "one.csv", "--again", "two.csv")
    found = json.loads(run(*words, "--json", "-").out)["again"]
    changes = [1] * 9 + [len(second)]
    assert (found["changed"], found["size"]) == (10, np.mean(changes))
    if len(second) == 1:
        assert found["size_low"] is None
    else:
        half = 1.959964 * np.std(changes, ddof=1) / 10**0.5
        assert found["size_high"] == pytest.approx(np.mean(changes) + half)


@pytest.mark.parametrize(
    ("again", "message"),
    [
        (
            "item,ann,bob\nx,0,1\ny,4,4\n",
            "the items by item (2) differ from those of ratings.csv (5)",
        ),
        ("item,eve,max\nx,0,1\n", "is rated by eve, max, ratings.csv by ann, bob"),
        ("ann,bob\n0,1\n", "the items (1) differ from those of ratings.csv (5)"),
    ],
)
def test_other_items_or_people_are_not_the_same_study(run, ratings, alone, again, message) -> None:
    (alone / "again.csv").write_text(again)
    done = run("similarity", "agreement", ratings, "--again", "again.csv")
    assert done.code == 2
    assert message in done.err


def test_one_rating_a_row_is_the_same(run, ratings: Path, alone: Path) -> None:
    rows = [line.split(",") for line in RATINGS.splitlines()[1:]]
    long = ["item,annotator,rating"]
    long += [f"{row[0]},{who},{row[n]}" for n, who in ((1, "ann"), (2, "bob")) for row in rows]
    (alone / "long.csv").write_text("\n".join(long))
    wide = json.loads(run("similarity", "agreement", ratings, "--json", "-").out)
    found = json.loads(run("similarity", "agreement", "long.csv", "--json", "-").out)
    for key in ("kappa", "alpha_ordinal", "agreement", "distribution", "by_majority"):
        assert found[key] == wide[key]


def test_a_seed_gives_the_same_p_value(run, ratings: Path) -> None:
    words = ("similarity", "agreement", ratings, "--json", "-", "--resamples", 200)
    assert run(*words, "--seed", 1).out == run(*words, "--seed", 1).out


@pytest.mark.slow
def test_the_figures_are_drawn(run, ratings: Path) -> None:
    assert run("similarity", "agreement", ratings, "--out", "a.pdf", "-q").code == 0
    assert Path("a.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty; give a header and one item per row"),
        ("item,ann\nx,1\n", "ratings of 1 people (ann)"),
        ("item,ann,bob\nx,1,2\ny,2,7\nz,1,1\n", "line 3, column 'bob': 7 is not a whole number"),
        ("item,ann,bob\nx,1,2\ny,2,b\nz,1,1\n", "line 3, column 'bob': 'b' is not a number"),
        ("item,ann,bob\nx,1\n", "line 2: 2 columns where the first line has 3"),
        ("item,ann,ann\nx,1,1\n", "two columns are called 'ann'"),
        ("item,ann,bob,score\nx,1,1,9\n", "a metric must lie between 0 and 1"),
        ("item,ann,bob,score\nx,1,1,1\ny,1,1,-1\n", "its values range from -1 to 1"),
        ("item,annotator,rating\nx,a,1\nx,a,2\n", "line 3: a second rating of x by a"),
        ("annotator,rating\na,1\na,2\n", "line 3: a second rating by a"),
        ("item,annotator,rating\nx,a,1\nx,,2\n", "line 3: column 'annotator' is empty"),
        ("item,annotator,rating\nx,a,1\nx,item,2\n", "line 3: annotator 'item' has the name of a"),
        ("item,annotator,rating\nx,a,1\nx,b,7\n", "line 3, column 'rating': 7 is not a whole"),
        ("item,annotator,rating\nx,a,1\nx,b,z\n", "line 3, column 'rating': 'z' is not a number"),
    ],
)
def test_bad_ratings(run, alone: Path, content: str, message: str) -> None:
    (alone / "r.csv").write_text(content)
    done = run("similarity", "agreement", "r.csv")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_numbered_items_are_no_people(run, alone: Path) -> None:
    (alone / "r.csv").write_text("item,ann,bob\n1,1,2\n2,3,4\n3,0,0\n4,4,3\n")
    done = run("similarity", "agreement", "r.csv", "--json", "-")
    assert json.loads(done.out)["annotators"] == ["ann", "bob"]
    (alone / "r.csv").write_text("n,annotator,rating\n1,score,1\n1,bob,1\n2,score,2\n2,bob,1\n")
    result = json.loads(run("similarity", "agreement", "r.csv", "--json", "-").out)
    assert (result["annotators"], result["metrics"]) == (["score", "bob"], [])


@pytest.mark.parametrize("scale", ["1001", "9" * 25])
def test_scales_beyond_any_real_one_are_refused(run, ratings: Path, scale: str) -> None:
    done = run("similarity", "agreement", ratings, "--scale", scale)
    assert done.code == 2
    assert "scale" in done.err


@pytest.mark.parametrize("confidence", ["0", "1", "95"])
def test_a_confidence_outside_of_0_and_1_is_refused(run, ratings: Path, confidence: str) -> None:
    done = run("similarity", "agreement", ratings, "--confidence", confidence)
    message = f"diaghoi: error: --confidence {confidence}: must lie between 0 and 1\n"
    assert (done.code, done.err) == (2, message)


def test_an_unknown_metric_is_suggested(run, ratings: Path) -> None:
    done = run("similarity", "agreement", ratings, "--metric", "scor")
    assert "has no column 'scor' (did you mean 'score'?)" in done.err
