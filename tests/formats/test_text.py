"""Python literals as text: the values that were printed, nothing run, and messages for the rest."""

import ast
import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diaghoi import read_predictions
from diaghoi.exceptions import LONGEST_MESSAGE, InputError
from diaghoi.formats.text import load_literal

NAN = math.nan


def load(text):
    return load_literal(text, "file.json")


def refused(text):
    with pytest.raises(InputError) as error:
        load(text)
    message = str(error.value)
    assert message.startswith("file.json: ")
    assert message.isprintable()
    assert len(message) <= LONGEST_MESSAGE
    return message


def plain(value):
    """Return what a value is read as: tuples are lists."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def same(one, other):
    """Compare values with their types; NaN equals itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=False)
        return len(one) == len(other) and all(
            same(key, name) and same(each, value) for (key, each), (name, value) in pairs
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (one != one and other != other)


def nested(leaves, keys):
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=5)
            | st.lists(inner, max_size=4).map(tuple)
            | st.dictionaries(keys, inner, max_size=4)
        ),
        max_leaves=40,
    )


AWKWARD = (
    "np.float32(1)", "True", "nan", "'", '"', "it's", "[", "}", "}]", "[{", "(", "\\", "a, b",
    "null", "np.float64(", ")", "'np.nan'", "\x01", "\x01)", "...", "", " ", "\n", "\t", "\0",
    "\x7f", "é", "漢", "😀", "\ud83d\ude00", "\u2028", "img (1).jpg", "img[1].jpg", "a: {b}",
    "-inf", "9" * 50,
)  # fmt: skip
TEXTS = st.text(max_size=8) | st.sampled_from(AWKWARD)
NUMBERS = st.integers() | st.floats() | st.booleans() | st.none()
KEYS = TEXTS | st.integers(-(2**59), 2**59)
DATA = nested(NUMBERS | TEXTS, KEYS)
SCALARS = (
    st.floats(width=32).map(np.float32)
    | st.floats().map(np.float64)
    | st.integers(-100, 100).map(np.int64)
    | st.booleans().map(np.bool_)
    | TEXTS.map(np.str_)
)
# What code bases write: JSON after a few replacements.
SIMPLE = nested(st.integers(0, 600) | st.floats(0, 1), st.sampled_from(("bbox", "score", "a b")))


@given(value=DATA)
@example(value=[AWKWARD])
@example(value={"a": NAN, "b": [math.inf, -math.inf], 3: (1,), "c": ()})
def test_what_is_printed_comes_back(value):
    assert same(load(repr(value)), plain(value))


@given(value=nested(SCALARS | NUMBERS, TEXTS))
def test_numpy_scalars_come_back(value):
    def item(each):
        if isinstance(each, dict):
            return {key: item(inner) for key, inner in each.items()}
        if isinstance(each, list | tuple):
            return [item(inner) for inner in each]
        if isinstance(each, np.float32):  # the digits that are printed
            return float(str(each))
        return each.item() if isinstance(each, np.generic) else each

    with np.printoptions(legacy=False):
        assert same(load(repr(value)), item(value))


DAMAGE = "'\",[](){}:0123456789.e-+TrueNosn\\ \n_u"


@given(
    value=nested(st.integers() | TEXTS | st.floats(0, 1), KEYS) | SIMPLE,
    cuts=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 3), st.sampled_from(DAMAGE))),
)
def test_damaged_text_is_refused_or_means_what_python_says(value, cuts):
    text = repr(value)
    for place, removed, added in cuts[:3]:
        at = place % (len(text) + 1)
        text = text[:at] + added + text[at + removed :]
    check_against_python(text)


@given(text=st.text(alphabet=DAMAGE, max_size=12))
@example(text="[true]")
@example(text="{'a': null}")
@example(text="[(1]")
@example(text="[1)2]")
@example(text="(1)")
@example(text="[1]'a")
@example(text="'a''b'")
@example(text="[-True]")
@example(text="{'a': 1, 'a': 2}")
def test_random_text_is_refused_or_means_what_python_says(text):
    check_against_python(text)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def check_against_python(text):
    try:
        expected = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        refused(text)
        return
    try:
        value = load(text)
    except InputError:
        return
    assert same(value, plain(expected)), text


PRINTED = {
    "[np.float32(0.1), np.float64(-1e-05), np.int64(3)]": [0.1, -1e-05, 3],
    "[np.float16(inf), np.float32(-inf), np.float64(nan)]": [math.inf, -math.inf, NAN],
    "[np.uint8(1), np.str_('a'), np.str_('np.float32(')]": [1, "a", "np.float32("],
    "[np.nan, np.inf, -np.inf, np.True_, np.False_]": [NAN, math.inf, -math.inf, True, False],
    "{np.int64(3): 1, 4: True, -5: None}": {3: 1, 4: True, -5: None},
    "[array([1., 2.5], dtype=float32), np.array(3)]": [[1.0, 2.5], 3],
    "{'b': array([[1, 2],\n       [3, 4]])}": {"b": [[1, 2], [3, 4]]},
    "[array([], dtype=float64), array([], shape=(0, 4), dtype=float32)]": [[], []],
    "array([ 1.e-05, -2.e+03,     nan,      inf])": [1e-05, -2000.0, NAN, math.inf],
    "(array([0.5]), (1,), ((), 'a'), np.float32(0.5))": [[0.5], [1], [[], "a"], 0.5],
    " [1,\n\t2]\r\n": [1, 2],
    "'it\\'s \\x41\\u00e9\\U0001f600\\n'": "it's Aé😀\n",
    "[-0.0, 1e+16]": [-0.0, 1e16],
}


