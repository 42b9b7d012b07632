"""Archives, JSON, TOML and CSV files that announce too much, nest too deep or name odd things."""

import contextlib
import io
import json
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.semantic import identity

from diaghoi.comparison.study import read_study
from diaghoi.data.groups import read_groups
from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import LONGEST_MESSAGE, InputError, printable
from diaghoi.formats import read, zipped
from diaghoi.formats.description import vocabulary
from diaghoi.formats.output import harmless, original
from diaghoi.formats.zipped import members
from diaghoi.language.lexicon import load_lexicon
from diaghoi.semantic.tables.ratings import read_ratings, write_ratings
from diaghoi.semantic.tables.similarity import read_similarity, write_similarity


def refused(function, *given):
    """Return what is said; reading must take next to no memory."""
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as error:
            function(*given)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    message = str(error.value)
    assert message.isprintable()
    assert len(message) <= LONGEST_MESSAGE + 3
    return message


def header(shape, kind="<f8"):
    content = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(content)) + content.encode()


def archive(path, entries, **options):
    with zipfile.ZipFile(path, "w", **options) as written:
        for name, content in entries.items():
            written.writestr(f"{name}.npy", content)
    return path


ARRAYS = {
    "more than there is": header("(1000000000000,)") + b"x" * 80,
    "many dimensions": header("(" + "1000000, " * 30 + ")") + b"x" * 80,
    "nothing, many times": header("(1000000000000, 0)"),
    "texts of no letters": header("(1000000000000,)", "<U0"),
    "texts of no bytes": header("(1000000000000,)", "|S0"),
    "letters that are none": header("(1,)", "<U1") + b"\xff" * 4,
    "a negative length": header("(-5,)") + b"x" * 80,
    "a type that is a program": header("(1,)", "__import__('os').system('x')") + b"x" * 8,
    "a deep header": b"\x93NUMPY\x01\x00" + struct.pack("<H", 2000) + b"(" * 2000,
    "objects that are a program": header("(1,)", "|O") + b"cposix\nsystem\n(S'true'\ntR.",
    "objects in objects": header("(1,)", "|O") + b"\x80\x04})" + b"\x85" * 200_000 + b"K\x01s.",
}


