"""``diaghoi panel``: pictures in rows and columns, for a paper."""
