"""The command line: parse, call one public function, present."""

from __future__ import annotations

import sys

from diaghoi.cli.app import app
from diaghoi.exceptions import InputError


def main() -> None:
    """Run ``diaghoi``; what a user can mend becomes one line on stderr and exit code 2."""
    try:
        app()
    except InputError as error:
        sys.exit(_fail(str(error)))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        sys.exit(_fail(f"{where}{error.strerror or error}"))
    except MemoryError:
        sys.exit(_fail("not enough memory for this input"))


def _fail(message: str) -> int:
    print(f"diaghoi: error: {' '.join(message.split())}", file=sys.stderr)
    return 2
