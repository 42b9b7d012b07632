"""Shared parts of readers: columns of rows, numbering, checks, merging."""
