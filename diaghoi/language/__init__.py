"""Words, senses, and a client for language models."""
