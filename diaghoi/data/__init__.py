"""The data structure: vocabulary, protocol, splits, scenes and their boxes."""
