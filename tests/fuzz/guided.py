"""Files that coverage leads to: ``make fuzz-guided``, where atheris is installed.

Atheris watches which lines of a reader are reached, and keeps what reaches new ones. It needs
readers that are Python, not C: those of opcodes, MATLAB files and replies.
"""

from __future__ import annotations

import importlib
import io
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

SECONDS = 60
OUT = Path("build/fuzz")
READERS = ("triplet-lists", "dense-arrays", "anno-bbox", "replies")


def main() -> int:
    """Run the command line: the name of a target, and options of libFuzzer."""
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        print("atheris is not installed (pip install atheris), so nothing is done")
        return 0
    name = next((each for each in sys.argv[1:] if each in READERS), READERS[0])
    options = [each for each in sys.argv[1:] if each not in READERS]
    with atheris.instrument_imports(include=["diaghoi"]):
        read = _reader(name)
    from fuzz.run import Case

    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(50):
            Path(folder, str(number)).write_bytes(Case(name, number, seed=0).content())
        usual = [f"-max_total_time={SECONDS}", f"-artifact_prefix={OUT}/"]
        atheris.Setup([sys.argv[0], *usual, *options, folder], read)
        atheris.Fuzz()
    return 0


def _reader(name: str) -> Callable[[bytes], None]:
    """Return what reads the bytes of a file; only what is imported here is watched."""
    from diaghoi.choice.replies import read_reply
    from diaghoi.exceptions import InputError
    from diaghoi.formats import matlab
    from diaghoi.formats.pickle import load_pickle
    from fuzz.examples import OPTIONS

    def read(data: bytes) -> None:
        with suppress(InputError):
            if name == "replies":
                read_reply(data.decode("utf-8", "replace"), OPTIONS)
            elif name == "anno-bbox":
                with tempfile.NamedTemporaryFile(suffix=".mat") as file:
                    file.write(data)
                    file.flush()
                    for variable in matlab.variables(file.name):
                        matlab.read_variable(file.name, variable)
            else:
                load_pickle(io.BytesIO(data), "file")

    return read


if __name__ == "__main__":
    sys.exit(main())
