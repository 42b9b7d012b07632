"""Serve the page over HTTP to this machine only, with all images and with pictures on demand."""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from diaghoi.exceptions import InputError
from diaghoi.formats.pictures import Pictures
from diaghoi.report.html.page import Page, jpeg_of

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""Host names that a browser on this machine uses. Any other name may belong to a foreign page whose
name was pointed at this address (DNS rebinding).
"""
SECONDS = 30
"""Number of seconds for which a connection may be idle."""
LARGEST = 1300
"""Maximum length of the longer side of a picture, in pixels."""
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class PageServer(ThreadingHTTPServer):
    """Server of a page at an unguessable URL, on the loopback interface only.

    The server provides only the page, and the pictures of the images on the page. Pictures are
    requested by number, so no part of a URL is ever used as a file name.

    Parameters
    ----------
    page : Page
        Page with drawings of all images.
    pictures : Pictures or None
        Source of the pictures.
    port : int
        Port to listen on; 0 for any free port.

    Raises
    ------
    InputError
        If the port cannot be used.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, page: Page, pictures: Pictures | None = None, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(32)
        self.pictures = pictures
        self.names: dict[int, tuple[str, tuple[int, int] | None]] = {}
        if pictures is not None and page.images:
            page.measure(pictures)
            found = page.data["cases"]["images"]
            sizes = zip(found["width"], found["height"], strict=True)
            self.names = {
                image: (name, size if all(size) else None)
                for image, name, size in zip(found["image"], page.images, sizes, strict=True)
            }
        self.body = page.html(bool(self.names), served=True).encode("utf-8", errors="replace")
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"--port {port}: cannot be used ({reason}); give another") from None

    @property
    def address(self) -> str:
        """The URL of the page."""
        return f"http://{HOST}:{self.server_address[1]}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = SECONDS
    server_version, sys_version = "diaghoi", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Respond with the page, a picture or an error."""
        if not self._meant():
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        token, _, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        # A constant-time comparison reveals nothing about the correct token.
        if not hmac.compare_digest(token.encode(errors="replace"), self.server.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
        elif rest == "" and urlsplit(self.path).path.endswith("/"):
            self._send(self.server.body, "text/html; charset=utf-8")
        else:
            self._picture(rest)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def _meant(self) -> bool:
        """Check that the request names this machine as its host."""
        host, _, port = (self.headers.get("Host") or "").strip().lower().rpartition(":")
        return host in NAMES and port == str(self.server.server_address[1])

    def _picture(self, rest: str) -> None:
        folder, _, number = rest.partition("/")
        known = None
        if folder == "picture" and number.isascii() and number.isdecimal() and len(number) < 10:
            known = self.server.names.get(int(number))
        jpeg = None
        if known is not None and self.server.pictures is not None:
            jpeg = jpeg_of(self.server.pictures.read(*known), LARGEST)
        if jpeg is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            self._send(jpeg, "image/jpeg")

    def _refuse(self, status: HTTPStatus) -> None:
        self._send(f"{status.phrase}\n".encode(), "text/plain; charset=utf-8", status)

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        if status != HTTPStatus.OK:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Suppress logging to stderr: the token must not appear in a log."""
