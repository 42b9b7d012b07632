"""A language model on loopback that answers slowly, wrongly, with errors, or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# A proxy of the machine is not asked for what is on loopback.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"

_NAMES = re.compile(r"^([AB]) = ([^:]+):", re.MULTILINE)

Reply = dict[str, Any]


def text(content: object) -> Reply:
    return {"body": json.dumps({"choices": [{"message": {"content": content}}]}).encode()}


def error(status: int, body: str = "no", **headers: str) -> Reply:
    return {"status": status, "body": body.encode(), "headers": headers}


@dataclass
class Model:
    """What the server does, and what it was asked.

    ``hostile(words, number)`` says what happens to the question about these words that is asked for
    the ``number``-th time (from 0); None for a good reply. Keys: status, body, headers, wait
    (seconds), cut (bytes of the body that are sent), drip (seconds between bytes), drop (close
    without a word), raw (``(start, again)``: sent instead, the second over and over, until the
    client leaves).
    """

    rate: Callable[[str, str], object]
    hostile: Callable[[tuple[str, ...], int], Reply | None] = lambda words, number: None
    url: str = ""
    asked: Counter[tuple[str, ...]] = field(default_factory=Counter)
    answered: Counter[tuple[str, ...]] = field(default_factory=Counter)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    busy: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_until_idle(self) -> None:
        """Wait until no request is being answered, as after a client was killed."""
        while self.busy:
            time.sleep(0.005)

    def reply(self, request: dict[str, Any], key: str | None) -> tuple[tuple[str, ...], Reply]:
        words = tuple(name for _, name in _NAMES.findall(request["messages"][1]["content"]))
        with self.lock:
            number = self.asked[words]
            self.asked[words] += 1
            self.requests.append(request)
            self.keys.append(key)
        done = self.hostile(words, number)
        if done is None or "body" not in done:
            pairs = list(zip(words[0::2], words[1::2], strict=True))
            rated = [self.rate(*pair) for pair in pairs]
            lines = [f"{n}: {score}" for n, score in enumerate(rated, 1)]
            done = text(str(rated[0]) if len(rated) == 1 else "\n".join(lines)) | (done or {})
        return words, done


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with model.lock:
                model.under_way += 1
                model.busy += 1
                model.most_under_way = max(model.most_under_way, model.under_way)
            # The client may have been killed, or lost patience.
            try:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    self._answer()
            finally:
                with model.lock:
                    model.busy -= 1

        def _answer(self) -> None:
            # A proxy is given the whole address.
            assert self.path.endswith("/v1/chat/completions")
            with model.lock:
                model.headers.append(dict(self.headers))
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            words, done = model.reply(request, self.headers.get("Authorization"))
            time.sleep(done.get("wait", 0.0))
            with model.lock:  # before the client has the answer, and asks the next question
                model.under_way -= 1
            if done.get("drop"):
                self.close_connection = True
                return
            if "raw" in done:
                self.close_connection = True
                start, again = done["raw"]
                self.wfile.write(start)
                while True:
                    self.wfile.write(again)
                    self.wfile.flush()
                    time.sleep(done.get("drip", 0.0))
            self.send_response(done.get("status", 200))
            for name, value in done.get("headers", {}).items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(done["body"])))
            self.end_headers()
            if "drip" in done:
                for byte in done["body"]:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(done["drip"])
            else:
                self.wfile.write(done["body"][: done.get("cut")])
                self.wfile.flush()
            if done.get("status", 200) == 200 and "cut" not in done:
                with model.lock:
                    model.answered[words] += 1

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that are killed."""


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    """Serve a model on a free port of loopback while the block runs."""
    with _Server(("127.0.0.1", 0), _handler(model)) as server:
        model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()
