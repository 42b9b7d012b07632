"""Tables of similarity: building, rating, agreement."""
