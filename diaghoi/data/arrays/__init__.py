"""Index arithmetic, ranking, threads and temporary files: NumPy without a word of HOI."""
