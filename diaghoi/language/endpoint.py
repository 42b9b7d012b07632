"""Endpoints of language models: addresses, API keys and prices.

API keys come only from the environment.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from diaghoi.exceptions import InputError

KEY = "DIAGHOI_API_KEY"
"""The environment variable with the API key, unless an endpoint names another."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A model behind an address.

    Parameters
    ----------
    url : str
        Base URL of the service, such as ``http://localhost:8000/v1``; ``/chat/completions`` is
        added if it is missing.
    model : str
        Name of the model at the service.
    key_variable : str or None
        The environment variable with the API key; None for no key.

    Raises
    ------
    InputError
        For text that is not an address, an address with a password, and a variable that is not set
        or does not hold a key.
    """

    url: str
    model: str
    key_variable: str | None = None

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            _ = parts.port  # refuses what is not a number
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"{self.url:.80}: is not the address of a model; give one like "
                "http://localhost:8000/v1"
            )
        if parts.username or parts.password or parts.query:
            raise InputError(
                f"the address of {self.model} holds a password or a query; give keys in the "
                f"environment, as {KEY}, so that they are never logged"
            )
        if not self.model:
            raise InputError(f"{self.url}: names no model; give URL,MODEL")
        if self.key_variable is not None and not self.key:
            raise InputError(
                f"{self.model}: the environment variable {self.key_variable} is not set; set it to "
                "the API key"
            )
        # Header libraries quote what they refuse, so such a key would end up in a message.
        if not (self.key.isascii() and self.key.isprintable()):
            raise InputError(
                f"{self.model}: the environment variable {self.key_variable} holds line ends or "
                "letters that an API key cannot have; set it to the key alone"
            )

    @property
    def host(self) -> str:
        """Name and port of the server."""
        return urlsplit(self.url).netloc

    @property
    def base_url(self) -> str:
        """The address without ``/chat/completions``, as OpenAI's client expects it."""
        return self.url.rstrip("/").removesuffix("/chat/completions")

    @property
    def key(self) -> str:
        """The API key, empty if there is none; read from the environment each time."""
        return os.environ.get(self.key_variable or "", "")


def read_endpoint(text: str, option: str) -> Endpoint:
    """Read ``URL,MODEL`` or ``URL,MODEL,VARIABLE`` from the command line.

    The environment variable holds the API key. By default ``DIAGHOI_API_KEY`` is used if it is set.

    Parameters
    ----------
    text : str
        As given.
    option : str
        The option it was given to, for messages.

    Raises
    ------
    InputError
        For any other text, and a variable that is not set.
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
        For any other text, a model that appears twice, and one key that would go to several
        servers.
    """
    endpoints = [read_endpoint(text, option) for text in texts]
    models = [endpoint.model for endpoint in endpoints]
    twice = next((model for model in models if models.count(model) > 1), None)
    if twice is not None:
        raise InputError(f"{option}: {twice} is named twice; its answers would count twice")
    hosts = sorted({each.host for each in endpoints if each.key_variable == KEY})
    if len(hosts) > 1:
        raise InputError(
            f"{KEY} would go to {' and '.join(hosts)}; name the variable of each model: "
            f"{option} URL,MODEL,VARIABLE"
        )
    return endpoints


def read_prices(texts: Sequence[str], models: int) -> list[tuple[float, float]]:
    """Read ``IN,OUT``, prices of a million tokens: one for all models, or one for each.

    Returns
    -------
    list of (float, float)
        One for each model; empty if none is given.

    Raises
    ------
    InputError
        For something else.
    """
    prices = []
    for text in texts:
        try:
            price_in, price_out = map(float, text.split(","))
        except ValueError:
            price_in = price_out = math.nan
        if not (0 <= price_in < math.inf and 0 <= price_out < math.inf):
            raise InputError(
                f"--price {text!r:.40}: give the price of a million tokens in and out, such as "
                "0.5,1.5"
            )
        prices.append((price_in, price_out))
    if len(prices) not in (0, 1, models):
        raise InputError(f"--price: {len(prices)} prices for {models} models; give one for each")
    return prices * models if len(prices) == 1 else prices
