"""Robustness: corrupted pictures, their cost to a detector, and training against them.

The corruptions, the indices and the training strategy come from the RoHOI benchmark. Nothing is
imported here, so each part loads only its own dependencies.
"""
