"""OpenCV, the library of the extra ``robustness``, loaded where it is used."""

from __future__ import annotations

import importlib
from typing import Any

from diaghoi.exceptions import InputError


def opencv() -> Any:
    """Import OpenCV.

    Returns
    -------
    module
        ``cv2``.

    Raises
    ------
    InputError
        Where it is missing, with how to install it.
    """
    try:
        return importlib.import_module("cv2")
    except ModuleNotFoundError:
        raise InputError(
            "this needs opencv-python-headless, which is not installed: "
            "pip install 'diaghoi[robustness]'"
        ) from None
