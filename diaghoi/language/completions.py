"""Send single chat completion requests through the ``openai`` package, with additional limits.

The ``openai`` package builds and sends requests, and respects proxies in the environment. This
module limits the size and the total time of a reply, sends only the headers that a completion
needs, and does not follow redirects.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from threading import Event, Timer
from typing import Any

import httpx2
import openai

from diaghoi.exceptions import InputError

_LONGEST_REPLY = 1 << 24  # bytes
_HEADERS = {"accept", "connection", "content-length", "content-type", "host", "user-agent"}


def connect(
    base_url: str, key: Callable[[], str], timeout: float
) -> Callable[[bytes], httpx2.Response | str]:
    """Return a function that sends the body of a request once, in any thread.

    The function returns the reply, whatever its status, or the reason why no complete reply arrived
    within ``timeout`` seconds in total. ``key`` returns the API key, or an empty string if no key
    is needed.

    Raises
    ------
    InputError
        If the address, or a proxy named in the environment, cannot be used.
    """
    try:
        client = openai.OpenAI(
            base_url=base_url,
            api_key="set with each request",
            max_retries=0,
            http_client=_HttpClient(key, timeout),
        )
    except (ValueError, ImportError, httpx2.InvalidURL) as error:
        raise InputError(
            f"{base_url}: cannot be reached ({error}); check the URL, and the proxies in "
            "HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
        ) from None

    def send(body: bytes) -> httpx2.Response | str:
        try:
            return client.post(
                "/chat/completions",
                content=body,
                options={"headers": {"Content-Type": "application/json"}},
                cast_to=httpx2.Response,
            )
        except openai.APIStatusError as error:
            return error.response
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            return f"{type(cause).__name__}: {cause}".removesuffix(": ")

    return send


class _HttpClient(httpx2.Client):
    """A client whose timeout applies to a whole request.

    The timeout of the HTTP library applies to each read, so a server that sends an occasional byte,
    or one ``100 Continue`` after another, could take forever. This client shuts the connection down
    when the time is up, even in the middle of reading or writing.
    """

    def __init__(self, key: Callable[[], str], timeout: float) -> None:
        # A redirect would send the key to another server. Connections are not kept alive: nothing
        # would close them, and a model takes far longer than a handshake.
        super().__init__(
            follow_redirects=False,
            timeout=timeout,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        )
        self._key = key
        self._seconds = timeout

    def send(self, request: httpx2.Request, **choices: Any) -> httpx2.Response:
        # The library would send headers from its environment variables, some of which contain keys,
        # to any server.
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        # The size of a compressed reply does not limit its memory use.
        request.headers["Accept-Encoding"] = "identity"
        if key := self._key():
            request.headers["Authorization"] = f"Bearer {key}"

        connections: list[socket.socket] = []
        late = Event()

        def watch(event: str, info: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                # A duplicate of the socket is kept, because TLS takes over the original.
                connections.append(info["return_value"].get_extra_info("socket").dup())
                if late.is_set():
                    end()

        def end() -> None:
            late.set()
            for connection in connections:
                with suppress(OSError):  # the server has closed the connection
                    connection.shutdown(socket.SHUT_RDWR)

        request.extensions["trace"] = watch
        timer = Timer(self._seconds, end)
        timer.daemon = True
        timer.start()
        try:
            with closing(super().send(request, **{**choices, "stream": True})) as reply:
                content = bytearray()
                # Raw bytes are read: if a server compresses the reply in spite of the header, the
                # reply is not unpacked, and counts as damaged.
                for part in reply.iter_raw():
                    content += part
                    if len(content) > _LONGEST_REPLY:
                        raise httpx2.ReadError("the reply is too long")
        except httpx2.RequestError:
            if late.is_set():
                raise httpx2.ReadTimeout("the reply takes too long", request=request) from None
            raise
        finally:
            timer.cancel()
            timer.join()
            for connection in connections:
                connection.close()
        reply.headers.pop("Content-Encoding", None)
        return httpx2.Response(
            reply.status_code, headers=reply.headers, content=bytes(content), request=request
        )
