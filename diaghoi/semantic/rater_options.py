"""Raters as they are named on the command line, and their API keys."""

from __future__ import annotations

import os
from collections.abc import Sequence

from diaghoi.endpoint import KEY, Endpoint
from diaghoi.exceptions import InputError


def read_raters(texts: Sequence[str]) -> list[Endpoint]:
    """Read ``URL,MODEL`` or ``URL,MODEL,VARIABLE``.

    The variable of the environment holds the API key. Without it, ``DIAGHOI_API_KEY`` is taken
    where it is set; it is given to one server alone.

    Raises
    ------
    InputError
        For something else, a model that is named twice, a variable that is not set, and where one
        key would go to several servers.
    """
    raters = []
    for text in texts:
        url, *rest = (part.strip() for part in text.split(","))
        if not 1 <= len(rest) <= 2 or not all(rest):
            raise InputError(
                f"--rater {text!r:.100}: give URL,MODEL such as http://localhost:8000/v1,qwen3, "
                "and possibly the environment variable with its API key"
            )
        general = KEY if os.environ.get(KEY) else None
        variable = rest[1] if len(rest) == 2 else general
        raters.append(Endpoint(url=url, model=rest[0], key_variable=variable))
    models = [rater.model for rater in raters]
    twice = next((model for model in models if models.count(model) > 1), None)
    if twice is not None:
        raise InputError(f"--rater: {twice} is named twice; its answers would count twice")
    hosts = sorted({rater.host for rater in raters if rater.key_variable == KEY})
    if len(hosts) > 1:
        raise InputError(
            f"{KEY} would go to {' and '.join(hosts)}; name the variable of each rater: "
            "--rater URL,MODEL,VARIABLE"
        )
    return raters


def read_prices(texts: Sequence[str], raters: int) -> list[tuple[float, float]]:
    """Read ``IN,OUT``, prices of a million tokens: one for all raters, or one for each.

    Returns
    -------
    list of (float, float)
        One for each rater; empty where none is given.

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
    if len(prices) not in (0, 1, raters):
        raise InputError(f"--price: {len(prices)} prices for {raters} raters; give one for each")
    return prices * raters if len(prices) == 1 else prices
