"""The program ``diaghoi``, and ``python -m diaghoi``."""

import gc
import signal
import sys


def main() -> None:
    """Run the command line; before and after it, an interrupt ends the process silently.

    If the imports alone exceed a memory limit, print one line and return exit code 2.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Imports leave no garbage, but the search for garbage takes a tenth of their time.
    gc.disable()
    try:
        from diaghoi.cli import main as run
    except Exception as error:
        from diaghoi.exceptions import NO_MEMORY, out_of_memory

        if not out_of_memory(error):
            raise
        print(f"diaghoi: error: {NO_MEMORY}", file=sys.stderr)
        sys.exit(2)
    gc.freeze()
    gc.enable()
    run()


if __name__ == "__main__":
    main()
