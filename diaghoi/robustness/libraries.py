"""The libraries of the extra ``robustness``, loaded where they are used."""

from __future__ import annotations

import importlib
from typing import Any

from diaghoi.exceptions import InputError


def library(name: str, package: str) -> Any:
    """Import a library that not every installation has.

    Parameters
    ----------
    name : str
        As it is imported, such as ``cv2``.
    package : str
        As it is installed, such as ``opencv-python-headless``.

    Returns
    -------
    module
        The library.

    Raises
    ------
    InputError
        Where it is missing.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise InputError(
            f"this needs {package}, which is not installed: pip install 'diaghoi[robustness]'"
        ) from None


def opencv() -> Any:
    """Give OpenCV, or say how it is installed."""
    return library("cv2", "opencv-python-headless")


def scikit_image(module: str) -> Any:
    """Give a module of scikit-image, or say how it is installed."""
    return library(f"skimage.{module}", "scikit-image")
