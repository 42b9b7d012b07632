"""``python -m diaghoi``."""

from diaghoi.cli import main

main()
