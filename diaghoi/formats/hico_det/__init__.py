"""The files of HICO-DET."""
