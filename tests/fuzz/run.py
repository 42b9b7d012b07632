"""Spoil files by the ten thousand, in processes that may die of it."""

from __future__ import annotations

import faulthandler
import resource
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from diaghoi.exceptions import InputError
from fuzz.targets import TARGETS, Target

SECONDS = 20
# Memory that reading may take: so many times the file, or this much.
TIMES, MEGABYTES = 10, 300
LONGEST_MESSAGE = 2010


@dataclass(frozen=True)
class Case:
    """One spoilt file, the same whenever it is made."""

    target: str
    number: int
    seed: int

    def content(self) -> bytes:
        random = Random(f"{self.seed} {self.target} {self.number}")
        return TARGETS[self.target].spoilt(random)


@dataclass
class Plan:
    """So many cases of some targets, or of all."""

    count: int
    seed: int = 0
    only: tuple[str, ...] = ()

    def numbers(self) -> dict[str, int]:
        chosen = {name: TARGETS[name] for name in self.only or TARGETS}
        total = sum(target.weight for target in chosen.values())
        return {
            name: max(1, round(self.count * target.weight / total))
            for name, target in chosen.items()
        }

    def share(self, part: int, parts: int, behind: tuple[str, int] | None) -> Iterator[Case]:
        """Give the cases of one of several processes, those behind one of them."""
        waiting = behind is not None
        for name, count in self.numbers().items():
            for number in range(part, count, parts):
                if not waiting:
                    yield Case(name, number, self.seed)
                elif (name, number) == behind:
                    waiting = False


class Reader:
    """Reads the files of a target in a folder, and says what is wrong with how that went."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.path = target, folder / target.file
        folder.mkdir()
        target.prepare(folder)

    def problem(self, content: bytes) -> str | None:
        """Read a file; None where that ends in a result or an ``InputError`` as it should be."""
        self.path.write_bytes(content)
        before = peak()
        try:
            self.target.read(self.path)
        except InputError as error:
            if str(self.path.parent) not in str(error) and self.path.suffix != ".png":
                return f"message without the file: {str(error)[:200]!r}"
            said = str(error).replace(str(self.path.parent), "")
            if "\n" in said or len(said) > LONGEST_MESSAGE:
                return f"message of {len(said)} letters: {said[:200]!r}"
        except BaseException:
            return traceback.format_exc()
        grown = peak() - before
        if grown > max(TIMES * len(content) / 1e6, MEGABYTES):
            return f"took {grown:.0f} MB for {len(content)} bytes"
        return None


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(plan: Plan, part: int, parts: int, behind: tuple[str, int] | None) -> None:
    """Read the cases of one process, and say each time which comes next and what is wrong."""
    readers: dict[str, Reader] = {}
    with tempfile.TemporaryDirectory() as folder:
        for case in plan.share(part, parts, behind):
            print(f"case {case.target} {case.number}", flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            if case.target not in readers:
                readers[case.target] = Reader(TARGETS[case.target], Path(folder, case.target))
            problem = readers[case.target].problem(case.content())
            faulthandler.cancel_dump_traceback_later()
            if problem is not None:
                print(f"wrong {problem.replace(chr(10), chr(0))}", flush=True)


@dataclass
class Findings:
    folder: Path
    seed: int
    cases: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, number: int, problem: str) -> None:
        with self.lock:
            self.wrong[name] += 1
            self.folder.mkdir(parents=True, exist_ok=True)
            kept = self.folder / f"{name}-{number}{Path(TARGETS[name].file).suffix}"
            kept.write_bytes(Case(name, number, self.seed).content())
            again = f"python -m fuzz --only {name} --case {number} --seed {self.seed}"
            kept.with_name(kept.name + ".txt").write_text(f"{again}\n\n{problem}\n")


def run(plan: Plan, folder: Path, processes: int) -> Findings:
    """Read all cases in some processes, each of which is started again where it ends early."""
    findings = Findings(folder, plan.seed)
    threads = [
        threading.Thread(target=_watch, args=(plan, part, processes, findings))
        for part in range(processes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return findings


def _watch(plan: Plan, part: int, parts: int, findings: Findings) -> None:
    behind: tuple[str, int] | None = None
    while True:
        command = [sys.executable, "-X", "faulthandler", "-W", "error", "-m", "fuzz", "--part"]
        command += [str(part), "--parts", str(parts), "--count", str(plan.count)]
        command += ["--seed", str(plan.seed), *(x for name in plan.only for x in ("--only", name))]
        command += [] if behind is None else ["--behind", behind[0], str(behind[1])]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            last: list[str] = []
            drain = threading.Thread(target=lambda: last.append(child.stderr.read()))  # noqa: B023
            drain.start()
            for line in child.stdout:
                kind, _, rest = line.rstrip("\n").partition(" ")
                if kind == "case":
                    name, _, number = rest.partition(" ")
                    behind = name, int(number)
                    findings.cases += 1
                elif kind == "wrong" and behind is not None:
                    findings.add(*behind, rest.replace("\0", "\n"))
            status = child.wait()
            drain.join()
        if status == 0:
            return
        if behind is None:
            raise SystemExit("".join(last))
        what = "took too long" if status == 1 else f"ended the interpreter ({status})"
        findings.add(*behind, f"{what}\n{''.join(last)[-3000:]}")


def one(name: str, number: int, seed: int) -> str | None:
    with tempfile.TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        return Reader(TARGETS[name], Path(folder, name)).problem(Case(name, number, seed).content())
    return None
