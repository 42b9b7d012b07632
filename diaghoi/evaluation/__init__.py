"""Overlap, pairing, matching, errors, ranking, average precision and means."""
