"""File containers, independent of HOI: pickle, MATLAB, npz, TOML, atomic writing."""
