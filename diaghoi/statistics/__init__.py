"""How sure: bootstrap, paired tests, Shapley values, calibration."""
