"""Where a language model is asked: addresses, API keys and prices as the command line names them.

API keys come from the environment alone.
"""

from __future__ import annotations

import http.client
import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from diaghoi.exceptions import InputError

KEY = "DIAGHOI_API_KEY"
"""The environment variable with the API key, unless an endpoint names another."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A model behind an address.

    Parameters
    ----------
    url : str
        Of the service, such as ``http://localhost:8000/v1``; ``/chat/completions`` is added where
        it is missing.
    model : str
        As the service calls it.
    key_variable : str or None
        The environment variable with the API key; None for no key.

    Raises
    ------
    InputError
        For an address that is none, or holds a password.
    """

    url: str
    model: str
    key_variable: str | None = None

    def __post_init__(self) -> None:
        parts = self._parts
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"{self.url:.80}: is no address of a model; give one like http://localhost:8000/v1"
            )
        if parts.username or parts.password or parts.query:
            raise InputError(
                f"the address of {self.model} holds a password or a query; give keys in the "
                f"environment, as {KEY}, so that they are never logged"
            )
        if not self.model:
            raise InputError(f"{self.url}: names no model; give URL,MODEL")
        if self.key_variable is not None and not os.environ.get(self.key_variable):
            raise InputError(
                f"{self.model}: the environment variable {self.key_variable} is not set; set it to "
                "the API key"
            )

    @property
    def _parts(self) -> SplitResult:
        try:
            parts = urlsplit(self.url)
            _ = parts.port
        except ValueError:
            raise InputError(f"{self.url:.80}: is no address of a model") from None
        return parts

    @property
    def host(self) -> str:
        """Name and port of the server."""
        return self._parts.netloc

    @property
    def path(self) -> str:
        """The path that questions are posted to."""
        path = self._parts.path.rstrip("/")
        return path if path.endswith("/chat/completions") else f"{path}/chat/completions"

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        """Make a connection, which opens with the first question."""
        parts = self._parts
        if parts.scheme == "http":
            return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
        return http.client.HTTPSConnection(
            parts.hostname or "",
            parts.port,
            timeout=timeout,
            context=ssl.create_default_context(),
        )


def read_endpoint(text: str, option: str) -> Endpoint:
    """Read ``URL,MODEL`` or ``URL,MODEL,VARIABLE`` from the command line.

    The variable of the environment holds the API key. Without it, ``DIAGHOI_API_KEY`` is taken
    where it is set.

    Parameters
    ----------
    text : str
        As given.
    option : str
        The option it was given to, for messages.

    Raises
    ------
    InputError
        For something else, and a variable that is not set.
    """
    url, *rest = (part.strip() for part in text.split(","))
    if not 1 <= len(rest) <= 2 or not all(rest):
        raise InputError(
            f"{option} {text!r:.100}: give URL,MODEL such as http://localhost:8000/v1,qwen2.5-vl, "
            "and possibly the environment variable with its API key"
        )
    general = KEY if os.environ.get(KEY) else None
    return Endpoint(url=url, model=rest[0], key_variable=rest[1] if len(rest) == 2 else general)


def read_endpoints(texts: Sequence[str], option: str) -> list[Endpoint]:
    """Read several models that are to answer the same questions.

    Parameters
    ----------
    texts : sequence of str
        As for :func:`read_endpoint`.
    option : str
        The option they were given to, for messages.

    Raises
    ------
    InputError
        For something else, a model that is named twice, and where one key would go to several
        servers.
    """
    found = [read_endpoint(text, option) for text in texts]
    models = [each.model for each in found]
    twice = next((model for model in models if models.count(model) > 1), None)
    if twice is not None:
        raise InputError(f"{option}: {twice} is named twice; its answers would count twice")
    hosts = sorted({each.host for each in found if each.key_variable == KEY})
    if len(hosts) > 1:
        raise InputError(
            f"{KEY} would go to {' and '.join(hosts)}; name the variable of each model: "
            f"{option} URL,MODEL,VARIABLE"
        )
    return found


def read_prices(texts: Sequence[str], models: int) -> list[tuple[float, float]]:
    """Read ``IN,OUT``, prices of a million tokens: one for all models, or one for each.

    Returns
    -------
    list of (float, float)
        One for each model; empty where none is given.

    Raises
    ------
    InputError
        For something else.
    """
    prices = []
    for text in texts:
        try:
            one, other = (float(part) for part in text.split(","))
            if not (0 <= one < float("inf") and 0 <= other < float("inf")):
                raise ValueError
        except ValueError:
            raise InputError(
                f"--price {text!r:.40}: give the price of a million tokens in and out, such as "
                "0.5,1.5"
            ) from None
        prices.append((one, other))
    if len(prices) not in (0, 1, models):
        raise InputError(f"--price: {len(prices)} prices for {models} models; give one for each")
    return prices * models if len(prices) == 1 else prices
