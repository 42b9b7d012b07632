"""Content of files, independent of HOI: the container, and the literals that Python prints."""
