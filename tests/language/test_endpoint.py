"""Asking a model over HTTP, whatever the server does."""

from __future__ import annotations

import gzip
import json
import logging
import re
import sys
import time
import traceback
from contextlib import nullcontext
from dataclasses import replace
from email.utils import formatdate
from threading import Event, Timer
from typing import Any

import pytest
from support.rater_server import Model, Reply, error, serving, text

from diaghoi.exceptions import InputError
from diaghoi.language.asking import (
    PICTURE_REFUSED,
    Client,
    Endpoint,
    NoReply,
    Outcome,
    Refused,
    ask_all,
    read_endpoint,
    read_prices,
)

QUESTION = [
    {"role": "system", "content": "rate"},
    {"role": "user", "content": "A = a: x\nB = b: y"},
]


def client(url: str, **more: Any) -> Client:
    chosen = {"tries": 3, "timeout": 2.0, "pause": 0.001} | more
    return Client(endpoint=Endpoint(url=url, model="m"), **chosen)


def troubled(trouble: Reply | None, times: int | None = None) -> Any:
    """Serve a model whose first replies, by default all, are trouble."""
    return serving(
        Model(lambda a, b: 3, lambda words, n: trouble if times is None or n < times else None)
    )


def test_the_text_of_the_reply_is_returned() -> None:
    with serving(Model(lambda a, b: f"{a}{b}")) as model:
        assert client(model.url).ask(QUESTION) == "ab"
        assert client(model.url + "/chat/completions").ask(QUESTION) == "ab"
    assert model.keys == [None, None]


TEMPORARY = [
    *(error(429), error(500), error(502), error(202, "queued"), error(204, "")),
    *(text("3") | {"status": 201}, {"drop": True}, {"cut": 3}, text(None)),
    pytest.param({"wait": 4.0}, marks=pytest.mark.slow),
    *({"body": body} for body in (b"\xff", b"<html>busy</html>", b"[]", b"[" * 100_000)),
    *(error(500, '{"error": ' * 100_000), {"body": b'{"error": "no model"}'}),
    {"body": gzip.compress(text("3")["body"]), "headers": {"Content-Encoding": "gzip"}},
    {"body": b'{"choices": [{"message": {}}]}'},
]


@pytest.mark.parametrize("trouble", TEMPORARY)
def test_what_passes_is_tried_again(trouble) -> None:
    with troubled(trouble, 2) as model:
        assert client(model.url, timeout=2.0 if "wait" in trouble else 60.0).ask(QUESTION) == "3"
    assert model.asked == {("a", "b"): 3}


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (error(500, "out of\nmemory"), "HTTP 500 Internal Server Error: out of memory"),
        (error(202, "queued"), "HTTP 202 Accepted: queued"),
        (error(204, ""), "HTTP 204 No Content"),
        ({"body": b"<html>"}, "the reply is damaged (JSONDecodeError: Expecting value: line 1 c"),
        ({"body": b"{}"}, "the reply is damaged (KeyError: 'choices')"),
    ],
)
def test_after_the_last_try_the_reason_is_told(trouble: Reply, reason: str) -> None:
    with troubled(trouble) as model, pytest.raises(NoReply, match=rf"^{re.escape(reason)}"):
        client(model.url).ask(QUESTION)
    assert model.asked == {("a", "b"): 3}


@pytest.mark.parametrize(
    ("trouble", "timeout", "reason"),
    [
        ({"body": b" " * 40, "drip": 0.05}, 0.2, "ReadTimeout"),
        ({"body": b" " * (1 << 24) + b"{}"}, 60.0, "the reply is too long"),
    ],
)
def test_a_reply_without_end_is_given_up(trouble: Reply, timeout: float, reason: str) -> None:
    with troubled(trouble) as model, pytest.raises(NoReply, match=reason):
        client(model.url, timeout=timeout, tries=1).ask(QUESTION)


