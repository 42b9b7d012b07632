"""Build multiple-choice questions from annotations."""
