"""Figures of robustness to corrupted pictures."""