@pytest.mark.parametrize(
    ("start", "again"),
    {
        "bytes of the status": (b"", b"H"),
        "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        "headers": (b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"),
        "sizes of chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
        "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    }.values(),
)
@pytest.mark.parametrize("drip", [0.05, 0.001])
def test_whatever_never_ends_is_given_up(start: bytes, again: bytes, drip: float) -> None:
    with troubled({"raw": (start, again), "drip": drip}, 1) as model:
        asking = client(model.url, timeout=0.4, tries=1)
        with pytest.raises(NoReply, match=r"the reply takes too long|too long|Protocol"):
            asking.ask(QUESTION)
        assert asking.ask(QUESTION) == "3"


@pytest.mark.parametrize("said", ["1e9", "inf", "601"])
def test_a_server_that_asks_for_too_long_a_pause_is_not_waited_for(said: str) -> None:
    with (
        troubled(error(429, Retry_After=said)) as model,
        pytest.raises(NoReply, match=r"asks to wait .* seconds, more than the 600 that"),
    ):
        client(model.url).ask(QUESTION)
    assert model.asked == {("a", "b"): 1}


def test_the_pause_that_a_server_asks_for_is_kept() -> None:
    with troubled(error(429, "wait", Retry_After="0.3"), 1) as model:
        begun = time.monotonic()
        client(model.url).ask(QUESTION)
    assert time.monotonic() - begun >= 0.3


class Recording(Event):
    """Does not wait, and keeps for how long it should have."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout)
        return False


def pauses(trouble: Reply, tries: int = 2) -> list[float | None]:
    stopped = Recording()
    with troubled(trouble) as model, pytest.raises(NoReply):
        client(model.url, tries=tries, pause=1.0, stopped=stopped).ask(QUESTION)
    return stopped.pauses


def test_pauses_grow_and_have_an_end() -> None:
    for attempt, pause in enumerate(pauses(error(500), tries=10)):
        most = min(2.0**attempt, 60.0)
        assert pause is not None
        assert most / 2 <= pause <= most


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("7", 7, 7),
        ("0.5", 0.5, 0.5),
        ("-3", 0, 0),
        ("nan", 0, 0),
        (formatdate(0, usegmt=True), 0, 0),
        (None, 40, 50),
        # What is not a time to wait is passed over.
        ("soon", 0.5, 1),
        ("", 0.5, 1),
        (f"Fri, 01 Jan 1{'0' * 20} 00:00:00 GMT", 0.5, 1),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(said: str | None, least: float, most: float) -> None:
    after = formatdate(time.time() + 50, usegmt=True) if said is None else said
    (pause,) = pauses(error(429, Retry_After=after))
    assert pause is not None
    assert least <= pause <= most


def test_a_stop_ends_pauses_and_nothing_more_is_sent() -> None:
    with troubled(error(500)) as model:
        asking = client(model.url, pause=900.0, tries=9)
        Timer(0.2, asking.stopped.set).start()
        with pytest.raises(NoReply, match="stopped"):
            asking.ask(QUESTION)
    assert model.asked == {("a", "b"): 1}


def test_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAGHOI_API_KEY", "sk-0123456789abcdef")
    with (
        serving(Model(lambda a, b: 3)) as other,
        troubled(error(307, Location=f"{other.url}/chat/completions")) as model,
        pytest.raises(InputError, match="give the URL to which the server redirects"),
    ):
        Client(endpoint=read_endpoint(f"{model.url},m", "--model")).ask(QUESTION)
    assert other.headers == []


def test_only_what_the_command_line_names_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's client takes keys and headers from variables of its own."""
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", "secret")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Team: secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://secret.invalid/v1")
    with serving(Model(lambda a, b: 3)) as model:
        assert client(model.url).ask(QUESTION) == "3"
    (sent,) = model.headers
    assert "secret" not in str(sent)
    assert {name.lower() for name in sent} <= {
        "host", "accept", "accept-encoding", "connection", "content-length", "content-type",
        "user-agent",
    }  # fmt: skip


