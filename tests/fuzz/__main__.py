"""``make fuzz``: spoil files of every format, and keep those that are read with an error."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from fuzz.run import Plan, one, run, work
from fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="cases of all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", action="append", choices=TARGETS, default=[], metavar="TARGET")
    parser.add_argument("--case", type=int, help="read this case of the one target alone")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--parts", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--behind", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    plan = Plan(options.count, options.seed, tuple(options.only))
    if options.case is not None:
        problem = one(options.only[0], options.case, options.seed)
        print(problem or "read as it should be")
        return problem is not None
    if options.part is not None:
        behind = (options.behind[0], int(options.behind[1])) if options.behind else None
        work(plan, options.part, options.parts, behind)
        return 0
    start = time.perf_counter()
    findings = run(plan, options.out, options.processes)
    spent = time.perf_counter() - start
    print(f"{findings.cases:,} spoilt files in {spent:.0f} s; not read as they should be:", end=" ")
    print(sum(findings.wrong.values()))
    for name, number in findings.wrong.most_common():
        print(f"  {name}: {number}, kept in {options.out}")
    return bool(findings.wrong)


if __name__ == "__main__":
    sys.exit(main())
