"""Semantic evaluation: graded credit for predictions that are close in meaning.

The package computes SHOE's soft mAP and mF1 from similarity tables of verbs and objects.
"""

from diaghoi.semantic.evaluation import SemanticEvaluation
from diaghoi.semantic.measure import Measure
from diaghoi.semantic.run_evaluation import evaluate
from diaghoi.semantic.tables.similarity import Similarity, read_similarity, write_similarity

__all__ = [
    "Measure",
    "SemanticEvaluation",
    "Similarity",
    "evaluate",
    "read_similarity",
    "write_similarity",
]
