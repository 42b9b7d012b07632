import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from support.torch_files import Call, Name, Pid, pickled, saved, storage, tensor, write_torch

from diaghoi.exceptions import InputError
from diaghoi.formats import read_predictions, recognise, zipped
from diaghoi.formats.content import load

NUMBERS = np.arange(24)
FLOATS = storage("FloatStorage", "0", 24)
REAL = {
    "DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "LongStorage": "<i8",
    "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1",
    "BoolStorage": "?",
}  # fmt: skip


def value_of(path):
    content = load(path)
    assert content.container == "torch"
    return content.value


def refused(path):
    with pytest.raises(InputError) as error:
        load(path)
    assert str(error.value).startswith(str(path))
    return str(error.value)


def one(path, built, data=bytes(96), **more):
    return write_torch(path, [built], {"0": data}, **more)


@pytest.mark.parametrize("kind", REAL)
def test_tensors_of_every_type(kind, tmp_path):
    of = storage(kind, "0", 24, device="cuda:1")
    for order, packed in (("little", False), ("big", True), (None, True)):
        real = np.dtype(REAL[kind]).newbyteorder(">" if order == "big" else "<")
        data = (NUMBERS % 2 if kind == "BoolStorage" else NUMBERS).astype(real).tobytes()
        path = one(tmp_path / "x.pt", tensor(of, (4, 6)), data, packed=packed, order=order)
        (found,) = value_of(path)
        assert found.dtype == np.dtype(REAL[kind])
        assert found.dtype.isnative
        np.testing.assert_array_equal(found, np.frombuffer(data, real).reshape(4, 6))


@pytest.mark.parametrize("order", ["little", "big"])
def test_bfloat16_becomes_float32(order, tmp_path):
    bits = [0x3F80, 0xC040, 0x8000, 0x7F80, 0x7FC0]
    data = np.array(bits, "<u2" if order == "little" else ">u2").tobytes()
    path = one(
        tmp_path / "x.pt", tensor(storage("BFloat16Storage", "0", 5), (5,)), data, order=order
    )
    (found,) = value_of(path)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [1, -3, -0.0, np.inf, np.nan])
    assert np.signbit(found[2])


