"""Mutation testing: which small changes of the code that decides numbers no fast test notices.

``make mutants`` draws random mutants, each with one operator, constant, condition, bound or call
changed. Each is put into a fork of a process that has collected the fast tests, in place of the
function it is a mutant of, and runs those tests that reach the changed lines, the cheapest first,
until one fails. So a mutant takes seconds; nothing is started or collected anew.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib
import inspect
import json
import os
import pkgutil
import random
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest

# Rooms that decide numbers with all their modules, and modules of the other rooms.
ROOMS = ("evaluation", "oracles", "statistics")
TARGETS = (
    *("cases.causes", "choice.evaluation", "data.boxes", "measures.measure"),
    *("comparison.decomposition", "comparison.shares", "comparison.transitions"),
    *(f"diagnosis.{name}" for name in ("benchmark", "blocks", "curves", "evidence", "verb_prior")),
    *("robustness.evaluation", "robustness.profile", "semantic.tables.senses"),
    *(f"semantic.{name}" for name in ("evaluation", "matching", "soft_map", "triplets")),
)
# Address space beyond which a mutant grows, and seconds of CPU of one test beyond which it hangs.
MEMORY, HANGS = 8_000_000_000, 15

COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may come in the place of a node; what is shared with the node is not changed."""
    copy = dict(ast.iter_fields(node))
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARED[type(operator)]:
                ops = [*node.ops[:place], other(), *node.ops[place + 1 :]]
                yield ast.Compare(**copy | {"ops": ops})
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in COMPUTED:
        yield type(node)(**copy | {"op": COMPUTED[type(node.op)]()})
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(**copy | {"op": other})
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield ast.Constant(1 - node.value if node.value in (0, 1) else node.value + 1)
    elif isinstance(node, ast.Slice):
        for bound in ("lower", "upper"):
            if copy[bound] is not None:
                yield ast.Slice(**copy | {bound: None})
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield type(node)(**copy | {"test": ast.UnaryOp(ast.Not(), node.test)})
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    # That a number has the right type is for mypy.
    elif (
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and not node.keywords
        and ast.unparse(node.func) not in ("float", "int", "bool", "tuple", "list")
    ):
        yield node.args[0]


def places(node: ast.AST) -> Iterator[tuple[ast.stmt | None, ast.AST, Callable[[Any], None]]]:
    """Yield each node in the code of functions, its statement, and what puts another in its place.

    Texts of messages and annotations are left out, and so is what runs as modules are imported.
    """

    def below(
        node: ast.AST, statement: ast.stmt | None
    ) -> Iterator[tuple[ast.stmt | None, ast.AST, Callable[[Any], None]]]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "args") and (
                isinstance(node, (ast.FunctionDef, ast.AnnAssign))
            ):
                continue
            for number, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST) or isinstance(child, (ast.Raise, ast.JoinedStr)):
                    continue

                def put(new: Any, value: Any = value, field: str = field, at: int = number) -> None:
                    if isinstance(value, list):
                        value[at] = new
                    else:
                        setattr(node, field, new)

                inner = child if isinstance(child, ast.stmt) else statement
                if inner is not None:
                    yield inner, child, put
                yield from below(child, inner)

    for function in ast.walk(node):
        if isinstance(function, (ast.Module, ast.ClassDef)):
            for child in function.body:
                if isinstance(child, ast.FunctionDef):
                    yield from below(child, None)


def code_of(compiled: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    """Yield name and line, and the code, of every function of a module."""
    for constant in compiled.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_name, constant.co_firstlineno), constant
            yield from code_of(constant)


@dataclass(frozen=True)
class Mutant:
    """One change of a function, and the lines that reach it."""

    name: str
    file: str
    lines: range
    code: Callable[[], dict[tuple[str, int], CodeType]]


def mutants(file: str) -> Iterator[Mutant]:
    tree = ast.parse(Path(file).read_text())
    for statement, old, put in places(tree):
        inner = getattr(statement, "body", None)
        last = inner[0].lineno - 1 if inner else statement.end_lineno
        for new in changed(old):

            def code(new: Any = new, old: Any = old, put: Any = put) -> dict[Any, CodeType]:
                put(ast.fix_missing_locations(ast.copy_location(new, old)))
                compiled = compile(tree, file, "exec")
                put(old)
                return dict(code_of(compiled))

            before, after = (" ".join(ast.unparse(each).split())[:80] for each in (old, new))
            yield Mutant(
                name=f"{Path(file).parent.name}/{Path(file).name}:{old.lineno}:{old.col_offset} "
                f"{before}  ->  {after}",
                file=file,
                lines=range(statement.lineno, max(statement.lineno, last or 0) + 1),
                code=code,
            )


