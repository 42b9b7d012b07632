"""Measures: the numbers of a result, each in one row of one registry.

A row says where the number stands in a result, what it is called and what it means, which values
are better, and, for a ratio of counts, how it is computed. Tables, JSON, intervals and tests follow
the registry. To add a number, register a row: docs/how_to/new_number.md.
"""

from diaghoi.measures.measure import Measure
from diaghoi.measures.registry import MEASURES, cost, of_table

__all__ = ["MEASURES", "Measure", "cost", "of_table"]
