"""Robustness: corrupted pictures, what corruptions cost a detector, and robust training.

The corruptions, the indices and the training strategy come from the RoHOI benchmark. The package
imports no module, so each module loads only its own dependencies.
"""
