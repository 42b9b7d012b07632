"""Tables of similarity: reading, completing, fitting, merging, looking at them."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.semantic import identity

from diaghoi.exceptions import InputError
from diaghoi.language.words import plain
from diaghoi.semantic import Measure, Similarity, read_similarity, write_similarity
from diaghoi.semantic.tables import similarity as module
from diaghoi.semantic.tables.people import read_human_scores
from diaghoi.semantic.tables.ratings import mean_of, merge_ratings, read_ratings, write_ratings
from diaghoi.semantic.tables.similarity import fit, table_facts
from diaghoi.semantic.tables.subsets import rater_subsets
from diaghoi.semantic.tables.words import read_senses


@pytest.fixture
def save(tmp_path):
    def write(text, name="verbs.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_words_are_compared_without_case_and_underscores():
    assert plain("  Sit  On ") == plain("sit_on") == "sit_on"


def test_a_table_is_symmetric_with_ones_on_the_diagonal_and_zero_for_what_is_missing(save):
    table = read_similarity(save("a,b,score\nride,sit on,1\nsit_on,lie on,3\n"))
    assert table.names == ("ride", "sit_on", "lie_on")
    assert table.values.tolist() == [[1, 0.25, 0], [0.25, 1, 0.75], [0, 0.75, 1]]
    assert table.of("Sit on", "ride") == 0.25
    assert (table.name, table.source) == ("verbs", "verbs.csv")
    assert table.notes == (
        "verbs.csv: read as scores from 0 to 4 (if this is wrong, give --scale)",
    )


@pytest.mark.parametrize(
    ("scores", "scale", "similarity"),
    [
        (("0.5", "1"), None, 0.5),
        (("2", "4"), None, 0.5),
        (("0.5", "1"), 4, 0.125),
        (("5", "10"), 10, 0.5),
    ],
)
def test_the_scale_is_given_or_found(save, scores, scale, similarity):
    text = f"a,b,score\nride,hold,{scores[0]}\nride,walk,{scores[1]}\n"
    assert read_similarity(save(text), scale=scale).of("ride", "hold") == similarity


def test_the_header_may_be_missing(save):
    assert read_similarity(save("ride,hold,2\nride,walk,4\n")).of("hold", "ride") == 0.5


def test_a_header_of_a_and_b_is_one_whatever_raters_are_called(save):
    table = read_ratings(save("a,b,1,2\nride,hold,0,1\n"))
    assert (table.names, table.raters) == (("ride", "hold"), ("1", "2"))


def test_several_raters_give_their_mean_and_blanks_do_not_count(save):
    path = save("a,b,one,two\nride,hold,4,2\nride,walk,,1\nhold,walk,,\n")
    table = read_similarity(path)
    assert table.of("ride", "hold") == 0.75
    assert table.of("ride", "walk") == 0.25
    assert table.of("hold", "walk") == 0
    assert table.source == "mean of 2 raters: one, two (verbs.csv)"
    assert read_similarity(path, raters=["two"]).of("ride", "hold") == 0.5


def test_contradictions_are_named_and_their_mean_counts(save):
    path = save("a,b,score\nride,hold,4\nhold,ride,2\nwalk,walk,3\nrun,run,4\n")
    table = read_similarity(path)
    assert table.of("ride", "hold") == 0.75
    assert table.of("walk", "walk") == 1
    assert any("1 pairs appear more than once" in note for note in table.notes)
    assert any("ride and hold (2, 4)" in note for note in table.notes)
    assert any("identical: walk" in note for note in table.notes)


@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_what_is_written_is_read_again(save, tmp_path, suffix):
    table = read_similarity(save("a,b,score\nride,sit on,1.3\nsit on,lie on,4\nwalk,walk,4\n"))
    write_similarity(tmp_path / f"again.{suffix}", table)
    again = read_similarity(tmp_path / f"again.{suffix}")
    for one in table.names:
        for other in table.names:
            assert again.of(one, other) == table.of(one, other)
    assert again.source == f"rated by verbs (again.{suffix})"


def test_a_square_npz_is_read(tmp_path):
    values = np.array([[4.0, 1.0], [1.0, 4.0]])
    np.savez(tmp_path / "t.npz", names=["ride", "sit on"], values=values)
    assert read_similarity(tmp_path / "t.npz").of("ride", "sit_on") == 0.25
    np.savez(tmp_path / "r.npz", names=["ride", "walk"], values=[values, values / 2], raters="ab")
    with pytest.raises(InputError, match="1 raters for 2 tables"):
        read_similarity(tmp_path / "r.npz")
    np.savez(tmp_path / "s.npz", names=["ride", "walk"], values=[values, np.eye(2) * 4])
    assert read_similarity(tmp_path / "s.npz").of("ride", "walk") == 0.125


def test_large_tables_are_kept_by_their_similar_pairs(save, monkeypatch):
    path = save("a,b,score\nride,sit on,1\nsit on,lie on,3\nlie on,walk,4\n")
    dense = read_similarity(path)
    words = ("walk", "swim", "lie on", "ride", "walk")
    fitted = fit(dense, words).similarity.values
    monkeypatch.setattr(module, "DENSE", 2)
    sparse = read_similarity(path)
    assert isinstance(sparse.values, csr_array)
    one, other = np.indices((4, 4)).reshape(2, -1)
    assert sparse.at(one, other).tolist() == dense.at(one, other).tolist()
    assert sparse.pairs == dense.pairs == 3
    again = fit(sparse, words).similarity
    assert hasattr(again.values, "tocoo")
    assert again.values.toarray().tolist() == fitted.tolist()
    assert again.at(np.array([0, 1]), np.array([4, 2])).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty; give rows of a,b,score"),
        ("a,b\nride,hold\n", "line 1: 2 columns; give a,b,score"),
        ("a,b,score\nride,hold\n", "line 2: 2 columns where the first line has 3"),
        ("a,b,score\nride,,1\n", "line 2: a word is missing"),
        ("a,b,score\nride,hold,x\n", "line 2, column 'score': 'x' is not a number"),
        ("a,b,score\nride,hold,nan\n", "line 2, column 'score': 'nan' is not a number"),
        ("a,b,score\nride,hold," + "9" * 500, "column 'score': '99999999999999999999...9999999999"),
        ('a,b,score\n"ri\nde",hold,1\n\nride,walk,x\n', "line 5, column 'score'"),
        ("a,b,1,1\nride,hold,1,1\n", "two columns are called '1'"),
        ("a,b,score\nride,hold,-1\n", "'ride' and 'hold', column 'score': -1 is outside 0 to 1"),
        ("a,b,score\nride,hold,7\n", "the highest score is 7; give the end of the scale with `sca"),
        ("a,b,one,one\nride,hold,1,1\n", "two columns are called 'one'"),
        ("a,b,\nride,hold,1\n", "column 3 has no name"),
        ("a,b,score\n", "no pair of words"),
    ],
)
def test_bad_tables_are_refused(save, text, words):
    with pytest.raises(InputError, match=r"verbs\.csv") as caught:
        read_similarity(save(text))
    assert words in str(caught.value)


def test_scores_beyond_the_given_scale_are_refused(save):
    with pytest.raises(InputError, match="5 is outside 0 to 4"):
        read_similarity(save("a,b,score\nride,hold,5\n"), scale=4)
    with pytest.raises(InputError, match="scale 0: must be a positive number"):
        read_similarity(save("a,b,score\nride,hold,5\n"), scale=0)


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file; give a table of similarity"):
        read_similarity(tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_similarity(tmp_path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"values": np.eye(2)}, "has no array 'names'; it has values"),
        ({"names": ["a", "b"]}, "has no array 'values'"),
        ({"names": ["a", "b"], "values": np.eye(3)}, "does not fit 2 names"),
        ({"names": ["a", "A"], "values": np.eye(2)}, "'a' appears twice"),
        ({"names": ["a"], "row": [0], "column": [1], "value": [1.0]}, "do not fit 1 names"),
        ({"names": ["a", "b"], "values": np.full((2, 2), np.inf)}, "'a' and 'a' is infinite"),
        (
            {"names": ["a", "b"], "values": np.full((2, 2), np.longdouble("1e4000"))},
            "'a' and 'a' is infinite",
        ),
        ({"names": ["a", ""], "values": np.eye(2)}, "names: number 2 is empty"),
        (
            {"names": ["a", "b"], "row": [0], "column": [1], "value": np.zeros((1, 0))},
            "do not fit 2 names",
        ),
    ],
)
def test_bad_archives_are_refused(tmp_path, arrays, words):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(InputError, match=words):
        read_similarity(tmp_path / "t.npz")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.eye(3), "values of shape"),
        ([[1, 2], [2, 1]], "must lie in"),
        ([[1, np.nan], [np.nan, 1]], "must lie in"),
        ([[1, 0.5], [0, 1]], "must be symmetric"),
        ([[1, 0.5], [0.5, 0]], "1 on the diagonal"),
        (csr_array(np.array([[1, 0.5], [0, 1]])), "must be symmetric"),
    ],
)
def test_a_similarity_must_be_one(values, words):
    with pytest.raises(InputError, match=words):
        Similarity(names=("a", "b"), values=values, name="t")


def test_unknown_words_and_raters_get_suggestions(save):
    path = save("a,b,one,two\nride,hold,4,2\n")
    with pytest.raises(InputError, match="did you mean 'ride'"):
        read_similarity(path).of("rides", "hold")
    with pytest.raises(InputError, match=r"has no rater 'on'.*did you mean 'one'"):
        read_similarity(path, raters=["on"])


def test_tables_are_written_as_csv_or_npz(tmp_path):
    with pytest.raises(InputError, match=r"are written as \.csv or \.npz"):
        write_similarity(tmp_path / "t.txt", identity(["a"]))


SENSES = "a,b,score\nride.v.01,sit.v.01,2\nsit.v.01,sit.v.02,4\nhold.v.02,sit.v.01,1\n"


def test_words_stand_for_the_only_sense_of_their_lemma(save):
    fitted = fit(read_similarity(save(SENSES)), ["ride", "sit", "hold", "fly"])
    assert fitted.missing == ("sit", "fly")
    assert fitted.ambiguous == ("sit",)
    assert fitted.similarity.values.tolist() == np.eye(4).tolist()


def test_senses_can_be_named(save):
    table = read_similarity(save(SENSES))
    fitted = fit(table, ["ride", "sit"], {"sit": "sit.v.01"})
    assert fitted.missing == ()
    assert fitted.similarity.values[0, 1] == 0.5


def test_words_of_the_same_name_are_identical():
    fitted = fit(identity(["crane"]), ["crane", "crane", "egg", "egg"])
    assert fitted.similarity.values.tolist() == np.kron(np.eye(2), np.ones((2, 2))).tolist()


def test_lists_of_senses_are_read(save):
    for text in (
        "ID,Object,Synset,Definition\n001,dining_table,dining_table.n.01,a table\n",
        "original_verb,lemmatized,synset\ndining table,dine,dining_table.n.01\n",
        "dining table,dining_table.n.01\n",
    ):
        assert read_senses(save(text)) == {"dining_table": "dining_table.n.01"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("word,synset\nride,\n", "line 2: a word or its sense is missing"),
        ("word,synset\nride,a.v.01\nride,b.v.01\n", "'ride' is given two senses"),
        ("word,synsett,x\nride,a,b\n", "did you mean 'synset'"),
    ],
)
def test_bad_lists_of_senses_are_refused(save, text, words):
    with pytest.raises(InputError, match=words):
        read_senses(save(text))


def test_merging_keeps_the_raters(save, tmp_path):
    first = read_ratings(save("a,b,score\nride,hold,4\nride,walk,2\n", "one.csv"))
    second = read_ratings(save("a,b,x,y\nhold,ride,0.5,1\nhold,swim,0,1\n", "two.csv"))
    merged = merge_ratings([first, second])
    assert merged.raters == ("one", "x", "y")
    write_ratings(tmp_path / "m.csv", merged)
    with (tmp_path / "m.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows == [
        ["a", "b", "one", "x", "y"],
        ["ride", "hold", "1.0", "0.5", "1.0"],
        ["ride", "walk", "0.5", "", ""],
        ["hold", "swim", "", "0.0", "1.0"],
    ]
    assert read_similarity(tmp_path / "m.csv").of("ride", "hold") == pytest.approx(2.5 / 3)
    write_ratings(tmp_path / "m.npz", merged)
    again = read_ratings(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.scores, merged.scores)
    assert mean_of(merged, "mean").scores.ravel().tolist() == [
        pytest.approx(2.5 / 3),
        0.5,
        0.5,
    ]


def test_a_pair_that_a_rater_never_saw_stays_unrated(save, tmp_path):
    first = read_ratings(save("a,b,x\nride,hold,4\nride,walk,2\nhold,walk,1\n", "one.csv"))
    second = read_ratings(save("a,b,y\nhold,ride,4\nride,walk,3\nride,fly,0\n", "two.csv"))
    write_ratings(tmp_path / "m.csv", merge_ratings([first, second]))
    assert (tmp_path / "m.csv").read_text().splitlines() == [
        *("a,b,x,y", "ride,hold,1.0,1.0", "ride,walk,0.5,0.75", "ride,fly,,0.0", "hold,walk,0.25,")
    ]
    merged = read_ratings(tmp_path / "m.csv")
    alone = [table_facts(table, {})["raters"][0] for table in (first, second)]
    assert table_facts(merged, {})["raters"] == alone
    assert table_facts(merged, {})["correlation"][0]["pairs"] == 2
    # The mean is that of those who rated the pair, with --mean as well.
    assert mean_of(merged, "mean").scores[-1, 0] == read_similarity(tmp_path / "m.csv").of(
        "hold", "walk"
    )


def test_a_table_that_lists_words_with_themselves_leaves_out_pairs_rated_zero(save, tmp_path):
    first = read_ratings(save("a,b,x\nride,hold,4\nride,walk,2\nhold,walk,1\n", "one.csv"))
    words = "ride,ride,4\nhold,hold,4\nwalk,walk,4\n"
    whole = read_ratings(save(f"a,b,y\n{words}hold,ride,4\nride,walk,3\n", "two.csv"))
    np.savez(tmp_path / "s.npz", names=["ride", "hold", "walk"], values=np.eye(3))
    for table, score in ((whole, 0.0), (read_ratings(tmp_path / "s.npz"), 0.0)):
        merged = merge_ratings([first, table])
        pair = (merged.first == merged.names.index("hold")) & (
            merged.second == merged.names.index("walk")
        )
        assert merged.scores[pair].tolist() == [[0.25, score]]


def test_a_word_that_a_table_has_is_identical_to_itself_also_where_that_is_not_said(save):
    first = read_ratings(save("a,b,x\nride,hold,4\n", "one.csv"))
    second = read_ratings(save("a,b,y\nride,ride,4\nride,hold,2\nwalk,walk,4\n", "two.csv"))
    merged = merge_ratings([first, second])
    itself = merged.first == merged.second
    assert [merged.names[word] for word in merged.first[itself]] == ["ride", "walk"]
    np.testing.assert_array_equal(merged.scores[itself], [[1, 1], [np.nan, 1]])


def test_what_is_merged_of_a_file_named_by_a_number_is_read_again(save, tmp_path):
    table = read_ratings(save("a,b,score\nride,hold,1\n", "2024.csv"))
    write_ratings(tmp_path / "m.csv", merge_ratings([table]))
    assert read_ratings(tmp_path / "m.csv").raters == ("2024",)


def test_raters_of_one_name_are_not_merged(save):
    table = read_ratings(save("a,b,x,y\nride,hold,4,2\n"))
    with pytest.raises(InputError, match="rater 'x' appears in two tables"):
        merge_ratings([table, table])


def test_facts_of_a_table(save):
    table = read_ratings(
        save("a,b,x,y\nride,hold,4,2\nhold,ride,4,2\nride,walk,0,\nfly,ride,2,1\n")
    )
    facts = table_facts(table, {"verbs": ["ride", "walk", "swim"]})
    assert (facts["words"], facts["pairs"], facts["above_0"]) == (4, 3, 2)
    assert facts["one_sided"] == 2
    assert facts["coverage"]["verbs"]["missing"] == ["swim"]
    assert [rater["rated"] for rater in facts["raters"]] == [3, 2]
    assert facts["correlation"] == [
        {"raters": ["x", "y"], "pairs": 2, "pearson": pytest.approx(1.0)}
    ]
    assert [each["pairs"] for each in facts["distribution"]] == [1, 1, 0, 1, 0]


def test_scores_that_hardly_differ_have_no_correlation_that_can_be_told(save):
    table = read_ratings(save("a,b,x,y\nride,hold,1e-200,1e-200\nride,walk,2e-200,3e-200\n"))
    assert table_facts(table, {})["correlation"][0]["pearson"] is None


HUMAN = "a,b,anna,ben\nride,hold,4,2\nride,walk,0,0\n"


def test_agreement_of_every_subset_of_raters(save):
    table = read_ratings(save("a,b,x,y\nride,hold,4,2\nride,walk,2,0\n"))
    found = rater_subsets(read_human_scores(save(HUMAN, "human.csv")), table)
    # The people say 0.75 and 0; x says 1 and 0.5, y 0.5 and 0, both 0.75 and 0.25.
    assert [(each["raters"], each["agreement"]) for each in found["subsets"]] == [
        (["x"], pytest.approx(1 - 0.75 / 2)),
        (["y"], pytest.approx(1 - 0.25 / 2)),
        (["x", "y"], pytest.approx(1 - 0.25 / 2)),
    ]
    assert found["sizes"][0]["mean"] == pytest.approx(0.75)
    assert found["sizes"][0]["deviation"] == pytest.approx(np.std([0.625, 0.875], ddof=1))
    assert found["sizes"][1]["deviation"] is None
    assert found["direct_match"] == pytest.approx(1 - 0.75 / 2)


def test_a_majority_vote_of_raters_is_named_beside_their_mean(save):
    """Of equally frequent scores the rater listed first decides, so two raters are the first."""
    table = read_ratings(save("a,b,x,y,z\nride,hold,4,2,2\nride,walk,3,0,\n"))
    people = read_human_scores(save("a,b,anna\nride,hold,2\nride,walk,0\n", "human.csv"))
    found = rater_subsets(people, table)
    shown = {"".join(each["raters"]): each["majority"] for each in found["subsets"]}
    x, y = 1 - (0.5 + 0.75) / 2, 1.0
    assert shown == {"x": x, "y": y, "z": y, "xy": x, "xz": x, "yz": y, "xyz": 1 - 0.75 / 2}
    assert found["sizes"][1]["majority"]["mean"] == pytest.approx((x + x + y) / 3)
    means = {"".join(each["raters"]): each["agreement"] for each in found["subsets"]}
    assert means["xy"] == pytest.approx(1 - (0.25 + 0.375) / 2)


JUDGED = (
    "verb_a,object_a,verb_b,object_b,anna\n"
    "ride,car,ride,bus,1\n"
    "ride,car,hold,car,3\n"
    "ride,car,hold,bus,0\n"
    "ride,bus,hold,bus,3\n"
)


def test_agreement_is_split_by_what_differs(save):
    judged = read_human_scores(save(JUDGED, "human.csv"))
    verbs = read_ratings(save("a,b,x,y\nride,hold,2,2\n"))
    objects = read_ratings(save("a,b,y,x\ncar,bus,0,2\n", "objects.csv"))
    found = rater_subsets(judged, verbs, objects)
    parts = {each["differs"]: each for each in found["categories"]}
    assert {name: each["pairs"] for name, each in parts.items()} == {
        "any": 4,
        "object": 1,
        "verb": 2,
        "both": 1,
    }
    # x finds car and bus similar by 0.5, so (1 + 0.5) / 2 for riding both; people say 0.25.
    assert parts["object"]["raters"] == pytest.approx({"x": 0.5, "y": 0.75})
    assert parts["object"]["mean"] == pytest.approx(1 - (0.625 - 0.25))
    assert parts["object"]["majority"] == pytest.approx(0.5)  # that of x, who is listed first
    assert parts["verb"]["raters"] == pytest.approx({"x": 1, "y": 1})
    for name, each in parts.items():
        whole = found["subsets"][-1]["agreement"] if name == "any" else each["mean"]
        assert each["mean"] == whole


@pytest.mark.parametrize("combine", ["arithmetic", "geometric"])
def test_the_weight_that_agrees_best_is_searched(save, combine):
    """People who judge by the object alone where it differs, and by both where verbs differ."""
    judged = read_human_scores(save(JUDGED, "human.csv"))
    verbs = read_ratings(save("a,b,x\nride,hold,2\n"))
    objects = read_ratings(save("a,b,x\ncar,bus,1\n", "objects.csv"), scale=4)
    found = rater_subsets(judged, verbs, objects, measure=Measure(combine=combine))
    parts = {each["differs"]: each for each in found["categories"]}
    assert parts["object"]["best_weight"] == 0
    assert parts["object"]["best_agreement"] == 1
    if combine == "arithmetic":
        assert parts["verb"]["best_weight"] == 0.5
    for part in parts.values():
        assert part["best_agreement"] >= part["mean"]
    least = rater_subsets(judged, verbs, objects, measure=Measure(combine="minimum"))
    assert {each["best_weight"] for each in least["categories"]} == {None}


def test_words_have_no_categories(save):
    table = read_ratings(save("a,b,x\nride,hold,4\n"))
    assert rater_subsets(read_human_scores(save(HUMAN, "human.csv")), table)["categories"] == []


def test_interactions_need_both_tables(save):
    text = "verb_a,object_a,verb_b,object_b,anna\nride,car,hold,bus,2\nswim,car,swim,car,4\n"
    judged = read_human_scores(save(text, "human.csv"))
    verbs = read_ratings(save("a,b,x\nride,hold,4\n"))
    objects = read_ratings(save("a,b,x\ncar,bus,2\n", "objects.csv"))
    found = rater_subsets(judged, verbs, objects)
    assert [each["agreement"] for each in found["subsets"]] == [pytest.approx(1 - 0.25 / 2)]
    assert found["missing"] == ["swim"]
    assert found["direct_match"] == pytest.approx(1 - 0.5 / 2)
    with pytest.raises(InputError, match="give the table of objects with `objects`"):
        rater_subsets(judged, verbs)
    other = read_ratings(save("a,b,y\ncar,bus,2\n", "objects.csv"))
    with pytest.raises(InputError, match="give tables by the same raters"):
        rater_subsets(judged, verbs, other)


def test_the_user_study_of_shoe_is_read(shared):
    path = shared / "data/shoe/balanced_user_study_sample500including0.csv"
    judged = read_human_scores(path)
    assert len(judged.words) == 481
    assert judged.of_interactions
    assert judged.words[0] == ("lick.v.02", "bottle.n.01", "lick.v.02", "clamshell.n.02")
    assert (judged.mean.min(), judged.mean.max()) == (0, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,anna\n", "has no rows below the header; give a header and one pair"),
        ("a,c,anna\nx,y,1\n", "the columns are a, c, anna"),
        ("a,b\nx,y\n", "no column of scores after b"),
        ("a,b,anna\nx,y,z\n", "line 2, column 'anna': 'z' is not a number"),
        ("a,b,anna\nx,y,\n", "line 2: there is no score"),
        ("a,b,anna\nx,y,9\n", "scores from 9 to 9; give the end of the scale with `human_scale`"),
        ("a,b,anna\n\n\nx,y,z\n", "line 4, column 'anna': 'z' is not a number"),
        ("a,b,anna\nx,y,nan\n", "line 2, column 'anna': 'nan' is not a number"),
        ("a,b,anna\nx,y,1,0\n", "line 2: 4 columns where the first line has 3"),
        ("a,b,anna\nx\n", "line 2: 1 columns where the first line has 3"),
        ("a,b,anna,anna\nx,y,1,0\n", "two columns are called 'anna'"),
        ("a,b,anna\n,y,1\n", "line 2: column 'a' is empty"),
    ],
)
def test_bad_judgements_are_refused(save, text, words):
    with pytest.raises(InputError, match=words):
        read_human_scores(save(text, "human.csv"))