@pytest.mark.parametrize("content", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("packed", [False, True])
def test_arrays_hold_what_their_header_says(content, packed, tmp_path):
    kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    path = archive(tmp_path / "x.npz", {"boxes": content}, compression=kind)
    assert f"{path}: boxes.npy: " in refused(members(path)["boxes"].read)


def test_bombs_are_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(zipped, "UNPACKED", 1 << 20)
    content = header("(8388608,)") + bytes(1 << 26)
    path = archive(tmp_path / "x.npz", {"boxes": content}, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 17
    assert "unpacks to" in refused(members(path)["boxes"].read)


def test_other_arrays_of_an_archive_are_not_read(tmp_path):
    dense = {
        "filename": np.array(["a.jpg"]),
        "boxes": np.zeros((1, 1, 4)),
        "labels": np.zeros((1, 1), dtype=int),
        "verb_scores": np.zeros((1, 1, 117)),
        "sub_ids": np.zeros((1, 1), dtype=int),
        "obj_ids": np.zeros((1, 1), dtype=int),
    }
    stream = io.BytesIO()
    np.savez(stream, **dense)
    path = tmp_path / "x.npz"
    path.write_bytes(stream.getvalue())
    with zipfile.ZipFile(path, "a") as added:
        added.writestr("more.npy", header("(1000000000000,)"))
        added.writestr("../../outside.npy", header("(1,)") + bytes(8))
    assert len(read(path)[1]) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["x.npz"]


JSON = {
    "lists in lists": "[" * 100_000,
    "lists in lists, closed": "[" * 50_000 + "]" * 50_000,
    "dicts in dicts": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "a long number": "[" + "9" * 10_000 + "]",
    "empty lists": "[" + "[]," * 1_100_000 + "[]]",
    "not text": "\udfff",
    "cut off": '[{"filename": "a.jpg", ',
    "lines in lines": '{"a": 1}\n' + "[" * 100_000,
}


@pytest.mark.parametrize("content", JSON.values(), ids=JSON)
def test_json_that_cannot_be_held(content, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")
    with pytest.raises(InputError):
        read_groups(path, hico_det())


PREDICTION = {
    "predictions": [{"bbox": [0, 0, 9, 9], "category_id": 0}],
    "hoi_prediction": [{"subject_id": 0, "object_id": 0, "category_id": 0, "score": 0.5}],
}
ODD_NAMES = ("\ud800", "\x1b[31m", "a\nb", "\0", "../../x", "<script>", "=1+1", "x" * 10_000)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_messages_show_odd_names_in_one_line_that_can_be_printed(name, tmp_path):
    path = tmp_path / "x.json"
    changed = {**PREDICTION, "filename": name, "hoi_prediction": [{name: 1}]}
    path.write_text(json.dumps([changed, changed | {"filename": "b.jpg"}]))
    message = refused(read, path)
    message.encode("utf-8")
    assert len(message) < 1000


def test_one_long_name_does_not_fill_the_memory(tmp_path):
    path = tmp_path / "x.json"
    images = [{**PREDICTION, "filename": f"{n}.jpg"} for n in range(100)]
    path.write_text(json.dumps([*images, {**PREDICTION, "filename": "x" * 300_000}]))
    assert "far more than all others" in refused(read, path)
    load_lexicon()
    lines = [
        {"image": name, "human_box": [0, 0, 9, 9], "object_box": [0, 0, 9, 9], "text": "ride bike"}
        for name in (*map(str, range(100)), "x" * 300_000)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert "far more than all others" in refused(read, path)


def test_what_cannot_be_printed_is_shown_by_its_number():
    assert printable("käse ™ 日本 'x'") == "käse ™ 日本 'x'"
    assert printable("a\x1b[31m\nb\ud800") == "a\\x1b[31m\\nb\\ud800"


DESCRIPTION = 'name = "d"\nobjects = ["person", "cat"]\nverbs = ["hug"]\n'
TOML = {
    "lists in lists": "name = " + "[" * 50_000,
    "a key has too many parts": ".".join("a" * 30_000) + " = 1",
    "tables in tables": "[" + "a." * 50_000 + "a]",
    "a long number": "name = " + "9" * 10_000,
    "no number": DESCRIPTION + "protocol = {iou = nan}",
    "without end": DESCRIPTION + "protocol = {iou = inf}",
    "too large": DESCRIPTION + f"numbers = {{objects = {10**30}}}",
    "so many instances": DESCRIPTION + f'rare = {{counts = {{"hug cat" = {10**30}}}}}',
    "twice": DESCRIPTION + 'name = "e"',
    "a command for the terminal": DESCRIPTION.replace('"d"', '"\\u001b[31m"'),
    "a line end in an object": DESCRIPTION.replace('"cat"', '"c\\nat"'),
    "a surrogate": DESCRIPTION.replace('"cat"', '"\\ud800"'),
}


@pytest.mark.parametrize("content", TOML.values(), ids=TOML)
def test_descriptions_that_cannot_be_used(content, tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(content)
    assert str(path) in refused(vocabulary, str(path))


@pytest.mark.parametrize("value", ["\\u001b[31m", "a\\nb", "\\u0000"])
@pytest.mark.parametrize("key", ["label", "backbone", "file"])
def test_labels_of_a_study_can_be_printed(key, value, tmp_path):
    rows = {"label": "a", "backbone": "b", "file": "x.npz"} | {key: value}
    path = tmp_path / "study.toml"
    path.write_text("[[model]]\n" + "".join(f'{k} = "{v}"\n' for k, v in rows.items()))
    assert f"{key}: " in refused(read_study, path)


FORMULAS = ("=1+1", "+1", "-1", "@sum", "=cmd|'_/c_calc'!a0", "＝1", "－1")


@pytest.mark.parametrize("text", [*FORMULAS, "\t=1", "\r=1", "\n=1"])
def test_formulas_get_an_apostrophe_and_lose_it(text):
    assert harmless(text) == f"'{text}"
    assert original(harmless(text)) == text


@pytest.mark.parametrize("text", ["ride", "'tis", "'", "", "a=b", "'quoted'"])
def test_other_cells_stay_as_they_are(text):
    assert harmless(text) == original(text) == text


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_tables_of_words_hold_no_formulas_and_come_back(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    write_similarity(path, identity(FORMULAS, name="=rater"))
    assert read_similarity(path).names == FORMULAS
    ratings = read_ratings(path)
    assert ratings.raters == ("=rater",)
    write_ratings(tmp_path / f"y{suffix}", ratings)
    assert read_ratings(tmp_path / f"y{suffix}").names == FORMULAS
    if suffix == ".csv":
        for written in (path, tmp_path / "y.csv"):
            for line in written.read_text().splitlines():
                assert not any(cell.startswith(FORMULAS) for cell in line.split(","))


def test_the_writers_of_csv_are_known():
    # Whoever adds one has to think of formulas: csv_text or harmless does it.
    root = Path(zipped.__file__).parents[1]
    found = {
        str(path.relative_to(root).as_posix())
        for path in root.rglob("*.py")
        if "csv.writer(" in (text := path.read_text(encoding="utf-8")) and "harmless" not in text
    }
    assert found <= {"report/benchmark_files.py"}


@pytest.mark.parametrize("key", ["filename", "file_name", "image_id", "img_id", "a" * 9])
def test_names_and_keys_that_are_numbers_beyond_all_digits(tmp_path, key):
    """Python refuses to print integers of more than 4,300 digits."""
    path, huge = tmp_path / "x.pkl", 10**5000
    lists = {"predictions": [], "hoi_prediction": [], "hoi_list": [], "annotations": []}
    for value in (
        [{key: huge, **lists}],
        [{huge: 1, "hoi_annotation": [], "annotations": []}],
        {huge: [[1, 0.5, *range(8)]]},
        {"preds": [None], "gt_paths": [{"file_name": huge}]},
    ):
        path.write_bytes(pickle.dumps(value))
        with contextlib.suppress(InputError):  # what is not needed need not be refused
            read(path)


@pytest.mark.parametrize("names", [["a.jpg"], [b"a.jpg"]])
def test_damaged_arrays_are_noticed(names, tmp_path):
    path = tmp_path / "x.npz"
    box = np.array([[1.0, 2, 3, 4]])
    np.savez(path, filename=np.array(names), boxes=box, other=box + 1)
    content = path.read_bytes()
    for number in box, box + 1:
        path.write_bytes(content.replace(number.tobytes(), (number + 8).tobytes()))
        with pytest.raises(InputError, match=r"(boxes|other).npy: not a .*Bad CRC-32"):
            [member.read() for member in members(path).values()]
        with pytest.raises(InputError, match=r"(boxes|other).npy: not a .*Bad CRC-32"):
            [member.column() for member in members(path).values()]
