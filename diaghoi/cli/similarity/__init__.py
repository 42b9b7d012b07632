"""``diaghoi similarity``, and the options of commands that use similarity."""
