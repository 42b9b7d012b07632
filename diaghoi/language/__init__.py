"""Words, senses, and the client for language models."""
