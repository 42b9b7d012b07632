"""Asking a language model over HTTP: any endpoint that speaks OpenAI's chat completions.

Temporary failures (429, 5xx, timeouts, broken connections, damaged replies) are retried with
growing pauses; permanent ones (401, 404 and the like) end the run at once with one line. API keys
never appear in messages, and redirects are not followed, so keys stay with their server.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from diaghoi.exceptions import InputError
from diaghoi.language.endpoint import KEY, Endpoint, RetryPolicy, passing

if TYPE_CHECKING:
    from diaghoi.language.completions import Completions, Reply

Message = Mapping[str, Any]
Tag = TypeVar("Tag")

LETTERS_PER_TOKEN = 4.0
"""Customary rule of thumb for English."""
PICTURE_REFUSED = frozenset({400, 413, 415, 422})
"""Statuses by which servers refuse a picture: its content, size or kind."""

_SOON = 0.5  # seconds
# Shorter keys, such as "none" or "x" for servers without keys, may be ordinary words of a reply.
_SHORTEST_KEY = 16


class NoReply(Exception):  # noqa: N818 - it is an outcome of one question, not of the program
    """A question without a reply after all attempts; the message gives the reason."""


class Refused(NoReply):
    """A question that the server refuses, while it may accept others."""


@dataclass(kw_only=True)
class Client:
    """Asks one model.

    Parameters
    ----------
    endpoint : Endpoint
        The model.
    policy : RetryPolicy
        When to give up.
    options : mapping
        Further fields of each request: ``temperature``, ``max_tokens``.
    stopped : threading.Event
        Set it to end pauses: the pending questions then fail.
    single : frozenset of int
        Statuses that refuse one question instead of all, such as :data:`PICTURE_REFUSED` if each
        question has its own picture.
    leaving : callable
        Called with the number of pending requests when a run is stopped or given up, before they
        are waited for: their answers are kept, too.

    Raises
    ------
    InputError
        If the package ``openai`` is missing, or the address cannot be used.
    """

    endpoint: Endpoint
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    options: Mapping[str, Any] = field(default_factory=dict)
    stopped: Event = field(default_factory=Event)
    single: frozenset[int] = frozenset()
    leaving: Callable[[int], Any] = field(default=lambda requests: None)
    _completions: Completions = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Created here, not with the first question, so that problems show before any preparation.
        try:
            from diaghoi.language.completions import Completions
        except ModuleNotFoundError:
            raise InputError(
                "asking a language model needs openai, which is not installed: "
                "pip install 'diaghoi[ask]'"
            ) from None
        self._completions = Completions(self.endpoint, self.policy, self.stopped)

    def ask(self, messages: Sequence[Message]) -> str:
        """Ask and return the text of the reply, which may be that of a refusal by the model.

        Parameters and errors are those of :meth:`reply`.
        """
        return self.reply(messages).text

    def reply(self, messages: Sequence[Message], *, probabilities: bool = False) -> Reply:
        """Ask and return the reply, with its tokens where the server gives their probabilities.

        Parameters
        ----------
        messages : sequence of mapping
            In the format of OpenAI's chat completions: ``role`` and ``content``, which may be a
            list with images.
        probabilities : bool
            Whether to ask for those of the tokens; some servers refuse to be asked.

        Raises
        ------
        NoReply
            After the last attempt.
        Refused
            If the server refuses this question; it is not retried.
        InputError
            If no retry would help: the key, the address or the model is wrong.
        """
        import openai

        body = {"model": self.endpoint.model, "messages": list(messages), **self.options}
        if probabilities:
            body["logprobs"] = True
        # "from None": the errors of the package hold the request, and with it the key.
        try:
            reply = self._completions.reply(body)
        except openai.APIStatusError as error:
            asked = self._completions.pause_asked(error.response)
            raise self._refusal(error.status_code, error.response.content, asked) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            problem = f"{type(cause).__name__}: {cause}".removesuffix(": ")
            raise NoReply(self._without_key(problem)) from None
        if len(self.endpoint.key) < _SHORTEST_KEY:
            return reply
        return reply._replace(text=self._without_key(reply.text))

    def _refusal(self, status: int, reply: bytes, asked: float | None) -> Exception:
        """Describe a refusal of the server: temporary, of this question, or of all."""
        said = self._without_key(" ".join(reply[:2000].decode("utf-8", "replace").split()))
        problem = f"HTTP {status} {http.client.responses.get(status, '')}: {said:.200}".rstrip(": ")
        if passing(status):
            if not self.policy.retries(status, asked):
                problem += (
                    f" (asks to wait {asked:,.0f} seconds, more than the "
                    f"{self.policy.longest_asked:,.0f} that are waited for)"
                )
            return NoReply(problem)
        if status in self.single:
            return Refused(problem)
        advice = {
            401: f"set the API key in {self.endpoint.key_variable or KEY}",
            403: f"check the API key in {self.endpoint.key_variable or KEY}",
            404: "check the address and the name of the model",
        }
        if 300 <= status < 400:
            advice[status] = "give the address that it redirects to"
        return InputError(
            f"{self.endpoint.host}: {self.endpoint.model}: {problem}; "
            f"{advice.get(status, 'the request would fail again')}"
        )

    def _without_key(self, text: str) -> str:
        """Remove the key from a text of a server or library."""
        return text.replace(self.endpoint.key, "***") if self.endpoint.key else text


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[Tag]):
    """The outcome of one question.

    Parameters
    ----------
    tag : object
        Identifies the question.
    value : object
        The result, None if there is none.
    failure : str
        Why there is no result; empty if there is one.
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
    """Ask many questions concurrently, and yield the outcomes as they arrive.

    Parameters
    ----------
    work : callable
        Asks the question of a tag through the client, and stores the answer; runs in threads.
    tags : iterable
        One for each question; read as far ahead as there are workers.
    client : Client
        Stopped when the caller stops, or an error ends the run.
    workers : int
        Concurrent questions.
    give_up : int
        This many consecutive questions without a reply end the run; refusals count only until the
        first answer.
    proven : bool
        Whether the model has answered such questions in an earlier run.

    Raises
    ------
    InputError
        If no further question can succeed.
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
                        # Once it has answered, a refusal is about one question, not the model.
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
            # Also reached after an interrupt, or if the caller stops iterating. Pauses end, but
            # pending requests are waited for: they are paid for, and their threads store them.
            client.stopped.set()
            if left := wait(under_way, timeout=_SOON).not_done:
                client.leaving(len(left))


_REASONING = r"(?:think|thinking|thought|reasoning|scratchpad|analysis)"
_CLOSING = re.compile(rf"</{_REASONING}>", re.IGNORECASE)
_OPENING = re.compile(rf"<{_REASONING}>", re.IGNORECASE)


def strip_reasoning(reply: str) -> str:
    """Return a reply without the reasoning in tags such as ``<think>``.

    Many servers omit the opening tag: everything before the last closing tag is reasoning, and so
    is everything after an opening tag that is never closed.
    """
    answer = _CLOSING.split(reply)[-1]
    return _OPENING.split(answer, maxsplit=1)[0]
