"""Folders and files of pictures."""
