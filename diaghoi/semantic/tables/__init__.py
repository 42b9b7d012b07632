"""Tables of similarity: reading, rating and agreement with people."""
