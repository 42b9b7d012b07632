"""Individual errors: the worst cases, their descriptions, and causes in the annotations."""
