"""Robustness: corrupted pictures, what they cost a detector, and training against them.

The corruptions, the indices and the training strategy are those of the RoHOI benchmark. Nothing is
imported here, so that each part costs only what it needs itself.
"""
