"""Ask a language model over HTTP: any endpoint with OpenAI's chat completions.

Temporary failures (429, 5xx, timeouts, broken connections, damaged replies) are retried with
increasing pauses; permanent failures (such as 401 and 404) end the run at once with a one-line
message. API keys come only from the environment and never appear in messages, and redirects are not
followed, so each key is sent only to its own server.
"""

from __future__ import annotations

import email.utils
import http
import json
import math
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from diaghoi.exceptions import InputError, number_of

if TYPE_CHECKING:
    import httpx2

KEY = "DIAGHOI_API_KEY"
"""Environment variable with the API key, unless an endpoint names another."""
Message = Mapping[str, Any]

LETTERS_PER_TOKEN = 4.0
"""Characters per token, by the usual rule of thumb for English."""
PICTURE_REFUSED = frozenset({400, 413, 415, 422})
"""Statuses with which servers refuse a picture for its content, size or type."""

_PHRASES = {status.value: status.phrase for status in http.HTTPStatus}
_SOON = 0.5  # seconds
_LONGEST_PAUSE = 60.0  # seconds, unless a server asks for a longer pause
_LONGEST_ASKED = 600.0  # seconds; if a server asks for a longer pause, the attempts end
# Shorter keys, such as "none" or "x" for servers without keys, may be ordinary words of a reply.
_SHORTEST_KEY = 16


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A model at a URL, such as ``http://localhost:8000/v1``.

    ``key_variable`` is the environment variable with the API key; None if no key is needed.

    Raises
    ------
    InputError
        If the URL is invalid or has a password or query, there is no model name, or a variable is
        not set or does not hold a key.
    """

    url: str
    model: str
    key_variable: str | None = None

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            _ = parts.port  # raises an error unless the port is a number
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f"{self.url:.80}: is not a model URL; give one such as http://localhost:8000/v1"
            )
        if parts.username or parts.password or parts.query:
            raise InputError(
                f"the URL of {self.model} contains a password or a query; give keys in the "
                f"environment, as {KEY}, so that they are never logged"
            )
        if not self.model:
            raise InputError(f"{self.url}: names no model; give URL,MODEL")
        # HTTP libraries quote header values that they refuse, so an invalid key would end up in a
        # message.
        if self.key_variable is not None and not re.fullmatch("[ -~]+", self.key):
            # The user may have given the key itself instead of the name of a variable.
            named = self.key_variable if self.key else "that is to hold its API key"
            raise InputError(
                f"{self.model}: the environment variable {named} is not set, or contains line "
                "breaks or characters that an API key cannot have; set the variable to the key "
                "alone, and give the name of the variable"
            )

    @property
    def host(self) -> str:
        """Host name and port of the server."""
        return urlsplit(self.url).netloc

    @property
    def base_url(self) -> str:
        """URL without ``/chat/completions``, as expected by OpenAI's client."""
        return self.url.rstrip("/").removesuffix("/chat/completions")

    @property
    def key(self) -> str:
        """The API key, empty if there is none; read from the environment each time."""
        return os.environ.get(self.key_variable or "", "")


class Reply(NamedTuple):
    """The reply of a model.

    ``tokens`` has the tokens with log probabilities; empty if the server does not return
    probabilities.
    """

    text: str
    tokens: tuple[tuple[str, float], ...] = ()


class NoReply(Exception):  # noqa: N818 - it is an outcome of one question, not of the program
    """No attempt brought a reply; the message gives the reason."""


class Refused(NoReply):
    """The server refused a question, although it may accept others."""


