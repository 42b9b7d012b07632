"""Comparison of several detectors."""
