"""Quantify certainty: bootstrap, paired tests, Shapley values, calibration."""
