"""Register the measures: every number of a result is one row of the registry.

A row contains the number's path in a result, its name and meaning, whether higher or lower values
are better and, for a ratio of counts, the computation. Tables, JSON, intervals and tests follow the
registry. To add a number, register a row: docs/how_to/new_number.md.
"""

from diaghoi.measures.measure import Measure
from diaghoi.measures.registry import MEASURES, cost, of_table

__all__ = ["MEASURES", "Measure", "cost", "of_table"]
