"""Golden results: what the command line wrote as JSON before."""