def test_the_key_is_in_no_log_and_no_traceback(monkeypatch, caplog) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-0123456789abcdef")
    caplog.set_level(logging.DEBUG)
    with troubled(error(401, "the key sk-0123456789abcdef is wrong")) as model:
        asking = Client(endpoint=read_endpoint(f"{model.url},m,SOME_KEY", "--model"))
        with pytest.raises(InputError) as failed:
            asking.ask(QUESTION)
    assert model.keys == ["Bearer sk-0123456789abcdef"]
    assert caplog.records
    said = caplog.text + repr(asking) + "".join(traceback.format_exception(failed.value))
    assert "sk-0123" not in said


@pytest.mark.parametrize("key", ["sk-0123456789\n", "sk-\u00e9", "sk-\x1b[2J"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(monkeypatch, key: str) -> None:
    monkeypatch.setenv("SOME_KEY", key)
    with pytest.raises(
        InputError, match="SOME_KEY is not set, or contains line breaks or characters"
    ) as failed:
        read_endpoint("http://h/v1,m,SOME_KEY", "--model")
    assert key[:3] not in str(failed.value)


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Model(lambda a, b: 3)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        assert client("http://model.invalid/v1").ask(QUESTION) == "3"
    (sent,) = proxy.headers
    assert sent["Host"] == "model.invalid"


def test_a_proxy_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://me:secret@h")
    with pytest.raises(InputError, match="the proxies in HTTP_PROXY") as failed:
        client("http://h")
    assert "secret" not in str(failed.value)


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "diaghoi.language.completions", raising=False)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError, match=r"needs openai.*pip install 'diaghoi\[ask\]'"):
        client("http://h")


def test_outcomes_come_with_their_tags_and_failures_do_not_end_the_run() -> None:
    def work(tag: int) -> int:
        if tag % 3 == 0:
            raise NoReply("no")
        return tag * tag

    found = ask_all(work, range(10), client("http://h"), workers=3, give_up=9)
    assert sorted(found, key=lambda each: each.tag) == [
        Outcome(tag=tag, failure="no") if tag % 3 == 0 else Outcome(tag=tag, value=tag * tag)
        for tag in range(10)
    ]


