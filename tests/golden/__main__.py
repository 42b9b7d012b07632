"""``make golden``: compare all JSON results with those kept, numbers and words apart."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from golden.run import GROUPS, PARTS, SHARED, differences, keep, kept, run, split


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__)
    parser.add_argument(
        "--write",
        choices=("words", "all"),
        help="keep the words found now, or all results, where the change is meant",
    )
    parser.add_argument("--only", action="append", choices=GROUPS, default=[], metavar="GROUP")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names = options.only or list(GROUPS)
    if not (SHARED / "conformance").is_dir():
        left_out = [name for name in names if GROUPS[name].shared]
        names = [name for name in names if name not in left_out]
        print(f"left out, as the conformance cases (../shared) are not here: {left_out}")
    start, count, different = time.perf_counter(), 0, dict.fromkeys(PARTS, 0)
    with ProcessPoolExecutor(options.processes) as pool:
        for name, (results, seconds) in zip(names, pool.map(_timed, names), strict=True):
            count += len(results)
            print(f"{name}: {len(results)} results, {seconds:.1f} s", flush=True)
            if options.write:
                keep(name, results, words_alone=options.write == "words")
            for part, before, now in zip(PARTS, kept(name), split(results), strict=True):
                lines = differences(before, now)
                different[part] += bool(lines)
                for line in lines:
                    print(f"  {part}: {line}")
    spent = time.perf_counter() - start
    told = ", ".join(f"{groups} in {part}" for part, groups in different.items())
    print(f"{count} results in {spent:.0f} s; groups that differ: {told}")
    return any(different.values())


def _timed(name: str) -> tuple[dict[str, str], float]:
    start = time.perf_counter()
    return run(name), time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
