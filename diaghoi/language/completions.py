"""Chat completions through the ``openai`` package, within limits of our own.

The package sends, retries, reads ``Retry-After`` and respects the proxies of the environment. Added
here: replies are limited in size, attempts in their total time and pauses by our own policy, a
damaged reply counts as a failed attempt, requests carry only the few headers that a completion
needs, redirects are not followed, and a stop ends all pauses.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from threading import Event, Timer
from typing import Any, NamedTuple

import httpx2
import openai

from diaghoi.exceptions import InputError
from diaghoi.language.endpoint import Endpoint, RetryPolicy

_LONGEST_REPLY = 1 << 24  # bytes
_PLACEHOLDER = "set by _Limits"
_HEADERS = frozenset(
    {"accept", "connection", "content-length", "content-type", "host", "user-agent"}
)


class Reply(NamedTuple):
    """The reply of a model.

    Parameters
    ----------
    text : str
        What it says, or why it refuses to.
    tokens : tuple of (str, float)
        The tokens of the text, each with the logarithm of its probability; empty where the server
        does not give them.
    """

    text: str
    tokens: tuple[tuple[str, float], ...] = ()


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
        limits = _Limits(endpoint, stopped)
        try:
            # A redirect would send the key elsewhere. Connections are not kept alive: nobody would
            # close them, and a model takes far longer than a handshake.
            client = _Client(
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

    def reply(self, body: dict[str, Any]) -> Reply:
        """Send a request, and return the reply.

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
        return _reply(response.content)

    def pause_asked(self, response: httpx2.Response) -> float | None:
        """Seconds that a server asks to wait; None if it does not."""
        return self._parse_retry_after_header(response.headers)

    def _should_retry(self, response: httpx2.Response) -> bool:
        # The package refuses pauses that servers ask for otherwise, and lets them decide.
        return self._policy.retries(response.status_code, self.pause_asked(response))

    def _sleep_for_retry(
        self, *, retries_taken: int, response: httpx2.Response | None, **others: Any
    ) -> None:
        # The package sleeps without interruption, so a stop would have to wait. It has no public
        # hook to change that.
        requested = None if response is None else self.pause_asked(response)
        self._stopped.wait(self._policy.seconds(retries_taken, requested))


class _Client(httpx2.Client):
    """A client whose timeout holds for an attempt as a whole.

    The timeout of the package applies to each read, so that a server which sends a byte now and
    then, or one ``100 Continue`` after another, could take forever. Here the connection is shut
    down at the end of the time, whatever is being read or written.
    """

    def send(self, request: httpx2.Request, **choices: Any) -> httpx2.Response:
        connections: list[socket.socket] = []
        late = Event()

        def watch(event: str, info: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                # A duplicate: TLS takes the socket itself over.
                connections.append(info["return_value"].get_extra_info("socket").dup())
                if late.is_set():
                    end()

        def end() -> None:
            late.set()
            for each in connections:
                with suppress(OSError):  # closed by the server
                    each.shutdown(socket.SHUT_RDWR)

        request.extensions["trace"] = watch
        timer = Timer(self.timeout.read or 0.0, end)
        timer.daemon = True
        timer.start()
        try:
            return super().send(request, **choices)
        except httpx2.RequestError:
            if late.is_set():
                raise httpx2.ReadTimeout("the reply takes too long", request=request) from None
            raise
        finally:
            timer.cancel()
            timer.join()
            for each in connections:
                each.close()


class _Limits:
    """Hooks of the client before each request and after each reply."""

    def __init__(self, endpoint: Endpoint, stopped: Event) -> None:
        self._endpoint = endpoint
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
        response.stream = _LimitedStream(response.stream)
        response.read()
        if response.status_code == httpx2.codes.OK:
            try:
                _reply(response.content)
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                problem = f"{type(error).__name__}: {error}"
                raise httpx2.DecodingError(problem, request=response.request) from None


class _LimitedStream(httpx2.SyncByteStream):
    """The body of a reply, which fails if it is too long."""

    def __init__(self, stream: httpx2.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > _LONGEST_REPLY:
                raise httpx2.ReadError("the reply is too long")
            yield part

    def close(self) -> None:
        self._stream.close()


def _reply(reply: bytes) -> Reply:
    """Extract text and tokens of a reply; a damaged reply raises whatever Python raises."""
    choice = json.loads(reply)["choices"][0]
    message = choice["message"]
    content = message["content"]
    if content is None:
        content = message.get("refusal")
    if not isinstance(content, str):
        raise TypeError("the reply has no text")
    return Reply(content, _tokens(choice))


def _tokens(choice: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """Extract the tokens with their logarithms; none where any of them is not what it should be."""
    try:
        rows = choice["logprobs"]["content"]
        tokens = tuple((str(row["token"]), float(row["logprob"])) for row in rows)
    except (LookupError, TypeError, ValueError, OverflowError):
        return ()
    # Rounding may put a certain token a little above 0.
    return tokens if all(logarithm < 0.01 for _, logarithm in tokens) else ()
