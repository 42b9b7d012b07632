"""Random generators that depend on what is drawn, and not on what was drawn before."""

from __future__ import annotations

import hashlib

import numpy as np


def seeded(seed: int, *names: object) -> np.random.Generator:
    """Return a random generator whose state is a hash of the seed and some names (SHA-256).

    Parameters
    ----------
    seed : int
        Of the whole run.
    names : object
        What is drawn, and for which image: neither order nor number of workers matters.
    """
    return hashed("\0".join(map(str, (seed, *names))))


def hashed(key: str) -> np.random.Generator:
    """Return a random generator whose state is the hash of a text (SHA-256)."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))