class Mutating:
    """A plugin of pytest that runs the collected tests on mutants."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.reports: list[pytest.TestReport] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Let properties stop at the first example that fails, and keep none."""
        # Plugins that pytest loads itself must not be imported before it.
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile(
            "mutants", settings.get_profile("few"), phases=phases, database=None
        )
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        names = [f"diaghoi.{name}" for name in TARGETS]
        for room in ROOMS:
            path = importlib.import_module(f"diaghoi.{room}").__path__
            names += [f"diaghoi.{room}.{each.name}" for each in pkgutil.iter_modules(path)]
        files = [str(importlib.import_module(name).__file__) for name in names]
        drawn = [mutant for file in files for mutant in mutants(file)]
        if self.options.again:
            wanted = set(Path(self.options.again).read_text().splitlines())
            drawn = [mutant for mutant in drawn if mutant.name in wanted]
        else:
            drawn = random.Random(self.options.seed).sample(drawn, self.options.count)
        gc.unfreeze()
        self.functions: dict[Any, list[FunctionType]] = defaultdict(list)
        for found in gc.get_objects():
            if isinstance(found, FunctionType) and found.__code__.co_filename in files:
                code = found.__code__
                self.functions[code.co_filename, code.co_name, code.co_firstlineno].append(found)
        gc.freeze()
        reach = self.kept_reach(session.items, files)
        print(
            f"{len(session.items)} tests; failing without a mutant: {reach['failing']}", flush=True
        )
        ends: Counter[str] = Counter()
        killers: Counter[str] = Counter()
        survivors = []
        for number, mutant in enumerate(drawn, 1):
            tests = self.tests(mutant, session.items, reach, killers)
            end = forked(self.end, mutant, tests) if tests else "reached by no test"
            killers[end] += 1
            ends["dies" if end.startswith("dies") else end] += 1
            print(f"{number}/{len(drawn)} {end}: {mutant.name}", flush=True)
            if not end.startswith("dies"):
                survivors.append(mutant.name)
        print(f"{len(drawn)} mutants: {dict(ends)}")
        Path(self.options.out).write_text("".join(f"{name}\n" for name in survivors))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)

    def run(self, items: list[pytest.Item], number: int) -> bool:
        self.reports.clear()
        following = items[number + 1] if number + 1 < len(items) else None
        items[number].config.hook.pytest_runtest_protocol(item=items[number], nextitem=following)
        return not any(report.failed for report in self.reports)

    def kept_reach(self, items: list[pytest.Item], files: list[str]) -> dict[str, Any]:
        """Return what the last run on the same code and tests found to reach which lines."""
        texts = [*(Path(file).read_text() for file in files), *(item.nodeid for item in items)]
        key = hashlib.sha256("\n".join(texts).encode()).hexdigest()
        kept = Path(self.options.out).parent / f"reach-{key[:16]}.json"
        if not kept.exists():
            kept.write_text(json.dumps(forked(self.reach, items, files)))
        found: dict[str, Any] = json.loads(kept.read_text())
        return found

    def reach(self, items: list[pytest.Item], files: list[str]) -> dict[str, Any]:
        """Find which tests reach which lines, how long they take, and which fail anyway."""
        recorder = coverage.Coverage(data_file=None, include=files, config_file=False)
        recorder.start()
        seconds, failing = [], []
        for number in range(len(items)):
            recorder.switch_context(str(number))
            begun = time.process_time()
            if not self.run(items, number):
                failing.append(number)
            seconds.append(time.process_time() - begun)
        recorder.stop()
        data = recorder.get_data()
        lines = {file: data.contexts_by_lineno(file) for file in files}
        return {"lines": lines, "seconds": seconds, "failing": failing}

    def tests(
        self, mutant: Mutant, items: list[pytest.Item], reach: Any, killers: Counter[str]
    ) -> list[pytest.Item]:
        """Return the tests that reach a mutant, and others of their files.

        First those that are cheap for what they have noticed so far. Others, because what a
        fixture or a cache keeps is recorded for the first test that asked.
        """
        by_line = reach["lines"][mutant.file]
        reaching = {int(n) for line in mutant.lines for n in by_line.get(str(line), ()) if n}
        near = {items[number].path for number in reaching}
        return [
            item
            for _, _, number, item in sorted(
                (
                    number not in reaching,
                    reach["seconds"][number] / (1 + killers[f"dies ({item.nodeid})"]) ** 2,
                    number,
                    item,
                )
                for number, item in enumerate(items)
                if item.path in near and number not in reach["failing"]
            )
        ]

    def end(self, mutant: Mutant, tests: list[pytest.Item]) -> str:
        """Put a mutant in place and say which test it dies by, or that it survives."""
        for (name, line), code in mutant.code().items():
            for function in self.functions[mutant.file, name, line]:
                function.__code__ = code
        for number, test in enumerate(tests):
            if time.process_time() > self.options.limit:
                return "survives what time allows"
            signal.setitimer(signal.ITIMER_PROF, HANGS)
            if not self.run(tests, number):
                return f"dies ({test.nodeid})"
        return "survives"


def forked(work: Callable[..., Any], *arguments: Any) -> Any:
    end, begin = os.pipe()
    child = os.fork()
    if not child:
        os.close(end)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with os.fdopen(begin, "w") as pipe:
            json.dump(work(*arguments), pipe)
        os._exit(0)
    os.close(begin)
    with os.fdopen(end) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(told) if told and not status else f"dies (ends with {status})"


def main() -> None:
    parser = argparse.ArgumentParser(description=inspect.cleandoc(__doc__ or ""))
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=120, help="seconds of CPU for a mutant")
    parser.add_argument("--again", help="file of mutants to try instead, as left by --out")
    parser.add_argument("--out", default="build/survivors.txt", help="file for the survivors")
    parser.add_argument("tests", nargs="*", default=["tests"])
    options = parser.parse_args()
    Path(options.out).parent.mkdir(parents=True, exist_ok=True)
    words = ["-q", "-s", "-m", "not slow", "-p", "no:randomly", "-p", "no:cacheprovider", "-n", "0"]
    sys.exit(pytest.main([*words, *options.tests], plugins=[Mutating(options)]))


if __name__ == "__main__":
    main()