@pytest.mark.parametrize("text", PRINTED)
def test_what_numpy_prints(text):
    assert same(load(text), PRINTED[text])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 2), (0,), (0, 4), ()])
def test_arrays_that_numpy_prints(shape):
    for dtype in (np.float32, np.float64, np.int64, bool):
        value = (np.random.default_rng(0).random(shape) * 9).astype(dtype)
        found = load(repr({"a": value}))["a"]
        assert np.allclose(np.array(found).reshape(shape), value, atol=1e-6)


@pytest.mark.parametrize("name", AWKWARD)
def test_strings_are_not_changed(name):
    record = {"filename": name, "score": np.float32(0.5), name: [name, True, None, 0.25, name]}
    expected = {**record, "score": 0.5}
    for text in (repr(record), repr([record] * 500)):
        value = load(text)
        assert same(value if isinstance(value, dict) else value[-1], expected)


def test_a_file_of_a_code_base(shared):
    file = shared / "conformance" / "code_bases" / "gen_vlkt_results_numpy2.json"
    text = json.loads(file.read_text())
    expected = ast.literal_eval(text.replace("np.float64", ""))
    assert same(load(text), expected)


CASES = {
    "__import__('os').system('x')": "'__import__' is not a plain value; save plain lists",
    "[open('x')]": "character 2 of the text of a Python object, at 'open(",
    "[os.sep]": "'os.sep' is not a plain value",
    "[tensor([0.5], device='cuda:0')]": "'tensor' is not a plain value; save plain lists",
    "OrderedDict([('a', 1)])": "'OrderedDict' is not a plain value",
    "[array([0.1, 0.2, ..., 0.9])]": "values that NumPy left out when it printed a long array",
    "array([...])": "save array.tolist() instead",
    "{1, 2}": "at '1, 2}': damaged",
    "set()": "'set' is not a plain value",
    "[b'a']": "'b' is not a plain value",
    "{1.5: 2}": "at '1.5: 2}'",
    "{(1, 2): 2}": "damaged",
    f"{{{2**61}: 2}}": "damaged",
    "np.float32(np.float32(1))": "'np.float32' is not a plain value",
    "[np.float32(1), np.float32('a')]": "'np.float32' is not a plain value",
    "np.int64(None)": "'np.int64' is not a plain value",
    "[np.float32()]": "'np.float32' is not a plain value",
    "[1np.int64(2)]": "damaged",
    "[np.int64(1)2]": "damaged",
    "[np.float32(1, 2)]": "'np.float32' is not a plain value",
    "array([1], order='C')": "'array' is not a plain value",
    "array([1], [2])": "'array' is not a plain value",
    "array([], shape=(1000000000, 0), dtype=float32)": "'array' is not a plain value",
    "array('a')": "'array' is not a plain value",
    "[1 2]": "character 4 of the text of a Python object, at '2]': damaged (Expecting ','",
    "{'a' 1}": "Expecting ':' delimiter",
    "{'a': 1 'b'}": "Expecting ',' delimiter",
    "[007]": "damaged",
    "[1_000]": "near character 3 of",
    "[1+2j]": "damaged",
    "[1] [2]": "Extra data",
    "['a' 'b']": "Expecting ',' delimiter",
    "['a''b']": "Expecting ',' delimiter",
    "['a\nb', \"c\"]": "damaged",
    "['\\N{DASH}']": "damaged",
    "['\\U00110000']": "damaged",
    "['\\d']": "damaged",
    "[(1), 2]": "damaged",
    "[(1, 2], 3]": "damaged",
    "[([),]]": "damaged",
    "[(,), 1]": "damaged",
    "[1, 2": "is cut off: it ends after 5 characters with '[1, 2'; copy or write it again",
    "[1, 'HICO_te": "is cut off",
    '[1, "HICO_te': "is cut off",
    "{'a': np.float32(1": "is cut off",
    "[{'a': [1, 2], 'b': 3]": "damaged",
    "": "is empty",
    " \n": "is empty",
    "[NaN]": "at 'NaN]'",
    "[true]": "'true' is not a plain value",
    "{'a': 1, 2: 3, true: 4}": "'true' is not a plain value",
    "[\x01]": "damaged",
    "[,]": "damaged",
}


@pytest.mark.parametrize("text", CASES)
def test_messages_say_what_where_and_what_to_do(text):
    assert CASES[text] in refused(text)


