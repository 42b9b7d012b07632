"""Python literals as text: the same values by both ways, nothing run, and messages for the rest."""

import ast
import json
import math
import sys
import tracemalloc
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diaghoi.exceptions import LONGEST_MESSAGE, InputError
from diaghoi.formats.containers import literal_json, literal_parser, literals
from diaghoi.formats.containers.literal_parser import Parser
from diaghoi.formats.containers.literals import load_literal

NAN = math.nan


def load(text):
    return load_literal(text, "file.json")


def carefully(text):
    """Read a text by the parser alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(literals, "whole_as_json", lambda text, file: None)
        patch.setattr(literal_parser, "piece_as_json", lambda piece: None)
        patch.setattr(literal_parser, "flat_value", lambda flat: None)
        return load(text)


def refused(text, read=load):
    with pytest.raises(InputError) as error:
        read(text)
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
    assert same(carefully(repr(value)), plain(value))


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
        assert same(carefully(repr(value)), item(value))


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
        refused(text, carefully)
        return
    for read in (load, carefully):
        try:
            value = read(text)
        except InputError:
            continue
        assert same(value, plain(expected)), text


PRINTED = {
    "[np.float32(0.1), np.float64(-1e-05), np.int64(3)]": [0.1, -1e-05, 3],
    "[np.float16(inf), np.float32(-inf), np.float64(nan)]": [math.inf, -math.inf, NAN],
    "[np.uint8(1), np.longdouble('0.5'), np.str_('a'), np.bool_(True)]": [1, 0.5, "a", True],
    "[np.nan, np.inf, -np.inf, np.True_, np.False_]": [NAN, math.inf, -math.inf, True, False],
    "{np.int64(3): 1, 4: True}": {3: 1, 4: True},
    "[array([1., 2.5], dtype=float32), np.array(3)]": [[1.0, 2.5], 3],
    "{'b': array([[1, 2],\n       [3, 4]])}": {"b": [[1, 2], [3, 4]]},
    "[array([], dtype=float64), array([], shape=(0, 4), dtype=float32)]": [[], []],
    "array([ 1.e-05, -2.e+03,     nan,      inf])": [1e-05, -2000.0, NAN, math.inf],
    "array(['a', 'b'], dtype='<U1')": ["a", "b"],
    "[tensor(0.5), tensor([1, 2], device='cuda:0')]": [0.5, [1, 2]],
    "tensor([[0.1000, 0.2000]], dtype=torch.float64, grad_fn=<SigmoidBackward0>)": [[0.1, 0.2]],
    "tensor([0.5], requires_grad=True)": [0.5],
    "tensor([], size=(0, 4))": [],
    "OrderedDict([('a', 1), ('b', [2])])": {"a": 1, "b": [2]},
    "OrderedDict()": {},
    "OrderedDict({'a': 1})": {"a": 1},
    "defaultdict(<class 'list'>, {'a': [1]})": {"a": [1]},
    "defaultdict(<function <lambda> at 0x7f0>, {1: 2})": {1: 2},
    "defaultdict(<function f.<locals>.<lambda> at 0x7f0>, {})": {},
    "defaultdict(None, {})": {},
    " [1,\n\t2]\r\n": [1, 2],
    "[1, 2, ]": [1, 2],
    "(1)": 1,
    "'it\\'s \\x41\\u00e9\\U0001f600\\101\\n'": "it's Aé😀A\n",
    "[-0.0, +1, 1., .5, 00]": [-0.0, 1, 1.0, 0.5, 0],
}


@pytest.mark.parametrize("text", PRINTED)
def test_what_numpy_pytorch_and_collections_print(text):
    assert same(load(text), PRINTED[text])
    assert same(carefully(text), PRINTED[text])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 2), (0,), (0, 4), ()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_arrays_that_numpy_prints(shape, dtype):
    value = (np.random.default_rng(0).random(shape) * 9).astype(dtype)
    found = load(repr({"a": value}))["a"]
    assert np.allclose(np.array(found).reshape(shape), value, atol=1e-6)


def test_dicts_that_python_prints():
    value = defaultdict(list, {"a": [OrderedDict(b=1)]})
    assert load(repr(value)) == {"a": [{"b": 1}]}


@pytest.mark.parametrize("name", AWKWARD)
def test_strings_are_not_changed(name):
    record = {"filename": name, "score": np.float32(0.5), name: [name, True, None, 0.25, name]}
    expected = {**record, "score": 0.5}
    for text in (repr(record), repr([record] * 2000)):
        value = load(text)
        assert same(value if isinstance(value, dict) else value[-1], expected)


def test_a_file_of_a_code_base(shared):
    file = shared / "conformance" / "code_bases" / "gen_vlkt_results_numpy2.json"
    text = json.loads(file.read_text())
    expected = ast.literal_eval(text.replace("np.float64", ""))
    assert same(load(text), expected)
    assert same(carefully(text), expected)


CASES = {
    "__import__('os').system('x')": "'__import__' is not a plain value; save plain lists",
    "[open('x')]": "character 2 of the text of a Python object, at \"open('x')]\": 'open' is not",
    "[os.sep]": "the name 'os.sep' is not a value",
    "[array([0.1, 0.2, ..., 0.9])]": "values that NumPy left out when it printed a long array",
    "array([...])": "save array.tolist() instead",
    "{1, 2}": "a set instead of a dict or list; save lists",
    "set()": "a set; save lists",
    "[b'a']": "bytes or a string with a prefix; save plain strings",
    "{1.5: 2}": "the key before it is 1.5; use strings or small integers as keys",
    "{(1, 2): 2}": "the key before it is [1, 2]",
    f"{{{2**61}: 2}}": "small integers as keys",
    "OrderedDict([(1.5, 1)])": "the key before it is 1.5",
    "OrderedDict([1])": "is not a list of pairs",
    "defaultdict(list, {})": "not the factory of a defaultdict",
    "defaultdict(None, [])": "is not a dict",
    "np.float32(np.float32(1))": "not the value of np.float32",
    "np.float32('a')": "not the value of np.float32",
    "np.longdouble('a')": "not a number",
    "np.int64(None)": "not the value of np.int64",
    "[np.float32()]": "not the value of np.float32",
    "[1np.int64(2)]": "a value is missing",
    "[np.int64(1)2]": "',' or ']' is missing",
    "[np.float32(1, 2)]": "')' is missing",
    "array([1], order='C')": "not what is printed behind the values of an array",
    "array([], shape=(1000000000, 0), dtype=float32)": "an empty array of shape (1000000000, 0)",
    "array('a')": "not a list",
    "[1 2]": "',' or ']' is missing",
    "{'a' 1}": "':' is missing",
    "{'a': 1 'b'}": "',' or '}' is missing",
    "[007]": "an integer must not start with 0",
    "[1_000]": "a value is missing",
    "[1+2j]": "',' or ']' is missing",
    "[1] [2]": "more text follows after the value; write one object",
    "['a' 'b']": "',' or ']' is missing",
    "['a''b']": "a string right after another",
    "['a\nb', \"c\"]": "does not end in its line",
    "['\\N{DASH}']": "the escape",
    "['\\U00110000']": "the escape",
    "['\\d']": "the escape '\\\\d' in a string",
    "[1, 2": "is cut off: it ends after 5 characters with '[1, 2'; copy or write it again",
    "[1, 'HICO_te": "is cut off",
    '[1, "HICO_te': "is cut off",
    "{'a': np.float32(1": "is cut off",
    "": "is empty",
    " \n": "is empty",
    "[NaN]": "the name 'NaN'",
    "[true]": "the name 'true'",
    "[\x01]": "a value is missing",
    "[,]": "a value is missing",
}


@pytest.mark.parametrize("text", CASES)
def test_messages_say_what_where_and_what_to_do(text):
    for read in (load, carefully):
        assert CASES[text] in refused(text, read)


@pytest.mark.slow
def test_words_of_other_languages_in_large_texts_are_refused():
    for word in ("true", "null", "NaN", "Infinity", "\x01 1)", "np.float(1)", "(1"):
        refused(f"[{'1, ' * 100_000}{word}]")


def test_text_is_cut_into_pieces_anywhere():
    names = ["a, b'.jpg" if n % 97 == 5 else f"a, {n}.jpg" for n in range(40_000)]
    for value in (names, names[:90] * 400, [[name, 0.5] for name in names if "'" not in name]):
        assert load(repr(value)) == value


def test_truncated_files_are_recognised_at_every_place():
    text = repr([{"filename": "a, b.jpg", "bbox": [0.5, 12.25], "score": np.float32(0.5)}])
    for stop in range(len(text)):
        message = refused(text[:stop])
        assert "cut off" in message or ("is missing" in message) or stop == 0


LONG_STRING = "'" + "x" * (1 << 20) + "'"
LARGE = 300_000
HOSTILE = {
    "lists in lists": ("[", 1),
    "tuples in tuples": ("(", 1),
    "dicts in dicts": ("{", 1),
    "dicts in dicts by keys": ("{'a':", 1),
    "lists of dicts": ("[{1:", 1),
    "closed": ("]", 1),
    "calls in calls": ("array(", 1),
    "scalars in scalars": ("np.float32(", 1),
    "names": ("np.nan", 1),
    "a name": ("x", 1),
    "functions": ("f(1), ", 1),
    "quotes": ("'", 1),
    "double quotes": ('"', 1),
    "backslashes": ("\\", 1),
    "a string of backslashes": ("\\\\", "'"),
    "digits": ("9", 1),
    "digits in a list": ("9", "["),
    "decimals": ("9", "[0."),
    "exponents": ("9", "[1e"),
    "zeros": ("0", "[1"),
    "signs": ("-", "["),
    "dots": ("...", "["),
    "empty lists": ("[], ", "["),
    "empty tuples": ("(), ", "["),
    "empty dicts": ("{}, ", "["),
    "small dicts": ("{'a': 0}, ", "["),
    "spaces": (" ", 1),
    "unclosed tuples": ("(1, ", 1),
    "unclosed wrappers": ("np.float32(1, ", "["),
    "arguments": ("dtype=int, ", "array([1], "),
    "zero bytes": ("\0", 1),
    "dicts with long names": ("{" + LONG_STRING[:9000], 1),
}


def hostile(name, length):
    part, start = HOSTILE[name]
    text = ("" if start == 1 else start) + part * (length // len(part))
    # With its end, it is not recognised at once.
    return text + {"[": "]", "{": "}"}.get(text[0], "")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "arguments" else pytest.mark.slow) for name in HOSTILE],
)
def test_hostile_text_is_refused_in_little_memory(name, monkeypatch):
    monkeypatch.setattr(literal_json, "_FEW", 1000)
    text = hostile(name, LARGE)
    tracemalloc.start()
    try:
        refused(text)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_deep_text_is_refused_where_it_is_too_deep():
    for opening, close in ("[]", "()"):
        tuples = "," if opening == "(" else ""
        text = opening * 100 + (tuples + close) * 99 + close if tuples else "[" * 100 + "]" * 100
        load("[" * 100 + "]" * 100)
        for read in (load, carefully):
            assert "nested more than 100 levels deep" in refused(opening + text + close, read)


@pytest.mark.parametrize("digits", [401, 450, 5000, 100_000])
def test_long_numbers_are_refused_also_without_a_limit_in_python(digits):
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert "a number of more than 400 digits" in refused(f"[1, {'9' * digits}]")
    finally:
        sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("digits", [401, 5000])
def test_long_numbers_are_refused_within_the_limit_of_python(digits, monkeypatch):
    text = repr(["a", 1.5] * 100).replace("1.5", "9" * digits, 1)
    expected = refused(text, carefully)
    assert "character 7 of the text" in expected
    assert "a number of more than 400 digits" in expected
    assert refused(text) == expected
    # In the first of several pieces, too.
    monkeypatch.setattr(literal_json, "_PIECE", digits + 50)
    assert refused(text) == expected


def test_depth_at_the_start_of_a_large_text_is_refused():
    for read in (load, carefully):
        text = "[" * 100_000 + "1, " * 100_000 + "1" + "]" * 100_000
        assert "nested more than 100 levels deep" in refused(text, read)


def test_two_surrogates_stay_two_characters():
    assert load(repr(["é, 'x", "a"])) == ["é, 'x", "a"]
    assert load("['\ud83d\ude00, b', 'c']") == ["\ud83d\ude00, b", "c"]


def test_strings_have_a_longest_length():
    assert load(repr(["x" * 900_000, 1])) == ["x" * 900_000, 1]
    assert "a string of more than 1,048,576 characters" in refused(repr(["x" * 2_000_000]))


def test_values_that_are_parsed_one_by_one_are_limited(monkeypatch):
    monkeypatch.setattr(literal_parser, "_MOST_VALUES", 1000)
    assert len(load(repr([(1, 2)] * 900))) == 900
    assert len(load(repr([("a", (1, 2))] * 300))) == 300
    assert "more than 1,000 values that are damaged or not printed plainly" in refused(
        repr([("a", (1, 2))] * 400)
    )
    assert "more than 1,000" in refused("['" + "\\n" * 1200 + "', 1]")
    assert len(load(repr([{"a": [1, 2.5]}] * 4000))) == 4000


DAMAGE = (
    *(("}, {", "} {"), ("{}]}}", "{}}}"), ("'score': ", "score: "), ("': [", "' ["), (", '", " '")),
    *(("0.5", "0.5.5"), ("0.5", "x"), ("12.25", "..."), ("12.25", "01")),
    *((", 12.25]", "]]"), ("]", "}"), ("{", "["), ("'f'", "''f'"), ("}]", "}] 7"), (":", ",")),
)


@pytest.mark.parametrize(("old", "new"), DAMAGE)
def test_damage_is_found_where_the_parser_finds_it(old, new, monkeypatch):
    image = {"a, b": [{"bbox": [0.5, 12.25], "score": 1}], "c": {"d": {"e": [[], {}]}}, "f": "g, h"}
    text = repr({"preds": [image] * 30, "gts": []})
    places = [n for n in range(len(text)) if text.startswith(old, n)]
    assert len(places) >= 29
    monkeypatch.setattr(literal_json, "_PIECE", 130)
    monkeypatch.setattr(literal_parser, "_EXCERPT", 20)
    values = []
    monkeypatch.setattr(
        Parser, "count", lambda self, count=Parser.count: values.append(count(self))
    )
    for place in (*places[:8], *places[-8:]):
        damaged = text[:place] + new + text[place + len(old) :]
        values.clear()
        found = refused(damaged)
        # Only the piece with the damage is parsed.
        assert len(values) < 60
        expected = refused(damaged, carefully)
        assert found.split(": ", 2)[1] == expected.split(": ", 2)[1]


def test_text_that_starts_with_damage_is_not_rewritten(monkeypatch):
    pieces = []
    rewrite = literal_json.piece_as_json
    monkeypatch.setattr(
        literal_json, "piece_as_json", lambda piece: pieces.append(piece) or rewrite(piece)
    )
    for part in ("foo, ", "'a' 1, ", "1.5.5, "):
        pieces.clear()
        refused(f"[{part * 400_000}]")
        assert len(pieces) == 1


FLAT = (
    *("()", "( )", "(1,)", "(1 , 2 )", "(1., 2.,)", "(-1e5, +2)", "(1,,)", "(1, ,)", "(,1)", "(,)"),
    *("[1,]", "[1, ,]", "[+1, 2]", "[01]", "[1 2]", "[-0, -0.0]", "[1., 2]", "[1., 2., 3]", "[.5]"),
    *("[true]", "[null, 1]", "[NaN]", "[1, Infinity]", "['true']", "[True, nan, -inf]", "[nap]"),
    *("['a' 'b']", "['a''b']", "['a\tb']", "['é', 'ł']", "{'a': 1,}", "{1: 2}", "{'a', 'b'}"),
    *(
        "{'a': 01}",
        "{'a': None}",
        "{'a': 1, 'a': 2}",
        "{1.5: 2}",
        "{1.5}",
        "{00.0}",
        "{,}",
        "{'a' 1}",
        "[1e999]",
    ),
)


@pytest.mark.parametrize("text", FLAT)
def test_lists_without_others_are_read_alike_both_ways(text):
    # The backslash keeps the whole text from being read at once.
    for whole in (text, f"['\\n', {text}]", f"['\\n', [{text}, {text}]]"):
        both = []
        for read in (load, carefully):
            try:
                both.append(read(whole))
            except InputError as error:
                both.append(str(error))
        assert same(*both)


@pytest.mark.slow
def test_text_that_is_dense_with_odd_values_is_given_up_early():
    for part in ("(), ", "'a\\n', ", "[(1)], ", "[[], ()], "):
        text = f"[{part * (8_000_000 // len(part))}]"
        place = refused(text).removeprefix("file.json: character ").split(" ")[0]
        assert int(place.replace(",", "")) < len(text) // 2


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_very_large_hostile_text_is_refused(name):
    refused(hostile(name, 20_000_000))
