"""Single errors: which ones to look at, in words, and what the annotations do to them."""