def test_a_client_serves_a_second_run() -> None:
    with serving(Model(lambda a, b: 1)) as model:
        asking = client(model.url)
        for _ in range(2):
            found = ask_all(lambda tag: asking.ask(QUESTION), [0], asking)
            assert [each.value for each in found] == ["1"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://h/v1", "is not a model URL; give one"),
        ("http://", "is not a model"),
        ("http://h:port/", "is not a model"),
        ("http://me:secret@h/", "contains a password"),
        ("http://h/?key=secret", "contains a password or a query"),
        ("http://h/v1", "http://h/v1: names no model; give URL,MODEL"),
    ],
)
def test_bad_addresses_are_refused_without_telling_secrets(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Endpoint(url=url, model="" if "names no model" in message else "m")
    assert "secret" not in str(caught.value)


def test_one_price_is_for_all_models() -> None:
    assert read_prices([], 2) == []
    assert read_prices(["2,8"], 2) == [(2, 8), (2, 8)]
    assert read_prices(["2,8", "0.5,1.5"], 2) == [(2, 8), (0.5, 1.5)]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["2"],
            "`price` '2': give the price of a million input and output tokens, such as 0.5,1.5",
        ),
        (["2,-1"], "`price` '2,-1': give the price"),
        (["2,inf"], "`price` '2,inf': give the price"),
        (["2,8"] * 2, "`price`: 2 prices for 3 models; give one for each"),
    ],
)
def test_other_prices_are_refused(texts: list[str], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        read_prices(texts, 3)
    assert str(refusal.value).startswith(message)


def test_the_words_of_a_refusal_are_a_reply() -> None:
    said = {"choices": [{"message": {"content": None, "refusal": "I cannot help."}}]}
    with troubled({"body": json.dumps(said).encode()}) as model:
        assert client(model.url).ask(QUESTION) == "I cannot help."
    assert model.asked == {("a", "b"): 1}


@pytest.mark.parametrize("status", sorted(PICTURE_REFUSED))
def test_a_picture_that_is_refused_is_not_tried_again(status: int) -> None:
    with troubled(error(status, "too small")) as model:
        asking = client(model.url, single=PICTURE_REFUSED)
        with pytest.raises(Refused, match=f"HTTP {status} .*: too small"):
            asking.ask(QUESTION)
        with pytest.raises(InputError, match="the request would fail again"):
            client(model.url).ask(QUESTION)
    assert model.asked == {("a", "b"): 2}


@pytest.mark.parametrize(
    ("answered", "failure", "proven", "number"),
    [
        ((), NoReply, False, 3),
        # Refused questions end the run only before any answer.
        ((2,), Refused, False, 20),
        ((), Refused, False, 3),
        ((), Refused, True, 20),
        # A server that dies after answers ends it.
        ((0, 1), NoReply, True, 5),
    ],
)
def test_many_failures_in_a_row_end_the_run(answered, failure, proven, number) -> None:
    def work(tag: int) -> int:
        if tag in answered:
            return tag
        raise failure("dead")

    asking, tags, found = client("http://h"), [], []
    outcomes = ask_all(work, range(20), asking, workers=1, give_up=3, proven=proven)
    with (
        pytest.raises(InputError, match=r"3 .* in a row without a reply \(dead\)")
        if (number < 20)
        else nullcontext()
    ):
        for outcome in outcomes:
            tags.append(outcome.tag)
            found += [] if outcome.failure else [outcome.value]
    assert tags == list(range(number - (number < 20)))
    assert found == list(answered)


@pytest.mark.parametrize("stopping", [True, False])
def test_what_is_under_way_is_told_before_it_is_waited_for(stopping: bool) -> None:
    told: list[int] = []
    going = Event()

    def work(number: int) -> int:
        if number:
            assert going.wait(900)
        return number

    def leaving(requests: int) -> None:
        told.append(requests)
        going.set()

    asking = replace(client("http://h"), leaving=leaving)
    outcomes = ask_all(work, range(3), asking, workers=3)
    assert next(outcomes).value == 0
    if stopping:
        outcomes.close()  # type: ignore[attr-defined]
        assert told == [2]
    else:
        going.set()
        assert len(list(outcomes)) == 2
        assert told == []


def test_an_endpoint_from_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIAGHOI_API_KEY", raising=False)
    assert read_endpoint(" http://h/v1 , m ", "--model") == Endpoint(url="http://h/v1", model="m")
    monkeypatch.setenv("DIAGHOI_API_KEY", "one")
    monkeypatch.setenv("OTHER", "two")
    assert read_endpoint("http://h/v1,m", "--model").key_variable == "DIAGHOI_API_KEY"
    assert read_endpoint("http://h/v1,m,OTHER", "--model").key_variable == "OTHER"


@pytest.mark.parametrize("text_", ["", "http://h/v1", "http://h/v1,", "http://h,m,V,W", ",m"])
def test_other_endpoints_are_refused(text_: str) -> None:
    with pytest.raises(InputError):
        read_endpoint(text_, "--model")


def test_a_key_that_a_server_repeats_is_no_part_of_the_reply(monkeypatch) -> None:
    with serving(Model(lambda a, b: "your key is sk-0123456789abcdef, none")) as model:
        for key, said in (
            ("sk-0123456789abcdef", "your key is ***, none"),
            # Servers without keys are given words such as this one.
            ("none", "your key is sk-0123456789abcdef, none"),
        ):
            monkeypatch.setenv("SOME_KEY", key)
            asking = Client(endpoint=read_endpoint(f"{model.url},m,SOME_KEY", "--model"))
            assert asking.ask(QUESTION) == said


@pytest.mark.parametrize("text", ["http://h/v1,m,{}", "http://h/v1,m,{},x", "{}"])
def test_a_key_in_the_place_of_its_variable_is_not_repeated(text: str) -> None:
    with pytest.raises(InputError, match="variable") as failed:
        read_endpoint(text.format("sk-0123456789"), "--model")
    assert "sk-0123" not in str(failed.value)
