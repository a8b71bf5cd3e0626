"""The local server of the labelling page: loopback only, behind a secret token, for requests of its own page."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from s2gnn.errors import InputError
from s2gnn.labelling.page import labelling_page
from s2gnn.labelling.session import Session

LOOPBACK = "127.0.0.1"
LARGEST_REQUEST = 2**16
LARGEST_IMAGE = 2**26
IMAGES = {
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
JSON = "application/json"
HTML = "text/html; charset=utf-8"


class LabellingServer(ThreadingHTTPServer):
    """Serves one session to browsers on this machine that know the token.

    Args:
        session: the session to show.
        port: port of the page; 0 picks a free one.
    """

    daemon_threads = True

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise InputError(f"port {port} cannot be used ({error.strerror}): choose another with --port") from error

    @property
    def address(self) -> str:
        """The address of the page, with the token."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"


class _RefusedError(Exception):
    """A request that is not answered."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: LabellingServer
    server_version, sys_version = "s2gnn", ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        self._respond(self._get)

    def do_POST(self) -> None:
        self._respond(self._post)

    def _respond(self, answer: Callable[[str], tuple[str, bytes]]) -> None:
        try:
            kind, content = answer(self._checked_path())
            status = HTTPStatus.OK
        except _RefusedError as error:
            self.close_connection = True  # its body may not have been read
            status, kind, content = error.status, "text/plain; charset=utf-8", str(error).encode()
        except InputError as error:
            status, kind, content = HTTPStatus.CONFLICT, JSON, self._state(str(error))
        except OSError as error:
            text = f"Not saved: {error.filename or 'the labels'} cannot be written ({error.strerror})."
            status, kind, content = HTTPStatus.INSUFFICIENT_STORAGE, JSON, self._state(text)
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            # The page has its own policy, which cannot say this; nothing else may load or run anything.
            "Content-Security-Policy": "frame-ancestors 'none'" + ("" if kind == HTML else "; default-src 'none'"),
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _checked_path(self) -> str:
        """Return the path behind the token, of a request that comes from the page."""
        own = {f"{name}:{self.server.server_port}" for name in (LOOPBACK, "localhost")}
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        if host not in own:  # another name that resolves to this machine: DNS rebinding
            raise _RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "unknown host")
        if origin != f"http://{host}" and not (origin is None and self.command == "GET"):
            raise _RefusedError(HTTPStatus.FORBIDDEN, "requests of other sites are refused")
        if self.path == "/favicon.ico":  # browsers ask for it without the token
            raise _RefusedError(HTTPStatus.NO_CONTENT, "")
        token, _, path = urlsplit(self.path).path.removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise _RefusedError(HTTPStatus.NOT_FOUND, "no such page: use the address that s2gnn label printed")
        return path

    def _get(self, path: str) -> tuple[str, bytes]:
        session = self.server.session
        if path == "":
            return HTML, labelling_page(session.copy.label, session.copy.table.source).encode()
        if path == "state":
            return JSON, self._state()
        kind, _, row = path.partition("/")
        if row.isascii() and row.isdecimal() and len(row) < 12:
            if kind == "image":
                return self._image(int(row))
            if kind == "state":
                return JSON, self._state(looked_at=int(row))
        raise _RefusedError(HTTPStatus.NOT_FOUND, "no such page")

    def _image(self, row: int) -> tuple[str, bytes]:
        try:
            path = image_path(self.server.session, row)
            return IMAGES[path.suffix.lower()], path.read_bytes()
        except (InputError, OSError) as error:
            raise _RefusedError(HTTPStatus.NOT_FOUND, str(error)) from error

    def _post(self, path: str) -> tuple[str, bytes]:
        session, given = self.server.session, self._body()
        row, text = given.get("row"), given.get("class")
        if path == "undo":
            session.undo()
        elif path == "show-skipped":
            session.show_skipped()
        elif path == "skip" and type(row) is int:
            session.skip(row)
        elif path == "answer" and type(row) is int and isinstance(text, str):
            session.answer(row, text)
        elif path == "class" and isinstance(text, str):
            session.add_class(text)
        else:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "no such request")
        return JSON, self._state()

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 12 and int(length) <= LARGEST_REQUEST):
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request has no length, or is too large")
        if self.headers.get("Content-Type") != JSON:
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a request is JSON")
        try:
            given = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the request is not JSON") from error
        if not isinstance(given, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the request is not a JSON object")
        return given

    def _state(self, error: str | None = None, looked_at: int | None = None) -> bytes:
        return json.dumps({**self.server.session.state(looked_at), "error": error}, allow_nan=False).encode()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the address holds the token."""


def image_path(session: Session, row: int) -> Path:
    """Read the image of a row from the folder of the table.

    Raises:
        InputError: if the row has no image, it is outside the folder (including symlinks), or is not an image file.
    """
    value = session.view.image(row) if row < session.copy.table.n_rows else ""
    if not value:
        raise InputError("this row has no image")
    folder = Path(session.copy.table.source).resolve().parent
    try:
        path = (folder / value).resolve(strict=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"there is no file {value!r} next to the table") from error
    if not path.is_relative_to(folder) or not path.is_file() or path.suffix.lower() not in IMAGES:
        raise InputError(f"{value!r} is not an image file in the folder of the table")
    if path.stat().st_size > LARGEST_IMAGE:
        raise InputError(f"{value!r} is larger than {LARGEST_IMAGE // 2**20} MiB")
    return path
