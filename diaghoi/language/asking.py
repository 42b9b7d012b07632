"""Asking a language model over HTTP: any endpoint that speaks OpenAI's chat completions.

What passes by itself (429, 5xx, timeouts, broken connections, damaged replies) is tried again with
growing pauses; what does not (401, 404 and the like) ends at once with one line. API keys are in no
message, and are not sent on to where a server redirects.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from threading import Event
from typing import Any, Generic, TypeVar

from diaghoi.exceptions import InputError
from diaghoi.language.endpoint import KEY, Endpoint

Message = Mapping[str, Any]
Tag = TypeVar("Tag")

LETTERS_A_TOKEN = 4.0
"""Customary rule of thumb for English."""
PICTURE_REFUSED = frozenset({400, 413, 415, 422})
"""Statuses by which servers refuse a picture: its content, size or kind."""

_TRIED_AGAIN = frozenset({408, 409, 425, 429})
_LONGEST_REPLY = 1 << 24  # bytes
_SOON = 0.5  # seconds
# Shorter ones, such as "none" or "x" for servers without keys, may be words of a reply.
_SHORTEST_KEY = 16


class NoReply(Exception):  # noqa: N818 - it is an outcome of one question, not of the program
    """A question that stays without a reply after all tries; the message says why."""


class Refused(NoReply):
    """A question that the server does not take, while it may take others."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait, and how often to try.

    Parameters
    ----------
    tries : int
        Tries for each question.
    timeout : float
        Seconds to wait for a reply.
    pause : float
        Seconds before the second try; they double with each further one.
    longest : float
        The longest pause in seconds, also where a server asks for more.
    """

    tries: int = 6
    timeout: float = 120.0
    pause: float = 1.0
    longest: float = 60.0

    def seconds(self, attempt: int, asked: float | None) -> float:
        """Pause after a failed try (from 0): what the server asks for, or a growing random one."""
        if asked is not None:
            return min(asked, self.longest) if asked >= 0 else 0.0
        # Only spreads the load of a server: no result depends on it.
        return min(self.pause * 2.0**attempt, self.longest) * random.uniform(0.5, 1.0)


@dataclass(kw_only=True)
class Client:
    """Asks one model.

    Parameters
    ----------
    endpoint : Endpoint
        The model.
    patience : Patience
        When to give up.
    options : mapping
        Further fields of each request: ``temperature``, ``max_tokens``.
    stopped : threading.Event
        Set it to end pauses: the questions under way then fail.
    single : frozenset of int
        Statuses that refuse one question and not all of them, such as :data:`PICTURE_REFUSED`
        where each question has a picture of its own.
    leaving : callable
        Called with the number of requests still under way when a run is stopped or given up, before
        they are waited for: their answers are kept, too.
    """

    endpoint: Endpoint
    patience: Patience = field(default_factory=Patience)
    options: Mapping[str, Any] = field(default_factory=dict)
    stopped: Event = field(default_factory=Event)
    single: frozenset[int] = frozenset()
    leaving: Callable[[int], Any] = field(default=lambda requests: None)

    def ask(self, messages: Sequence[Message]) -> str:
        """Ask and return the text of the reply, which may be that of a refusal by the model.

        Parameters
        ----------
        messages : sequence of mapping
            As the chat completions of OpenAI have them: ``role`` and ``content``, which may be a
            list with images.

        Raises
        ------
        NoReply
            After the last try.
        Refused
            Where the server does not take this question; it is not tried again.
        InputError
            Where no further try would help: the key, the address or the model is wrong.
        """
        body = {"model": self.endpoint.model, "messages": list(messages), **self.options}
        data = json.dumps(body).encode()
        problem = ""
        for attempt in range(self.patience.tries):
            if self.stopped.is_set():
                break
            asked = None
            try:
                status, headers, reply = self._post(data)
                if status == http.client.OK:
                    text = _text(reply)
                    return self._clean(text) if len(self._key) >= _SHORTEST_KEY else text
                problem, asked = self._refused(status, reply), _retry_after(headers)
            except (
                OSError,
                http.client.HTTPException,
                ValueError,
                LookupError,
                TypeError,
            ) as error:
                if isinstance(error, InputError):
                    raise
                problem = f"{type(error).__name__}: {error}".removesuffix(": ")
            if attempt + 1 < self.patience.tries:
                self.stopped.wait(self.patience.seconds(attempt, asked))
        raise NoReply(self._clean(problem) or "stopped")

    def _post(self, data: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = self.endpoint.connect(self.patience.timeout)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        key = self._key
        if key:
            headers["Authorization"] = f"Bearer {key}"
        try:
            connection.request("POST", self.endpoint.path, data, headers)
            response = connection.getresponse()
            return response.status, response.headers, _read(response, self.patience.timeout)
        finally:
            connection.close()

    @property
    def _key(self) -> str:
        return os.environ.get(self.endpoint.key_variable or "", "")

    def _refused(self, status: int, reply: bytes) -> str:
        """Say what a server refused; raise where asking again would not help."""
        said = self._clean(" ".join(reply[:2000].decode("utf-8", "replace").split()))
        problem = f"HTTP {status} {http.client.responses.get(status, '')}: {said:.200}".rstrip(": ")
        if status in _TRIED_AGAIN or status >= 500:
            return problem
        if status in self.single:
            raise Refused(problem)
        advice = {
            401: f"set the API key in {self.endpoint.key_variable or KEY}",
            403: f"look at the API key in {self.endpoint.key_variable or KEY}",
            404: "look at the address and the name of the model",
        }
        if 300 <= status < 400:
            advice[status] = "give the address that it redirects to"
        raise InputError(
            f"{self.endpoint.host}: {self.endpoint.model}: {problem}; "
            f"{advice.get(status, 'the request would fail again')}"
        )

    def _clean(self, text: str) -> str:
        """Take the key out of what a server or library says."""
        return text.replace(self._key, "***") if self._key else text


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[Tag]):
    """What became of one question.

    Parameters
    ----------
    tag : object
        What was given with it.
    value : object
        What was made of it, None where there is none.
    failure : str
        Why there is none; empty where there is.
    """

    tag: Tag
    value: Any = None
    failure: str = ""


def ask_all(
    work: Callable[[Tag], Any],
    tags: Iterable[Tag],
    client: Client,
    *,
    workers: int = 8,
    give_up: int = 5,
    proven: bool = False,
) -> Iterator[Outcome[Tag]]:
    """Put many questions at once, and give the outcomes as they come.

    Parameters
    ----------
    work : callable
        Asks the question of a tag through the client, and keeps the answer; runs in threads.
    tags : iterable
        One for each question; read as far ahead as there are workers.
    client : Client
        Stopped when the caller stops, or an error ends the run.
    workers : int
        Questions under way at a time.
    give_up : int
        So many questions one after the other without a reply end the run; refused ones do so only
        before any is answered.
    proven : bool
        Whether the model has answered such questions in an earlier run.

    Raises
    ------
    InputError
        Where no further question can succeed.
    """
    tags = iter(tags)
    failed = 0
    client.stopped.clear()
    with ThreadPoolExecutor(workers) as pool:
        under_way: dict[Future[Any], Tag] = {}
        try:
            while True:
                while len(under_way) < workers:
                    tag = next(tags, None)
                    if tag is None:
                        break
                    under_way[pool.submit(work, tag)] = tag
                if not under_way:
                    return
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    tag = under_way.pop(done)
                    try:
                        yield Outcome(tag=tag, value=done.result())
                        failed, proven = 0, True
                    except NoReply as failure:
                        failed += not (proven and isinstance(failure, Refused))
                        if failed >= give_up:
                            raise InputError(
                                f"{client.endpoint.host}: {client.endpoint.model}: {failed} "
                                f"questions in a row without a reply ({failure!s:.200}); see that "
                                "the server runs, and start again"
                            ) from None
                        yield Outcome(tag=tag, failure=str(failure))
        finally:
            client.stopped.set()
            if left := wait(under_way, timeout=_SOON).not_done:
                client.leaving(len(left))


def _text(reply: bytes) -> str:
    """Text of a reply; the errors of a damaged one are those of Python."""
    message = json.loads(reply)["choices"][0]["message"]
    content = message["content"]
    if content is None:
        content = message.get("refusal")
    if not isinstance(content, str):
        raise TypeError("the reply has no text")
    return content


def _read(response: http.client.HTTPResponse, timeout: float) -> bytes:
    """Read a reply, which may drip in: the timeout of the socket is that of each piece alone."""
    end, parts, size = time.monotonic() + timeout, [], 0
    while part := response.read1(1 << 16):
        parts.append(part)
        size += len(part)
        if size > _LONGEST_REPLY:
            raise ValueError("the reply is too long")
        if time.monotonic() > end:
            raise TimeoutError("the reply takes too long")
    reply = b"".join(parts)
    expected = response.headers.get("Content-Length", "")
    if expected.isdigit() and len(reply) < int(expected):
        raise http.client.IncompleteRead(reply, int(expected) - len(reply))
    return reply


def _retry_after(headers: http.client.HTTPMessage) -> float | None:
    """Seconds that a server asks to wait, which it says as a number or a date."""
    said = (headers.get("Retry-After") or "").strip()
    try:
        return float(said)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(said).timestamp() - time.time()
    except (ValueError, TypeError):
        return None


_THOUGHT = r"(?:think|thinking|thought|reasoning|scratchpad|analysis)"
_CLOSING = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)
_OPENING = re.compile(rf"<{_THOUGHT}>", re.IGNORECASE)


def after_thinking(reply: str) -> str:
    """Return what a reply says without what was thought in tags such as ``<think>``.

    Many servers leave the opening tag out: all before the last closing one is thought, and all
    behind one that stays open.
    """
    said = _CLOSING.split(reply)[-1]
    return _OPENING.split(said, maxsplit=1)[0]