VIEWS = {
    "whole": ((24,), (1,), 0, NUMBERS),
    "rows": ((2, 6), (6, 1), 6, NUMBERS.reshape(4, 6)[1:3]),
    "columns": ((4, 2), (6, 1), 3, NUMBERS.reshape(4, 6)[:, 3:5]),
    "transposed": ((6, 4), (1, 6), 0, NUMBERS.reshape(4, 6).T),
    "one value": ((), (), 23, NUMBERS[23]),
    "nothing": ((0, 4), (4, 1), 99, np.zeros((0, 4))),
    "expanded": ((3, 2), (0, 1), 5, [[5, 6]] * 3),
    "overlapping": ((3, 3), (1, 1), 0, [[0, 1, 2], [1, 2, 3], [2, 3, 4]]),
    "a stride that is not taken": ((1, 2), (1 << 62, 1), 0, [[0, 1]]),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_of_one_storage(view, tmp_path):
    shape, strides, offset, expected = view
    of = storage("IntStorage", "0", 24)
    data = NUMBERS.astype("<i4").tobytes()
    path = one(tmp_path / "x.pt", tensor(of, shape, strides, offset), data)
    (found,) = value_of(path)
    assert found.shape == np.shape(expected)
    np.testing.assert_array_equal(found, expected)


def test_what_surrounds_tensors(tmp_path):
    value = {
        "array": tensor(FLOATS, (2,)),
        "size": Call(Name("torch", "Size"), (2, 3)),
        "plain": [("a", 1.5), None, np.arange(3)],
    }
    path = write_torch(tmp_path / "x.pt", value, {"0": np.ones(24, "<f4").tobytes()})
    found = value_of(path)
    np.testing.assert_array_equal(found["array"], [1, 1])
    assert found["size"] == (2, 3)
    assert found["plain"][:2] == [("a", 1.5), None]


def test_a_shared_storage_is_read_once(tmp_path):
    data = np.zeros(1 << 20, np.uint8)
    of = storage("ByteStorage", "0", len(data))
    rows = [tensor(of, (1 << 10,), (1,), n << 10) for n in range(1 << 10)]
    path = write_torch(tmp_path / "x.pt", rows, {"0": data.tobytes()})
    tracemalloc.start()
    found = value_of(path)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
    assert len(found) == 1 << 10
    assert np.shares_memory(found[0].base, found[1].base)


def test_weights_are_no_predictions(tmp_path):
    value = pickled(Call(Name("collections", "OrderedDict")))[:-1]
    value += pickled("weight")[2:-1] + b"K\x01s" + pickled({"_metadata": {}})[2:-1] + b"b."
    path = write_torch(tmp_path / "x.pt", value, {})
    with pytest.raises(InputError, match="a dict in torch with the keys weight"):
        recognise(path)


BUILD = Name("torch._utils", "_rebuild_tensor_v2")
HOSTILE = {
    "a program": (Call(Name("posix", "system"), "true"), "asks for 'posix.system'"),
    "a pickle in a pickle": (
        Call(Name("torch.storage", "_load_from_bytes"), b"x"), "torch.storage._load_from_bytes"
    ),
    "a module": (Name("torch.nn.modules.linear", "Linear"), "save dense tensors"),
    "a script": (Name("__torch__", "Model"), "save dense tensors"),
    "sparse": (Name("torch._utils", "_rebuild_sparse_tensor"), "save dense tensors"),
    "an offset beyond": (tensor(FLOATS, (1,), (1,), 24), "reaches beyond its storage"),
    "a stride beyond": (tensor(FLOATS, (2,), (24,)), "reaches beyond its storage"),
    "a negative offset": (tensor(FLOATS, (1,), (1,), -1), "no valid offset"),
    "a true offset": (tensor(FLOATS, (1,), (1,), True), "no valid offset"),
    "a negative stride": (tensor(FLOATS, (2,), (-1,), 5), "strides"),
    "too few strides": (tensor(FLOATS, (2, 2), (1,)), "strides"),
    "a huge shape": (tensor(FLOATS, (1 << 40,), (1,)), "more data than a file"),
    "a shape that overflows": (tensor(FLOATS, (1 << 32, 1 << 32), (1, 1)), "more data than a file"),
    "terabytes of one value": (tensor(FLOATS, (1 << 40,), (0,)), "more data than a file"),
    "long and empty": (tensor(FLOATS, (1 << 40, 0), (1, 1)), "holds nothing"),
    "a negative shape": (tensor(FLOATS, (-1,), (1,)), "whole numbers"),
    "a stride of 64 bits": (tensor(FLOATS, (2,), (1 << 63,)), "reaches beyond its storage"),
    "tuples in hooks": (Call(BUILD, FLOATS, 0, (1,), (1,), False, ((1,),)), "PyTorch's layout"),
    "no storage": (Call(BUILD, [1], 0, (1,), (1,), False, {}), "has no storage"),
    "too few arguments": (Call(BUILD, FLOATS), "not a readable pickle"),
    "a negated view": (Call(BUILD, FLOATS, 0, (1,), (1,), False, {}, {"neg": True}), "layout"),
    "no type": (tensor(storage("storage.UntypedStorage", "0", 96), (1,)), "save dense tensors"),
    "complex numbers": (
        tensor(storage("ComplexFloatStorage", "0", 1), (1,)), "save dense tensors"
    ),
    "a device": (Call(Name("torch", "device"), "cuda", 0), "save dense tensors"),
    "a parameter": (Call(Name("torch._utils", "_rebuild_parameter"), 1), "save dense tensors"),
    "another callable": (
        Pid(("storage", Name("numpy", "ndarray"), "0", "cpu", 1)), "PyTorch's way"
    ),
    "a missing storage": (tensor(storage("FloatStorage", "7", 1), (1,)), "'7' is missing"),
    "another file": (tensor(storage("FloatStorage", "../../x", 1), (1,)), "is missing"),
    "a short storage": (tensor(storage("FloatStorage", "0", 25), (1,)), "25 are announced"),
    "a storage of -1": (tensor(storage("FloatStorage", "0", -1), (1,)), "announced"),
    "an odd persistent id": (Pid(("module", 1)), "PyTorch's way"),
    "a type that is no storage": (Pid(("storage", "Float", "0", "cpu", 1)), "PyTorch's way"),
    "a size of tuples": (Call(Name("torch", "Size"), ((1,),)), "whole numbers"),
}  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_pickles(value, expected, tmp_path):
    assert expected in refused(one(tmp_path / "x.pt", value))


def test_state_cannot_be_set(tmp_path):
    for value in (FLOATS, Name("torch", "FloatStorage"), tensor(FLOATS, (2,))):
        data = pickled(value)[:-1] + b"}X\x04\x00\x00\x00dataNsb."
        assert "not a readable pickle" in refused(
            write_torch(tmp_path / "x.pt", data, {"0": bytes(96)})
        )


def test_many_expanded_tensors_are_limited(tmp_path):
    wide = [tensor(FLOATS, (1 << 10, 24), (0, 1)) for _ in range(1 << 10)]
    text = refused(write_torch(tmp_path / "x.pt", wide, {"0": bytes(96)}))
    assert "more data than a file" in text


def test_bombs_are_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(zipped, "UNPACKED", 1 << 20)
    of = storage("ByteStorage", "0", 1 << 26)
    path = one(tmp_path / "x.pt", tensor(of, (1,)), bytes(1 << 26), packed=True)
    assert "unpacks to" in refused(path)


def test_entries_must_not_share_bytes(tmp_path):
    path = write_torch(tmp_path / "x.pt", [], {str(n): bytes(1 << 16) for n in range(2)})
    with zipfile.ZipFile(path, "a") as opened:
        shared = opened.getinfo("x/data/0")
        for n in range(2, 20):
            entry = zipfile.ZipInfo(f"x/data/{n}")
            entry.header_offset, entry.CRC = shared.header_offset, shared.CRC
            entry.file_size = entry.compress_size = shared.file_size
            opened.filelist.append(entry)
            opened.NameToInfo[entry.filename] = entry
        opened._didModify = True
    assert "larger than the file" in refused(path)


def test_damaged_archives(tmp_path):
    path = one(tmp_path / "x.pt", tensor(FLOATS, (24,)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert "truncated or damaged zip archive" in refused(path)
    place = whole.index(b"PK\x03\x04", whole.index(b"x/data/0") - 40)
    path.write_bytes(whole[:place] + b"none" + whole[place + 4 :])
    assert "Bad magic number" in refused(path)
    assert "byte order" in refused(one(tmp_path / "x.pt", 1, order="middle"))
    with zipfile.ZipFile(path, "a") as opened:
        opened.writestr("y/data.pkl", b"")
    assert "2 files data.pkl" in refused(path)


def test_plain_pickles_have_no_tensors(tmp_path):
    path = tmp_path / "x.pkl"
    path.write_bytes(pickled([tensor(FLOATS, (1,))]))
    assert "tensor.numpy()" in refused(path)
    path.write_bytes(pickled(Pid("0")))
    assert "persistent id" in refused(path)
    path.write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2) + pickle.dumps(1001))
    assert "and save it with a current torch.save" in refused(path)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_predictions_in_tensors(dtype, tmp_path):
    images = [
        {
            "filename": "HICO_test2015_00000001.jpg",
            "boxes": np.array([[207, 32, 426, 299], [58, 97, 571, 404]], dtype),
            "labels": np.array([0, 3]),
            "sub_ids": np.array([0]),
            "obj_ids": np.array([1]),
            "verb_scores": np.linspace(0, 1, 117, dtype=dtype)[None],
        }
    ]
    with (tmp_path / "x.pkl").open("wb") as stream:
        pickle.dump(images, stream)
    path = saved(tmp_path / "x.pt", images)
    assert recognise(path).container == "torch"
    found, expected = read_predictions(path), read_predictions(tmp_path / "x.pkl")
    np.testing.assert_array_equal(found.box_xyxy, expected.box_xyxy)
    np.testing.assert_array_equal(found.triplet_score, expected.triplet_score)
    np.testing.assert_array_equal(found.triplet_verb, expected.triplet_verb)


def test_lists_of_triplets_in_tensors(tmp_path):
    image = {
        "filename": "a.jpg",
        "predictions": [
            {"bbox": np.array([0.0, 0, 9, 9]), "category_id": np.array(0)},
            {"bbox": np.array([5.0, 0, 9, 9]), "category_id": np.array(3)},
        ],
        "hoi_prediction": [
            {"subject_id": 0, "object_id": 1, "category_id": np.array(76), "score": np.array(0.5)}
        ],
    }
    scenes = read_predictions(saved(tmp_path / "x.pt", [image]))
    assert (scenes.triplet_verb.tolist(), scenes.triplet_score.tolist()) == ([76], [0.5])
    assert scenes.box_label.tolist() == [0, 3]


def test_sizes_are_short(tmp_path):
    assert "a size is not" in refused(
        one(tmp_path / "x.pt", Call(Name("torch", "Size"), (1,) * 100))
    )


def test_damaged_numbers_are_noticed(tmp_path):
    path = one(tmp_path / "x.pt", tensor(storage("FloatStorage", "0", 24), (4, 6)), b"\x05" * 96)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\x05" * 96, b"\x05" * 95 + b"\x04"))
    assert "Bad CRC-32 for file 'x/data/0'" in refused(path)
