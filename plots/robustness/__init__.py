"""Figures of robustness under corrupted pictures."""
