"""The command line: parse, call one public function, present."""

from __future__ import annotations

import codecs
import io
import sys

from diaghoi.cli.app import app
from diaghoi.exceptions import InputError

# What reports print beyond ASCII, for terminals and log files that cannot show it.
PLAIN = {"Δ": "d", "−": "-", "–": "-", "…": "."}


def main() -> None:
    """Run ``diaghoi``; what a user can mend becomes one line on stderr and exit code 2."""
    codecs.register_error("diaghoi-plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="diaghoi-plain")
    try:
        app(prog_name="diaghoi")
    except InputError as error:
        sys.exit(_fail(str(error)))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(_fail(f"{where}{error.strerror or error}"))
    except MemoryError:
        sys.exit(_fail("not enough memory for this input"))


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replace what the encoding of a stream does not have, letter by letter."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(PLAIN.get(letter, "?") for letter in found), error.end


def _fail(message: str) -> int:
    print(f"diaghoi: error: {' '.join(message.split())}", file=sys.stderr)
    return 2
