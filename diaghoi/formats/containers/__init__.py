"""File containers without a word of HOI: pickle, MATLAB, npz, TOML, safe writing."""
