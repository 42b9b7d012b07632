"""Facts of data sets as CSV files; read by :mod:`diaghoi.data.vocabulary`."""
