"""The program ``diaghoi``, and ``python -m diaghoi``."""

import signal


def main() -> None:
    """Run the command line; until it is imported, an interrupt ends the process silently."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diaghoi.cli import main as run

    signal.signal(signal.SIGINT, usual)
    run()


if __name__ == "__main__":
    main()
