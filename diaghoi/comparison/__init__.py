"""Several detectors side by side."""
