"""The commands of `diaghoi similarity`."""