@pytest.mark.parametrize(
    ("name", "item"),
    [
        *((name, float) for name in ("a, b.jpg", "C:\\images\\a.jpg", "(1).jpg", "é.jpg")),
        ("it's.jpg", np.float32),
    ],
)
def test_damage_in_a_large_text_is_found_near_its_place(name, item):
    image = {"filename": name, "bbox": [item(0.5), item(12.25)], "f": "g, h", "d": [[], {}]}
    with np.printoptions(legacy=False):
        text = repr({"preds": [image] * 1000, "gts": []})
    assert load(text)["preds"][-1] == image | {"bbox": [0.5, 12.25]}
    for old, new in (("'bbox':", "'bbox'"), ("[], {}", "[}, {}"), ("'g, h', ", "'g, h' ")):
        place = text.index(old, len(text) // 2)
        damaged = text[:place] + new + text[place + len(old) :]
        message = refused(damaged)
        assert "damaged (Expecting" in message
        near = int(message.split("near character ")[1].split(" ")[0].replace(",", ""))
        assert abs(near - place) < 20


def test_text_is_cut_into_pieces_anywhere():
    names = ["a, b'.jpg" if n % 97 == 5 else f"a, {n}.jpg" for n in range(40_000)]
    tuples = [[(name, (n,)), {n: ()}] for n, name in enumerate(names[:9000])]
    for value in (names, names[:90] * 400, [[name, 0.5] for name in names], tuples):
        assert same(load(repr(value)), plain(value))


def test_truncated_files_are_recognised_at_every_place():
    text = repr([{"filename": "a, b.jpg", "bbox": [0.5, 12.25], "score": np.float32(0.5)}])
    for stop in range(len(text)):
        message = refused(text[:stop])
        assert "cut off" in message or stop == 0


HOSTILE = {
    "lists in lists": ("[", ""),
    "tuples in tuples": ("(", ""),
    "dicts in dicts": ("{", ""),
    "dicts in dicts by keys": ("{'a':", ""),
    "lists of dicts": ("[{1:", ""),
    "closed": ("]", ""),
    "calls in calls": ("array(", ""),
    "arrays in arrays": ("array([", ""),
    "scalars in scalars": ("np.float32(", ""),
    "names": ("np.nan", ""),
    "a name": ("x", ""),
    "functions": ("f(1), ", ""),
    "quotes": ("'", ""),
    "double quotes": ('"', ""),
    "strings": ('"a", ', "[1 "),
    "backslashes": ("\\", ""),
    "a string of backslashes": ("\\\\", "'"),
    "digits": ("9", ""),
    "digits in a list": ("9", "["),
    "signs": ("-", "["),
    "dots": ("...", "["),
    "unclosed tuples": ("(1, ", ""),
    "tuples": ("((1, 2), ", "["),
    "unclosed wrappers": ("np.float32(1, ", "["),
    "arguments": ("dtype=int, ", "array([1], "),
    "rows": ("[1], ", "array(["),
    "zero bytes": ("\0", ""),
}
# What takes far more memory than its text: refused before it is read.
BOMBS = {
    "empty lists": "[], ",
    "empty tuples": "(), ",
    "empty dicts": "{}, ",
    "small dicts": "{'a': 0}, ",
}


@pytest.mark.parametrize("length", [100_000, pytest.param(20_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused(name, length):
    part, start = HOSTILE[name]
    text = start + part * (length // len(part))
    # With its end, it is not recognised at once.
    refused(text + {"[": "]", "{": "}"}.get(text[0], ""))


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_they_are_read(name):
    text = f"[{BOMBS[name] * 4_000_000}]"
    tracemalloc.start()
    try:
        assert "consists mostly of empty or tiny lists and dicts" in refused(text)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_deep_text_is_refused():
    for opening, close in ("[]", ("(", ",)"), ("{'a': ", "}")):
        assert load(opening * 50 + "1" + close * 50)
        assert "cannot be loaded" in refused(opening * 100_000 + "1" + close * 100_000)


def test_long_numbers_are_refused():
    assert "cannot be loaded (Exceeds the limit" in refused(f"[1, {'9' * 5000}]")


def test_two_surrogates_stay_two_characters():
    assert load(repr(["é, 'x", "a"])) == ["é, 'x", "a"]
    assert load("['\ud83d\ude00, b', 'c']") == ["\ud83d\ude00, b", "c"]


@pytest.mark.parametrize("layout", ["[{}]", "{}\n{}\n"], ids=["a list", "lines"])
def test_a_key_that_an_object_has_twice_is_noted(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "preds.json"
    box = '{"bbox": [0, 0, 9, 9], "category_id": 1, "category_id": 0}'
    triplet = '{"subject_id": 0, "object_id": 1, "category_id": 76, "score": 0.5}'
    boxes = f'[{box}, {{"bbox": [0, 0, 9, 9], "category_id": 3}}]'
    images = [
        f'{{"filename": "{name}.jpg", "predictions": {boxes}, "hoi_prediction": [{triplet}]}}'
        for name in "ab"
    ]
    path.write_text(layout.format(*images))
    predictions = read_predictions(path)
    assert predictions.box_label[0] == 0
    note = f"{path}: an object has the key 'category_id' twice; the last value counts"
    assert note in predictions.notes
    path.write_text(path.read_text().replace('"category_id": 1, ', ""))
    assert not any("twice" in note for note in read_predictions(path).notes)
