"""Overlap, candidates, matching, errors, assignment, ranking, average precision and means."""
