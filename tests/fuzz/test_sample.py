"""A sample of what ``make fuzz`` does, and that it notices what it is there for."""

import os
import sys
from pathlib import Path

import pytest

from diaghoi.exceptions import InputError
from fuzz import run
from fuzz.run import Case, Plan, Reader
from fuzz.targets import TARGETS, Target

CASES = 25


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_spoilt_files_end_in_a_result_or_an_input_error(name, tmp_path):
    reader = Reader(TARGETS[name], tmp_path / "files")
    for number in range(max(3, round(CASES * min(1.0, TARGETS[name].weight)))):
        problem = reader.problem(Case(name, number, seed=9).content())
        assert problem is None, f"case {number}: {problem}"


@pytest.mark.parametrize("name", TARGETS)
def test_the_same_case_is_the_same_file(name):
    assert Case(name, 7, 1).content() == Case(name, 7, 1).content()


@pytest.mark.parametrize("name", TARGETS)
def test_cases_differ(name):
    assert len({Case(name, number, 1).content() for number in range(20)}) > 3


def test_every_format_is_fuzzed():
    from diaghoi.formats import FORMATS

    others = {"diaghoi": "columnar", "v-coco": "v-coco", "swig-hoi": "swig"}
    others |= {"anno-bbox-mat": "anno-bbox", "hico-detections-mat": "hico-detections"}
    assert {others.get(name, name) for name in FORMATS} <= TARGETS.keys()


def target(read):
    return Target(file="x.txt", seeds=TARGETS["senses"].seeds, read=read)


def raised(kind, words):
    def read(path):
        error = kind("")
        error.args = (words.format(path),)
        raise error

    return read


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (str, None),
        (raised(InputError, "{}: no"), None),
        (raised(InputError, "no"), "message without the file"),
        (raised(InputError, "{}: one\ntwo"), "message of"),
        (raised(InputError, "{}: " + "x" * 10**4), "message of"),
        (raised(KeyError, "x"), "KeyError"),
        (raised(AssertionError, "x"), "AssertionError"),
    ],
)
def test_what_is_a_finding(read, problem, tmp_path):
    found = Reader(target(read), tmp_path / "files").problem(b"x")
    assert found is None if problem is None else problem in found


def test_memory_is_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "peak", iter((0.0, run.MEGABYTES + 1.0)).__next__)
    assert "MB" in Reader(target(str), tmp_path / "files").problem(b"x")


def test_cases_are_shared_out_and_taken_up_again():
    plan = Plan(count=40, only=("groups", "senses"))
    whole = [(case.target, case.number) for case in plan.share(0, 1, None)]
    parts = [[(c.target, c.number) for c in plan.share(part, 2, None)] for part in range(2)]
    assert sorted(whole) == sorted(parts[0] + parts[1])
    assert [(c.target, c.number) for c in plan.share(0, 1, whole[12])] == whole[13:]


ENDINGS = {
    "ended the interpreter": "lambda path: os.kill(os.getpid(), 11)",
    "took too long": "lambda path: time.sleep(60)",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals end processes otherwise on Windows")
@pytest.mark.parametrize("said", ENDINGS)
def test_processes_that_end_are_findings(said, tmp_path, monkeypatch):
    # The processes import this module, and with it the reader that ends them.
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import os, time\n"
        "import fuzz.run, fuzz.targets\n"
        "from dataclasses import replace\n"
        f"read = {ENDINGS[said]}\n"
        "fuzz.targets.TARGETS['senses'] = replace(fuzz.targets.TARGETS['senses'], read=read)\n"
        "fuzz.run.SECONDS = 1\n"
    )
    tests = Path(__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (site, tests, tests.parent))))
    findings = run.run(Plan(count=2, only=("senses",)), tmp_path / "out", 1)
    assert (findings.cases, findings.wrong["senses"]) == (2, 2)
    kept = tmp_path / "out" / "senses-0.csv"
    assert kept.read_bytes() == Case("senses", 0, 0).content()
    told = kept.with_name("senses-0.csv.txt").read_text()
    assert "python -m fuzz --only senses --case 0 --seed 0" in told
    assert said in told
