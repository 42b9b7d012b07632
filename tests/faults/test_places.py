"""Full disks, read-only places, and folders that are none: one line, and nothing half-written."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.faults import Job, Left, command, everything, run, these, when_written

from diaghoi import InputError
from diaghoi.formats.output import replacing

pytestmark = pytest.mark.slow


def refused(left: Left, *words: str) -> None:
    """Check that a command was refused with one error, of which some words are given."""
    said = [line for line in left.err.splitlines() if line.startswith("diaghoi: error: ")]
    assert (left.code, len(said)) == (2, 1), left.err
    assert "Traceback" not in left.err
    for each in words:
        assert each in said[0]


@pytest.mark.parametrize(
    "name", these("report corrupt robustness", "convert", "similarity", "questions")
)
def test_a_file_that_may_grow_no_further(name: str, job: Callable[[str], Job]) -> None:
    one = job(name)

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    left = run(*one.words, folder=one.folder, preexec_fn=small)
    refused(left, "out/")
    assert all(path.name.endswith(".answers.jsonl") or whole(path) for path in everything(one.out))


def whole(path: Path) -> bool:
    """Whether a small file could be written before the limit was met."""
    return 0 < path.stat().st_size <= 200 and not path.name.startswith(".")


MOUNTED = """
mount -t tmpfs -o size={size} tmpfs out || exit 99
{prepare}
"$@"
code=$?
find out -type f
exit $code
"""


def on_own_disk(one: Job, prepare: str, size: str = "16k") -> Left:
    """Run a job whose output folder is a small disk of its own, seen by it alone."""
    script = MOUNTED.format(size=size, prepare=prepare)
    shell = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh"]
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    done = subprocess.run(
        shell + command(*one.words), cwd=one.folder, capture_output=True, text=True, check=False
    )
    if done.returncode == 99 or "unshare failed" in done.stderr:
        pytest.skip("no disk can be mounted here")
    return Left(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "name", these("convert corrupt", "report", "robustness", "similarity", "questions")
)
def test_a_full_disk(name: str, job: Callable[[str], Job]) -> None:
    left = on_own_disk(job(name), "head -c 12k /dev/zero > out/ballast")
    refused(left, "No space left on device")
    hidden = [line for line in left.out.splitlines() if line.split("/")[-1].startswith(".")]
    assert hidden == []


@pytest.mark.parametrize(
    "name", these("convert robustness", "report", "corrupt", "similarity", "questions")
)
def test_a_read_only_disk(name: str, job: Callable[[str], Job]) -> None:
    left = on_own_disk(job(name), "mount -o remount,ro out")
    refused(left, "out/")


@pytest.mark.parametrize(
    "name", these("report corrupt", "convert", "robustness", "similarity", "questions")
)
def test_an_output_folder_that_is_a_file(name: str, job: Callable[[str], Job]) -> None:
    one = job(name)
    one.out.rmdir()
    one.out.write_text("a file")
    refused(run(*one.words, folder=one.folder), "out", "is a file")
    assert one.out.read_text() == "a file"


@pytest.mark.parametrize("name", these("robustness similarity", "report"))
def test_an_output_folder_that_vanishes(name: str, job: Callable[[str], Job]) -> None:
    one = job(name)
    with subprocess.Popen(
        command(*one.words),
        cwd=one.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        when_written(one.out)(running)
        one.out.rename(one.folder / "elsewhere")
        out, err = running.communicate()
    refused(Left(running.returncode, out, err), "out/")
    assert not one.out.exists()


def test_numpy_does_not_say_why_it_cannot_write(tmp_path: Path) -> None:
    words = r"800 requested and 512 written \(is the disk full\?\)"
    with pytest.raises(InputError, match=words), replacing(tmp_path / "a.npy"):
        raise OSError("800 requested and 512 written")
