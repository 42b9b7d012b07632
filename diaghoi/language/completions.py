"""Chat completions through the ``openai`` package, within limits of our own.

The package sends, retries, reads ``Retry-After`` and respects the proxies of the environment. Added
here: replies are limited in size and time, a damaged reply counts as a failed attempt, requests
carry only the few headers that a completion needs, redirects are not followed, and a stop ends all
pauses.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from threading import Event
from typing import Any

import httpx2
import openai

from diaghoi.exceptions import InputError
from diaghoi.language.endpoint import Endpoint, RetryPolicy

_LONGEST_REPLY = 1 << 24  # bytes
_PLACEHOLDER = "set by _Limits"
_HEADERS = frozenset(
    {"accept", "connection", "content-length", "content-type", "host", "user-agent"}
)


class Completions(openai.OpenAI):
    """A client of one model; any number of threads may use it.

    Parameters
    ----------
    endpoint : Endpoint
        The model.
    policy : RetryPolicy
        When to give up.
    stopped : threading.Event
        Set it to end pauses: no further attempt is made.

    Raises
    ------
    InputError
        For an address or a proxy of the environment that cannot be used.
    """

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy, stopped: Event) -> None:
        limits = _Limits(endpoint, policy, stopped)
        try:
            # A redirect would send the key elsewhere. Connections are not kept alive: nobody would
            # close them, and a model takes far longer than a handshake.
            client = httpx2.Client(
                follow_redirects=False,
                timeout=policy.timeout,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
                event_hooks={"request": [limits.before], "response": [limits.after]},
            )
            super().__init__(
                base_url=endpoint.base_url,
                api_key=_PLACEHOLDER,
                max_retries=policy.tries - 1,
                http_client=client,
            )
        except (ValueError, ImportError, httpx2.InvalidURL) as error:
            raise InputError(
                f"{endpoint.host}: cannot be asked ({error}); check the address, and the proxies "
                "in HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
            ) from None
        self._policy = policy
        self._stopped = stopped

    def text(self, body: dict[str, Any]) -> str:
        """Send a request, and return the text of the reply.

        Parameters
        ----------
        body : dict
            The request: ``model``, ``messages`` and more.

        Raises
        ------
        openai.APIStatusError
            If the server refuses, after the last attempt.
        openai.APIConnectionError
            If no complete reply arrives, after the last attempt.
        """
        response = self.post(
            "/chat/completions",
            # ASCII, because names from files may hold characters that UTF-8 cannot encode.
            content=json.dumps(body).encode("ascii"),
            options={"headers": {"Content-Type": "application/json"}},
            cast_to=httpx2.Response,
        )
        return _text(response.content)

    def _sleep_for_retry(
        self, *, retries_taken: int, response: httpx2.Response | None, **others: Any
    ) -> None:
        # The package sleeps without interruption, so a stop would have to wait. It has no public
        # hook to change that.
        headers = None if response is None else response.headers
        requested = self._parse_retry_after_header(headers)
        self._stopped.wait(self._policy.seconds(retries_taken, requested))


class _Limits:
    """Hooks of the client before each request and after each reply."""

    def __init__(self, endpoint: Endpoint, policy: RetryPolicy, stopped: Event) -> None:
        self._endpoint = endpoint
        self._timeout = policy.timeout
        self._stopped = stopped

    def before(self, request: httpx2.Request) -> None:
        """Set the headers; refuse to send after a stop."""
        if self._stopped.is_set():
            raise httpx2.RequestError("stopped", request=request)
        # The package adds headers from environment variables of its own, some of which hold keys,
        # whatever server is asked.
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        # The size of a compressed reply does not limit the memory that it takes.
        request.headers["Accept-Encoding"] = "identity"
        if key := self._endpoint.key:
            request.headers["Authorization"] = f"Bearer {key}"

    def after(self, response: httpx2.Response) -> None:
        """Read the reply; errors raised here make the package retry."""
        # A reply that is compressed anyway is not unpacked, and so counts as damaged.
        response.headers.pop("Content-Encoding", None)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _LimitedStream(response.stream, time.monotonic() + self._timeout)
        response.read()
        if response.status_code == httpx2.codes.OK:
            try:
                _text(response.content)
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                problem = f"{type(error).__name__}: {error}"
                raise httpx2.DecodingError(problem, request=response.request) from None


class _LimitedStream(httpx2.SyncByteStream):
    """The body of a reply, which fails if it is too long or takes too long.

    The timeout of a connection applies to each chunk, so a slow reply could arrive forever.
    """

    def __init__(self, stream: httpx2.SyncByteStream, end: float) -> None:
        self._stream = stream
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > _LONGEST_REPLY:
                raise httpx2.ReadError("the reply is too long")
            if time.monotonic() > self._end:
                raise httpx2.ReadTimeout("the reply takes too long")
            yield part

    def close(self) -> None:
        self._stream.close()


def _text(reply: bytes) -> str:
    """Extract the text of a reply; a damaged reply raises whatever Python raises."""
    message = json.loads(reply)["choices"][0]["message"]
    content = message["content"]
    if content is None:
        content = message.get("refusal")
    if not isinstance(content, str):
        raise TypeError("the reply has no text")
    return content
