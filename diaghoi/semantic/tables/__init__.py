"""Similarity tables: reading, rating and agreement with people."""