@dataclass(kw_only=True)
class Client:
    """Client that asks one model.

    Parameters
    ----------
    endpoint : Endpoint
        The model.
    tries, timeout, pause : int, float, float
        Number of attempts per request, seconds that an attempt may take from connecting to the end
        of the reply, and seconds to wait before the second attempt; this wait doubles before each
        further attempt.
    options : mapping
        Further fields of each request: ``temperature``, ``max_tokens``.
    stopped : threading.Event
        Event that ends all pauses when it is set; pending questions then fail.
    single : frozenset of int
        Statuses with which a server refuses only one question, such as :data:`PICTURE_REFUSED`.
    leaving : callable
        Called with the number of pending requests when a run stops early. The run then waits for
        these requests, and stores their answers, too.

    Raises
    ------
    InputError
        If the package ``openai`` is missing, or the address cannot be used.
    """

    endpoint: Endpoint
    tries: int = 6
    timeout: float = 300.0
    pause: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    stopped: Event = field(default_factory=Event)
    single: frozenset[int] = frozenset()
    leaving: Callable[[int], Any] = field(default=lambda requests: None)
    _send: Callable[[bytes], httpx2.Response | str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The connection is set up here rather than with the first question, so that problems appear
        # before any preparation.
        try:
            from diaghoi.language.completions import connect
        except ModuleNotFoundError:
            raise InputError(
                "asking a language model needs openai, which is not installed: "
                "pip install 'diaghoi[ask]'"
            ) from None
        self._send = connect(self.endpoint.base_url, lambda: self.endpoint.key, self.timeout)

    def ask(self, messages: Sequence[Message]) -> str:
        """Return the text of the reply to a question; the text may be a refusal by the model.

        Parameters and errors are as in :meth:`reply`.
        """
        return self.reply(messages).text

    def reply(self, messages: Sequence[Message], *, probabilities: bool = False) -> Reply:
        """Ask a question and return the reply, with tokens if the server returns probabilities.

        Parameters
        ----------
        messages : sequence of mapping
            In the format of OpenAI's chat completions: ``role`` and ``content``, which may be a
            list with images.
        probabilities : bool
            Whether to request token probabilities, which some servers refuse.

        Raises
        ------
        NoReply
            If even the last attempt brings no reply.
        Refused
            If the server refuses this question, which is not retried.
        InputError
            If no retry would help: the key, the address or the model is wrong.
        """
        body = {"model": self.endpoint.model, "messages": list(messages), **self.options}
        if probabilities:
            body["logprobs"] = True
        # ASCII, because file names may contain characters that UTF-8 cannot encode.
        data = json.dumps(body).encode("ascii")
        problem = ""
        for attempt in range(self.tries):
            if self.stopped.is_set():
                raise NoReply("stopped")
            response, pause = self._send(data), None
            if isinstance(response, str):
                problem = response
            elif response.status_code == http.HTTPStatus.OK:
                try:
                    text, tokens = _read(response.content)
                    hidden = len(self.endpoint.key) >= _SHORTEST_KEY
                    return Reply(self._without_key(text) if hidden else text, tokens)
                except (ValueError, LookupError, TypeError, RecursionError) as error:
                    problem = f"the reply is damaged ({type(error).__name__}: {error})"
            else:
                problem, pause = self._temporary(response), _pause_asked(response.headers)
            if pause is None:
                # The jitter only spreads the server load; no result depends on it.
                longest = min(self.pause * 2.0**attempt, _LONGEST_PAUSE)
                pause = longest * random.uniform(0.5, 1.0)
            elif pause > _LONGEST_ASKED:
                problem += (
                    f" (the server asks to wait {pause:,.0f} seconds, more than the "
                    f"{_LONGEST_ASKED:,.0f} that diaghoi waits at most)"
                )
                break
            if attempt + 1 < self.tries:
                self.stopped.wait(pause if pause > 0 else 0.0)  # NaN becomes 0, too
        raise NoReply(self._without_key(problem))

    def _temporary(self, response: httpx2.Response) -> str:
        """Describe a temporary failure; raise an error if the failure is permanent."""
        status = response.status_code
        # The key is removed before the text is truncated, because truncation might leave part of
        # the key.
        said = self._without_key(" ".join(response.content.decode("utf-8", "replace").split()))
        phrase = _PHRASES.get(status, "")
        problem = f"HTTP {status} {phrase}: {said:.200}".rstrip(": ")
        # A success status other than 200 has no completion.
        if status in (408, 409, 425, 429) or status >= 500 or 200 <= status < 300:
            return problem
        if status in self.single:
            raise Refused(problem)
        advice = {
            401: f"set the API key in {self.endpoint.key_variable or KEY}",
            403: f"check the API key in {self.endpoint.key_variable or KEY}",
            404: "check the URL and the model name",
        }
        if 300 <= status < 400:
            advice[status] = "give the URL to which the server redirects"
        raise InputError(
            f"{self.endpoint.host}: {self.endpoint.model}: {problem}; "
            f"{advice.get(status, 'the request would fail again')}"
        )

    def _without_key(self, text: str) -> str:
        """Remove the API key from a text that a server or library returned."""
        return text.replace(self.endpoint.key, "***") if self.endpoint.key else text


def _read(content: bytes) -> Reply:
    """Extract text and tokens of a reply; a damaged reply may raise any exception."""
    choice = json.loads(content)["choices"][0]
    message = choice["message"]
    text = message["content"]
    if text is None:
        text = message.get("refusal")
    if not isinstance(text, str):
        raise TypeError("the reply has no text")
    try:
        rows = choice["logprobs"]["content"]
        tokens = tuple((str(row["token"]), float(row["logprob"])) for row in rows)
    except (LookupError, TypeError, ValueError, OverflowError):
        tokens = ()
    # Rounding may move a certain token slightly above 0.
    return Reply(text, tokens if all(logarithm < 0.01 for _, logarithm in tokens) else ())


def _pause_asked(headers: Mapping[str, str]) -> float | None:
    """Return the wait that a server requests, in seconds; None if it requests no wait."""
    for name, divisor in (("Retry-After-Ms", 1000), ("Retry-After", 1)):
        with suppress(ValueError):
            return float(headers.get(name, "")) / divisor
    try:
        date = email.utils.parsedate_tz(headers.get("Retry-After", ""))
        return None if date is None else email.utils.mktime_tz(date) - time.time()
    except (TypeError, ValueError, OverflowError, OSError):
        return None


class Outcome(NamedTuple):
    """The tag of a question, with its result or with the reason why it has no result."""

    tag: Any
    value: Any = None
    failure: str = ""


def ask_all(
    work: Callable[[Any], Any],
    tags: Iterable[Any],
    client: Client,
    *,
    workers: int = 8,
    give_up: int = 5,
    proven: bool = False,
) -> Iterator[Outcome]:
    """Ask many questions concurrently, and yield outcomes as they arrive.

    Parameters
    ----------
    work : callable
        Asks the question with the given tag through the client, and stores the answer; runs in
        threads.
    tags : iterable
        One tag per question. Tags are taken from the iterable as needed.
    client : Client
        Client that is stopped when the caller stops or an error ends the run.
    workers : int
        Maximum number of questions that are pending at a time.
    give_up : int
        Number of consecutive questions without a reply that end the run with an ``InputError``;
        refusals count only until the first answer.
    proven : bool
        Whether the model has already answered a question in an earlier run.
    """
    tags = iter(tags)
    failed = 0
    client.stopped.clear()
    with ThreadPoolExecutor(workers) as pool:
        under_way: dict[Future[Any], Any] = {}
        try:
            while True:
                for tag in islice(tags, workers - len(under_way)):
                    under_way[pool.submit(work, tag)] = tag
                if not under_way:
                    return
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    tag = under_way.pop(done)
                    try:
                        yield Outcome(tag=tag, value=done.result())
                        # Once the model has answered, a refusal concerns one question, not the
                        # model.
                        failed, proven = 0, True
                    except NoReply as failure:
                        failed += not (proven and isinstance(failure, Refused))
                        if failed >= give_up:
                            raise InputError(
                                f"{client.endpoint.host}: {client.endpoint.model}: {failed} "
                                f"questions in a row without a reply ({failure!s:.200}); check "
                                "that the server is running, and start again"
                            ) from None
                        yield Outcome(tag=tag, failure=str(failure))
        finally:
            # Interrupts, and callers that stop iterating, also lead to this block. Pauses end, but
            # the run waits for pending requests: they are paid for, and their threads store the
            # answers.
            client.stopped.set()
            if left := wait(under_way, timeout=_SOON).not_done:
                client.leaving(len(left))


def read_endpoint(text: str, option: str) -> Endpoint:
    """Read ``URL,MODEL`` or ``URL,MODEL,VARIABLE`` from the command line.

    The environment variable contains the API key. The default is ``DIAGHOI_API_KEY`` if it is set.

    Raises
    ------
    InputError
        If the text has neither of the two forms (the message names the option), or as
        :class:`Endpoint`.
    """
    url, *rest = (part.strip() for part in text.split(","))
    if not 1 <= len(rest) <= 2 or not all(rest):
        raise InputError(
            f"{option}: has {number_of('part', 1 + len(rest))}; give URL,MODEL such as "
            "http://localhost:8000/v1,qwen2.5-vl, and possibly the name of the environment "
            "variable with its API key"
        )
    general = KEY if os.environ.get(KEY) else None
    return Endpoint(url=url, model=rest[0], key_variable=rest[1] if len(rest) == 2 else general)


def read_endpoints(texts: Sequence[str], option: str) -> list[Endpoint]:
    """Read the endpoints of models that answer the same questions; see :func:`read_endpoint`.

    Raises
    ------
    InputError
        If a text cannot be read, a model appears twice, or one key would go to several servers.
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
    """Read prices per million tokens: one ``IN,OUT`` for all models, or one for each model.

    Raises
    ------
    InputError
        If a text is not two prices, or several texts are given, but not one for each model.
    """
    prices = []
    for text in texts:
        try:
            price_in, price_out = map(float, text.split(","))
        except ValueError:
            price_in = price_out = math.nan
        if not (0 <= price_in < math.inf and 0 <= price_out < math.inf):
            raise InputError(
                f"--price {text!r:.40}: give the price of a million input and output tokens, such "
                "as 0.5,1.5"
            )
        prices.append((price_in, price_out))
    if len(prices) not in (0, 1, models):
        raise InputError(f"--price: {len(prices)} prices for {models} models; give one for each")
    return prices * models if len(prices) == 1 else prices
