"""Single errors: the worst cases, their descriptions, and possible causes in the annotations."""
