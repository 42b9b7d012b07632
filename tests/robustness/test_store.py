"""Files anywhere, and finished work that is found by content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats.locations import content_hash, exists, fetched
from diaghoi.robustness import sweep as module
from diaghoi.robustness.sweep import Store


def test_the_content_decides_and_of_a_folder_the_names_in_it(tmp_path: Path) -> None:
    hashes = []
    for number, (name, content) in enumerate((("x", b"1"), ("y", b"1"), ("x", b"2"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_bytes(content)
        hashes.append((content_hash(str(folder / name)), content_hash(str(folder))))
    files, folders = zip(*hashes, strict=True)
    assert files[0] == files[1] != files[2]
    assert len(set(folders)) == 3


def test_work_is_kept_and_found_again_by_the_same_version(tmp_path: Path, monkeypatch) -> None:
    store = Store(tmp_path / "deep" / "cache")
    key = store.key("a", 1, None)
    assert store.get(key) is None
    store.put(key, {"x": [0.1, None, "é\udcff"]})
    assert Store(tmp_path / "deep" / "cache").get(key) == {"x": [0.1, None, "é\udcff"]}
    monkeypatch.setattr(module, "__version__", "999")
    assert store.key("a", 1, None) != key


DAMAGED = ("", "[]", "{}", "3", "null", '{"a"', "[" * 100_000, "{" * 100_000)


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:4])
def test_damaged_work_and_damaged_hashes_are_made_anew(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"1")
    store = Store(tmp_path / "c")
    digest = store.hash_of(file)
    store.put("k", {"a": 1})
    for path in (tmp_path / "c" / "results").iterdir():
        path.write_text(text)
    assert store.get("k") is None
    assert Store(tmp_path / "c").hash_of(str(file)) == digest


def test_work_that_is_changed_or_renamed_is_made_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for key, number in (("a", 1), ("b", 2)):
        store.put(key, {"number": number})
    first, second = (tmp_path / "results" / f"{key}.json" for key in "ab")
    second.write_bytes(first.read_bytes())
    first.write_text(first.read_text().replace('"number": 1', '"number": 3'))
    assert store.get("a") is None
    assert store.get("b") is None


def test_without_a_folder_nothing_is_kept_or_read(tmp_path: Path) -> None:
    store = Store(None)
    store.put("k", {})
    assert store.get("k") is None
    assert store.hash_of(str(tmp_path / "none")) == ""


def test_a_file_is_read_once_until_it_changes(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"1")
    first = Store(tmp_path / "c").hash_of(str(file))
    with monkeypatch.context() as patch:
        patch.setattr(module, "content_hash", lambda path: pytest.fail(f"{path} is read"))
        assert Store(tmp_path / "c").hash_of(str(file)) == first
    times = file.stat()
    file.write_bytes(b"2")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert Store(tmp_path / "c").hash_of(str(file)) == content_hash(str(file)) != first


def test_files_of_other_file_systems() -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    with fsspec.open("memory://diaghoi/a.txt", "wb") as stream:
        stream.write(b"abc")
    assert exists("memory://diaghoi/a.txt")
    assert not exists("memory://diaghoi/b.txt")
    with fetched("memory://diaghoi/a.txt") as copy:
        assert copy.read_bytes() == b"abc"
        assert copy.suffix == ".txt"
    assert not copy.exists()
    # Errors name the remote file.
    with (
        pytest.raises(InputError, match=r"^memory://diaghoi/a\.txt: is odd$"),
        fetched("memory://diaghoi/a.txt") as copy,
    ):
        raise InputError(f"{copy}: is odd")
    with (
        pytest.raises(InputError, match=r"memory://diaghoi/none: cannot be reached .*check the"),
        fetched("memory://diaghoi/none"),
    ):
        pass
    with pytest.raises(InputError, match=r"nosuch://a: cannot be reached \(.*nosuch"):
        exists("nosuch://a")


def test_without_fsspec_paths_are_plain(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    assert exists(str(tmp_path))
    with pytest.raises(InputError, match=r"s3://a/b: is a remote path, which needs fsspec: pip"):
        exists("s3://a/b")
