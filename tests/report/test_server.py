"""The page over HTTP: who may see it, and what nobody can reach through it."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from support.scenes import BICYCLE, PERSON, RIDE, image, scenes

from diaghoi import InputError, diagnose
from diaghoi.formats.pictures import Pictures
from diaghoi.report.html import Page, page_model
from diaghoi.report.html.server import PageServer

pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")

NAMES = ("a.jpg", "../secret.jpg", "missing.jpg", "broken.jpg", "/etc/passwd", "sub/b.jpg")
SECRET = b"not for others"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("served")
    images = parent / "images"
    (images / "sub").mkdir(parents=True)
    for path in (images / "a.jpg", images / "sub" / "b.jpg", parent / "secret.jpg"):
        Image.new("RGB", (64, 48), (90, 120, 150)).save(path)
    (images / "broken.jpg").write_bytes(b"no picture")
    (images / "notes.txt").write_bytes(SECRET)
    (parent / "secret.txt").write_bytes(SECRET)
    return images


@pytest.fixture(scope="module")
def page() -> Page:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (20, 0, 29, 9))]
    both = tuple(
        replace(
            scenes([image(f"{at}.jpg", boxes, [found]) for at in range(len(NAMES))], scored=scored),
            names=np.array(NAMES),
        )
        for found, scored in (((0, 1, RIDE), False), ((0, 1, RIDE, 0.5), True))
    )
    diagnosis = diagnose(*both, label="m")
    return Page.of([page_model(diagnosis, (both[0], both[1]))], every_image=True)


@pytest.fixture(scope="module")
def server(page: Page, folder: Path) -> Iterator[PageServer]:
    with PageServer(page, Pictures(folder)) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


def numbers(page: Page) -> dict[str, int]:
    """Where each image is in addresses."""
    return dict(zip(page.images, page.data["cases"]["images"]["image"], strict=True))


def ask(
    server: PageServer, path: str, *, host: str | None = None, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    """Ask for a path as it is, whatever letters it has."""
    port = server.server_address[1]
    host = f"127.0.0.1:{port}" if host is None else host
    request = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(server.server_address[:2], timeout=30) as connection:
        connection.sendall(request.encode("utf-8"))
        answer = http.client.HTTPResponse(connection, method=method)
        answer.begin()
        return answer.status, dict(answer.headers.items()), answer.read()


def path_of(server: PageServer) -> str:
    return urlsplit(server.address).path


def test_the_page_is_at_the_address(server: PageServer) -> None:
    status, headers, body = ask(server, path_of(server))
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"m on HICO-DET" in body
    assert b"img-src &#39;self&#39; data:;" in body or b"img-src 'self' data:;" in body
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server, f"{path_of(server)}?x=1")[0] == 200


def test_a_head_is_a_get_without_its_body(server: PageServer) -> None:
    status, headers, body = ask(server, path_of(server), method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == len(ask(server, path_of(server))[2])


@pytest.mark.parametrize("name", ["a.jpg", "sub/b.jpg"])
def test_pictures_are_found_by_the_number_of_their_image(
    server: PageServer, page: Page, name: str
) -> None:
    status, headers, body = ask(server, f"{path_of(server)}picture/{numbers(page)[name]}")
    assert (status, headers["Content-Type"]) == (200, "image/jpeg")
    assert Image.open(BytesIO(body)).size == (64, 48)


def test_sizes_that_no_file_tells_are_those_of_the_pictures(server: PageServer, page: Page) -> None:
    sizes = page.data["cases"]["images"]
    at = page.images.index("a.jpg")
    assert (sizes["width"][at], sizes["height"][at]) == (64, 48)


@pytest.mark.parametrize("name", ["../secret.jpg", "missing.jpg", "broken.jpg", "/etc/passwd"])
def test_names_of_annotations_lead_nowhere_else(server: PageServer, page: Page, name: str) -> None:
    status, _, body = ask(server, f"{path_of(server)}picture/{numbers(page)[name]}")
    assert (status, body) == (404, b"Not Found\n")


@pytest.mark.parametrize(
    "rest",
    [
        *("picture/a.jpg", "picture/99", "picture/-1", "picture/1e0", "picture/%30", "picture/"),
        *("picture", "picture/0/", "picture/0/../0", "picture/\u0660"),
        *("notes.txt", "../notes.txt", "picture/../notes.txt", "picture/../../secret.txt"),
        *("..%2f..%2fsecret.txt", "%2e%2e/secret.txt", "..\\secret.txt", "//etc/passwd"),
        *("picture//etc/passwd", "picture/0%00.jpg", "picture/" + "1" * 5000, "index.html"),
    ],
)
def test_nothing_else_is_there(server: PageServer, rest: str) -> None:
    status, _, body = ask(server, path_of(server) + rest)
    assert (status, body) == (404, b"Not Found\n")


@pytest.mark.parametrize(
    "path",
    [
        *("/", "//", "/x/", "/picture/0", "/../", "/etc/passwd", "*", "/\xff/", "/%00/"),
        "http://127.0.0.1/",
    ],
)
def test_nothing_is_there_without_the_token(server: PageServer, path: str) -> None:
    assert ask(server, path)[0] == 404


def test_most_of_the_token_is_not_the_token(server: PageServer) -> None:
    path = path_of(server)
    for wrong in (path[:-2] + "/", path[:-1] + "x/", path.upper(), path[:-1]):
        assert ask(server, wrong)[0] == 404
    assert len(server.token) >= 43  # 256 bits


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""),
        *("127.0.0.1.evil.example:{port}", "127.0.0.1:{port}@evil.example", "localhost.:{port}"),
    ],
)
def test_strangers_that_point_to_this_machine_are_refused(server: PageServer, host: str) -> None:
    """DNS rebinding: a page of a stranger has this address under a name of its own."""
    port = server.server_address[1]
    status, _, body = ask(server, path_of(server), host=host.format(port=port))
    assert (status, body) == (403, b"Forbidden\n")


def test_localhost_is_this_machine(server: PageServer) -> None:
    host = f"localhost:{server.server_address[1]}"
    assert ask(server, path_of(server), host=host)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "x"])
def test_it_can_only_be_read(server: PageServer, method: str) -> None:
    assert ask(server, path_of(server), method=method)[0] == 501


def test_it_listens_on_the_loopback_interface_alone(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_connections_that_break_off_stop_nothing(server: PageServer, capfd) -> None:
    for rubbish in (b"", b"GET", b"\x16\x03\x01\x00\xff\xff", b"GET / HTTP/9.9\r\n\r\n"):
        with socket.create_connection(server.server_address[:2], timeout=30) as connection:
            connection.sendall(rubbish)
    assert ask(server, path_of(server))[0] == 200
    assert capfd.readouterr().err == ""


def test_a_port_that_is_taken_is_refused(server: PageServer, page: Page) -> None:
    port = server.server_address[1]
    with pytest.raises(InputError, match=rf"port` {port}: cannot be used \(.*\); give another"):
        PageServer(page, None, port)


def test_without_pictures_there_are_none(page: Page) -> None:
    with PageServer(page) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        assert ask(found, f"{path_of(found)}picture/0")[0] == 404
        assert ask(found, path_of(found))[0] == 200
        found.shutdown()
