"""From scenes to a diagnosis: `diagnose()`, the `Diagnosis`, and what it is made of."""
