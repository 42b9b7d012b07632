"""Asking a model over HTTP, whatever the server does."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from email.utils import formatdate
from http.client import HTTPMessage
from threading import Event

import pytest
from support.rater_server import Model, error, serving, text

from diaghoi.exceptions import InputError
from diaghoi.language.asking import (
    PICTURE_REFUSED,
    Client,
    NoReply,
    Outcome,
    Patience,
    Refused,
    _retry_after,
    ask_all,
)
from diaghoi.language.endpoint import Endpoint, read_endpoint

QUESTION = [
    {"role": "system", "content": "rate"},
    {"role": "user", "content": "A = a: x\nB = b: y"},
]


def client(url: str, **patience: float) -> Client:
    chosen = Patience(**{"tries": 3, "timeout": 2.0, "pause": 0.001} | patience)  # type: ignore[arg-type]
    return Client(endpoint=Endpoint(url=url, model="m"), patience=chosen)


def test_the_text_of_the_reply_is_returned() -> None:
    with serving(Model(lambda a, b: f"{a}{b}")) as model:
        assert client(model.url).ask(QUESTION) == "ab"
        assert client(model.url + "/chat/completions").ask(QUESTION) == "ab"
    assert model.keys == [None, None]


@pytest.mark.parametrize(
    "trouble",
    [
        error(429),
        error(500),
        error(502),
        {"drop": True},
        {"cut": 3},
        {"wait": 2.0},
        {"body": b"\xff"},
        {"body": b"[]"},
        {"body": b'{"choices": [{"message": {}}]}'},
        text(None),
    ],
)
def test_what_passes_is_tried_again(trouble) -> None:
    model = Model(lambda a, b: 3, lambda words, number: trouble if number < 2 else None)
    with serving(model):
        assert client(model.url, timeout=0.8).ask(QUESTION) == "3"
    assert model.asked == {("a", "b"): 3}


def test_after_the_last_try_the_reason_is_told() -> None:
    model = Model(lambda a, b: 3, lambda words, number: error(500, "out of\nmemory"))
    with serving(model), pytest.raises(NoReply, match=r"HTTP 500 .*: out of memory"):
        client(model.url).ask(QUESTION)
    assert model.asked == {("a", "b"): 3}


def test_a_reply_that_drips_in_for_ever_is_given_up() -> None:
    body = b" " * 40

    model = Model(lambda a, b: 3, lambda words, number: {"body": body, "drip": 0.05})
    with serving(model), pytest.raises(NoReply, match="TimeoutError"):
        client(model.url, timeout=0.2, tries=1).ask(QUESTION)


def test_the_pause_that_a_server_asks_for_is_kept() -> None:
    slow_down = error(429, "wait", Retry_After="0.3")
    model = Model(lambda a, b: 3, lambda words, number: None if number else slow_down)
    with serving(model):
        begun = time.monotonic()
        client(model.url).ask(QUESTION)
    assert time.monotonic() - begun >= 0.3


def test_pauses_grow_and_have_an_end() -> None:
    patience = Patience(pause=1.0, longest=10.0)
    for attempt in range(20):
        most = min(2.0**attempt, 10.0)
        assert most / 2 <= patience.seconds(attempt, None) <= most
    assert patience.seconds(0, 3.0) == 3.0
    assert patience.seconds(0, 1e9) == 10.0
    assert patience.seconds(0, -1.0) == 0.0
    assert patience.seconds(0, math.nan) == 0.0


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("soon", None), ("", None), (formatdate(0, usegmt=True), -1e9)],
)
def test_retry_after_in_seconds_or_as_a_date(said: str, seconds: float | None) -> None:
    headers = HTTPMessage()
    headers["Retry-After"] = said
    found = _retry_after(headers)
    assert (found == seconds) or (seconds == -1e9 and found is not None and found < seconds)


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


def test_many_failures_in_a_row_end_the_run() -> None:
    def work(tag: int) -> int:
        raise NoReply("dead")

    outcomes = ask_all(work, range(100), client("http://h"), workers=1, give_up=3)
    assert [next(outcomes).tag, next(outcomes).tag] == [0, 1]
    with pytest.raises(InputError, match=r"3 questions in a row without a reply \(dead\)"):
        next(outcomes)


def test_a_client_serves_a_second_run() -> None:
    with serving(Model(lambda a, b: 1)) as model:
        asking = client(model.url)
        for _ in range(2):
            found = ask_all(lambda tag: asking.ask(QUESTION), [0], asking)
            assert [each.value for each in found] == ["1"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://h/v1", "is no address of a model"),
        ("http://", "is no address"),
        ("http://h:port/", "is no address"),
        ("http://me:secret@h/", "holds a password"),
        ("http://h/?key=secret", "holds a password or a query"),
    ],
)
def test_bad_addresses_are_refused_without_telling_secrets(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Endpoint(url=url, model="m")
    assert "secret" not in str(caught.value)


def test_the_words_of_a_refusal_are_a_reply() -> None:
    said = {"choices": [{"message": {"content": None, "refusal": "I cannot help."}}]}
    model = Model(lambda a, b: 3, lambda words, number: {"body": json.dumps(said).encode()})
    with serving(model):
        assert client(model.url).ask(QUESTION) == "I cannot help."
    assert model.asked == {("a", "b"): 1}


@pytest.mark.parametrize("status", sorted(PICTURE_REFUSED))
def test_a_picture_that_is_refused_is_not_tried_again(status: int) -> None:
    model = Model(lambda a, b: 3, lambda words, number: error(status, "too small"))
    with serving(model):
        asking = replace(client(model.url), single=PICTURE_REFUSED)
        with pytest.raises(Refused, match=f"HTTP {status} .*: too small"):
            asking.ask(QUESTION)
        with pytest.raises(InputError, match="the request would fail again"):
            client(model.url).ask(QUESTION)
    assert model.asked == {("a", "b"): 2}


def refusing(answered: frozenset[int], failure: type[NoReply] = Refused):
    def work(tag: int) -> int:
        if tag in answered:
            return tag
        raise failure("no")

    return work


def test_refused_questions_end_the_run_only_before_any_answer() -> None:
    asking = client("http://h")
    found = ask_all(refusing(frozenset({2})), range(20), asking, workers=1, give_up=3)
    assert [each.tag for each in found if not each.failure] == [2]
    with pytest.raises(InputError, match="3 questions in a row without a reply"):
        list(ask_all(refusing(frozenset()), range(20), asking, workers=1, give_up=3))
    found = ask_all(refusing(frozenset()), range(20), asking, workers=1, give_up=3, proven=True)
    assert len(list(found)) == 20


def test_a_server_that_dies_after_answers_ends_the_run() -> None:
    work = refusing(frozenset({0, 1}), NoReply)
    with pytest.raises(InputError, match="3 questions in a row"):
        list(ask_all(work, range(9), client("http://h"), workers=1, give_up=3, proven=True))


@pytest.mark.parametrize("stopping", [True, False])
def test_what_is_under_way_is_told_before_it_is_waited_for(stopping: bool) -> None:
    told: list[int] = []
    going = Event()

    def work(number: int) -> int:
        if number:
            assert going.wait(9)
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
