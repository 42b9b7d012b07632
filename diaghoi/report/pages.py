"""Load the templates of all pages, and make text safe for them."""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from diaghoi.exceptions import InputError

if TYPE_CHECKING:
    from jinja2 import Template

# Control characters, marks that change the text direction, and lone surrogates, which UTF-8 cannot
# encode. File names may contain any of these characters.
UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def check_installed() -> None:
    """Check that the package for writing pages is installed.

    Raises
    ------
    InputError
        If jinja2 is missing.
    """
    try:
        import jinja2  # noqa: F401
    except ModuleNotFoundError:
        raise InputError(
            "a page needs jinja2, which is not installed: pip install 'diaghoi[html]'"
        ) from None


@cache
def template(name: str) -> Template:
    """Load a template that escapes its values.

    Parameters
    ----------
    name : str
        Template file in this folder, such as ``gallery.html.j2``.

    Raises
    ------
    InputError
        If jinja2 is missing.
    """
    check_installed()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("diaghoi.report", ""),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    return environment.get_template(name)


def jpeg_url(jpeg: bytes) -> str:
    """Encode a JPEG as a data URL, so that a page contains its pictures."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _shown(value: Any) -> Any:
    if not isinstance(value, str) or value.isprintable() or hasattr(value, "__html__"):
        return value
    return UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", value)
