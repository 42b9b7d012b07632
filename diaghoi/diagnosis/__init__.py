"""Turn scenes into a diagnosis: `diagnose()`, the `Diagnosis` and its parts."""
