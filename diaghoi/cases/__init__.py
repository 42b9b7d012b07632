"""Single errors: the worst cases, their descriptions, and likely causes in the annotations."""
