"""Symbolic links to themselves, pipes and devices in place of every file: a message, no hang."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.declared import commands

from diaghoi import InputError, read_annotations, read_predictions
from diaghoi.cli.commands import app
from diaghoi.formats.output import replacing

# Options that a command needs before it looks at its files.
NEEDED: dict[str, dict[str, object]] = {
    "report images": {"out": "new.html"},
    "compare images": {"out": "new.html"},
    "figures": {"study": "models.toml"},
    "figures cases": {
        "images": "pictures",
        "similarity": "gt.pkl,gt.pkl",
    },
    "choice ask": {"model": "http://127.0.0.1:9,x", "yes": True},
    "semantic ask": {"model": "http://127.0.0.1:9,x", "yes": True},
    "choice build": {"judge": "http://127.0.0.1:9,x", "images": "pictures", "yes": True},
    "similarity agreement again": {"ratings": "gt.pkl"},
    "similarity agreement json": {"ratings": "gt.pkl"},
    "similarity build": {"out": "new.csv", "verbs": "gt.pkl", "baseline": "path"},
    "similarity build store": {"out": "new.csv", "verbs": "gt.pkl", "rater": "http://x,x"},
}
OTHERS = {"out": "new", "target": "new.npz", "images": "pictures", "study": "study.toml"}
ENDINGS = {"json": ".json", "html": ".html", "figure": ".pdf", "table": ".csv", "target": ".npz"}


COMMANDS = dict(commands(app))
PLACES = [(name, each.name) for name, words in COMMANDS.items() for each in words if each.is_path]


def words_of(name: str, place: str, value: object) -> list[object]:
    """Return a command with one of its files replaced by something else."""
    words: list[object] = name.split()
    needed = NEEDED.get(f"{name} {place}", NEEDED.get(name, {}))
    for each in COMMANDS[name]:
        value_of = needed.get(each.name)
        if each.name == place:
            value_of = value
        elif value_of is None and each.required:
            value_of = OTHERS.get(each.name, "gt.pkl")
        if value_of is not None:
            words += [*each.words, *([] if value_of is True else [value_of])]
    return words


@pytest.fixture
def files(save, truth) -> None:
    save("gt.pkl", truth)
    Path("pictures").mkdir()
    study = 'annotations = "gt.pkl"\n[[model]]\nlabel = "a"\n'
    Path("models.toml").write_text(f'{study}file = "gt.pkl"\n')
    Path("study.toml").write_text(
        f'{study}clean = "gt.pkl"\nfiles = "{{corruption}}_{{severity}}"\n'
    )


@pytest.mark.parametrize(("name", "place"), PLACES, ids=[f"{n} {p}" for n, p in PLACES])
@pytest.mark.parametrize("kind", ["loop", "pipe"])
def test_every_file_of_every_command(run, files, name: str, place: str, kind: str) -> None:
    ending = next((end for key, end in ENDINGS.items() if place.endswith(key)), "")
    path = Path(f"special{ending}")
    path.symlink_to(path) if kind == "loop" else os.mkfifo(path)
    before = sorted(Path().rglob("*"))
    done = run(*words_of(name, place, path))
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1, done.err
    assert path.is_symlink() or path.is_fifo()
    assert sorted(Path().rglob("*")) == before
    assert str(path) in done.err


@pytest.mark.parametrize("kind", ["loop", "pipe"])
@pytest.mark.parametrize("key", ["file", "annotations", "pairs", "dataset"])
def test_files_of_a_study(run, files, key: str, kind: str) -> None:
    path = Path("special.toml" if key == "dataset" else "special")
    path.symlink_to(path) if kind == "loop" else os.mkfifo(path)
    given = {"annotations": "gt.pkl", "file": "gt.pkl"} | {key: path}
    model = "".join(f'{key} = "{given.pop(key)}"\n' for key in ("file", "pairs") if key in given)
    of_all = "".join(f'{key} = "{value}"\n' for key, value in given.items())
    Path("study.toml").write_text(f'{of_all}[[model]]\nlabel = "a"\n{model}')
    for words in (("compare", "study.toml"), ("figures", "study.toml", "--out", "figures")):
        done = run(*words)
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1, done.err
        assert "special" in done.err


@pytest.mark.parametrize("kind", ["loop", "pipe"])
@pytest.mark.parametrize(
    "words",
    [
        ("--annotations", "gt.pkl", "--also", "shortcuts=diaghoi.toml"),
        ("--annotations", "gt.pkl", "--read", "instances=diaghoi.toml"),
        (),
    ],
)
def test_files_that_keys_name_and_the_file_of_places(run, files, words, kind: str) -> None:
    path = Path("diaghoi.toml")
    path.symlink_to(path) if kind == "loop" else os.mkfifo(path)
    done = run("report", "gt.pkl", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("diaghoi: error: diaghoi.toml: ")
    assert done.err.endswith("; check the path\n")


def test_what_is_said(run, files) -> None:
    Path("loop").symlink_to("loop")
    Path("nothing").symlink_to("away/nowhere")
    os.mkfifo("pipe")
    for words, said in {
        ("gt.pkl", "--annotations", "pipe"): "pipe: Not a regular file but a pipe or a device; "
        "check the path",
        ("loop",): "loop: Too many levels of symbolic links; check the path",
        ("gt.pkl", "--json", "loop"): "loop: cannot be written: a symbolic link leads back to "
        "itself; remove it, or give another path",
        ("gt.pkl", "--out", "loop/in"): "loop/in: cannot be written: a symbolic link leads back "
        "to itself; remove it, or give another path",
        (
            "gt.pkl",
            "--json",
            "nothing",
        ): f"nothing: cannot be written: the folder {Path().absolute()}"
        "/away does not exist; create it first",
        ("gt.pkl", "--out", "nothing"): "nothing: cannot be the output folder: nothing is a "
        "symbolic link to nothing",
    }.items():
        done = run("report", *words)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"diaghoi: error: {said}\n"


def test_special_files_in_python(tmp_path: Path) -> None:
    loop, pipe = tmp_path / "loop", tmp_path / "pipe"
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    for read in (read_annotations, read_predictions):
        with pytest.raises(InputError, match="Not a regular file but a pipe or a device"):
            read(pipe)
        with pytest.raises(InputError, match="Too many levels of symbolic links"):
            read(loop)
    with pytest.raises(InputError, match="leads back to itself"), replacing(loop) as temporary:
        temporary.touch()
    assert sorted(tmp_path.iterdir()) == [loop, pipe, tmp_path / "work"]
