"""Try a package that is installed for itself, without extras and without this repository.

    python -I tests/installed.py FOLDER

Every module has to be importable, and what the front page shows first has to work.
"""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import diaghoi

# Modules that are programs.
PROGRAMS = ("diaghoi.__main__", "diaghoi.formats.wordnet_extract")
STUDY = """\
annotations = "demo/annotations.npz"

[[model]]
label = "one-stage"
file = "demo/one_stage.npz"

[[model]]
label = "two-stage"
file = "demo/two_stage.json"
"""
COMMANDS = (
    "demo --size 40 --out demo --quiet",
    "report demo/one_stage.pkl --annotations demo/annotations.pkl --out delta_map.pdf --quiet",
    "figures study.toml --out figures --column single --only delta_map --quiet",
    "compare study.toml --out tables.tex --quiet",
    "similarity build --verbs verbs.txt --baseline path --out verbs.csv --quiet",
)
MADE = ("demo/two_stage.txt", "delta_map.pdf", "figures/delta_map.pdf", "tables.tex", "verbs.csv")


def main(folder: Path) -> None:
    """Import all, then run the commands in a folder."""
    place = Path(diaghoi.__file__)
    if Path(sys.prefix) not in place.parents:
        sys.exit(f"{place} is not installed in {sys.prefix}")
    names = [module.name for module in pkgutil.walk_packages(diaghoi.__path__, "diaghoi.")]
    for name in names:
        # The client of language models needs the extra `ask`.
        if name not in PROGRAMS and name != "diaghoi.language.completions":
            importlib.import_module(name)
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "verbs.txt").write_text("ride\nhold\n", encoding="utf-8")
    for command in COMMANDS:
        words = [str(Path(sys.prefix, "bin", "diaghoi")), *command.split()]
        subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    missing = [name for name in MADE if not (folder / name).stat().st_size]
    if missing:
        sys.exit(f"empty: {', '.join(missing)}")
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"diaghoi {diaghoi.__version__} on Python {version}: {len(names)} modules, demo, report")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
