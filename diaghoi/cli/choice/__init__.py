"""The commands of `diaghoi choice`."""
