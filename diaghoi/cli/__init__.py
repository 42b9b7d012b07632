"""The command line: parse the arguments, call one public function, present its result."""

from __future__ import annotations

import codecs
import errno
import io
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from diaghoi.cli.commands import app
from diaghoi.cli.stopping import WORDS, run_stoppable
from diaghoi.data.memory import keep_freed_memory
from diaghoi.exceptions import NO_MEMORY, InputError, out_of_memory, speaking_of_options
from diaghoi.formats.base import OwnDataError
from diaghoi.formats.draft import draft as drafted

# ASCII replacements for special characters that a terminal or log file cannot show.
PLAIN = {"Δ": "d", "−": "-", "–": "-", "…": ".", "·": "-", "≤": "<=", "≥": ">="}
NO_ROOM = (errno.ENOSPC, errno.EFBIG)


def main() -> None:
    """Run ``diaghoi``; errors that a user can fix become one line on stderr and exit code 2.

    SIGINT (Ctrl-C) and SIGTERM end the command in an orderly way: no half-written files, one line,
    and 128 plus the signal number as exit code. A reader may close stdout early without causing an
    error.
    """
    codecs.register_error("diaghoi-plain", _plain)
    _open_streams()
    # Figures carry no date, and drawing them needs no window.
    os.environ.pop("SOURCE_DATE_EPOCH", None)
    os.environ["MPLBACKEND"] = "agg"
    # Text cannot be wrapped to a width of zero columns.
    if not os.environ.get("COLUMNS", "").strip("0"):
        os.environ.pop("COLUMNS", None)
    keep_freed_memory()
    with speaking_of_options():
        done = run_stoppable(_run)
    if isinstance(done, signal.Signals):
        done = 128 + done, f"{WORDS[done]}; nothing is half-written", ""
    code, message, draft = done
    if message:
        print(f"diaghoi: {' '.join(message.split())}", file=sys.stderr)
    if draft:
        print(f"\n{draft}", end="", file=sys.stderr)
    sys.exit(code)


def _run() -> tuple[int, str, str]:
    """Run the command; return the exit code, the message for stderr, and a draft of a data set."""
    code, message, draft = 0, "", ""
    try:
        app(prog_name="diaghoi")
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0
    except InputError as error:
        message = str(error)
        with suppress(InputError, OSError, MemoryError):
            draft = drafted(error.files) if isinstance(error, OwnDataError) else ""
    except BrokenPipeError:
        code = 1
    except OSError as error:
        # An error without a file name comes from stdout: files are written with `replacing`, whose
        # errors name the file.
        where = error.filename or ("stdout" if error.errno in NO_ROOM else "")
        message = f"{where}: {error.strerror or error}" if where else str(error)
    except Exception as error:
        if not out_of_memory(error):
            raise
        message = NO_MEMORY
    lost = _unwritten()
    if lost is not None and not (code or message):
        code = 1
        message = "" if isinstance(lost, BrokenPipeError) else f"stdout: {lost.strerror or lost}"
    return (2, f"error: {message}", draft) if message else (code, "", "")


class _Unfailing(io.FileIO):
    """A stream for remarks on stderr; writing never fails, even if nobody reads the stream."""

    def write(self, data: Any, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return len(data)


def _open_streams() -> None:
    """Make stdout and stderr accept any character, and tolerate a closed or full stderr."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # An open placeholder keeps the number of the closed stream from the first file that the
            # command opens.
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
    if sys.stderr is sys.__stderr__:
        encoding = getattr(sys.stderr, "encoding", "utf-8")
        buffer = io.BufferedWriter(_Unfailing(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(buffer, encoding, line_buffering=True)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="diaghoi-plain")


def _unwritten() -> OSError | None:
    """Flush stdout; if that fails, discard the output, to avoid a traceback from Python at exit."""
    if sys.stdout is None:
        return None
    try:
        sys.stdout.flush()
    except OSError as error:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
        return error
    return None


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that a stream's encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(PLAIN.get(letter, "?") for letter in found), error.end
