"""Mutated files for every reader of the package: ``make fuzz``."""
