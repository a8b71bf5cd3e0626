"""Download one file: resumable, checked against its sha256, and complete or absent under its name."""

import hashlib
import http.client
import os
from collections.abc import Callable
from pathlib import Path
from ssl import SSLError
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from s2gnn.errors import InputError
from s2gnn.progress import progress_bar

TIMEOUT = 30.0
BLOCK = 2**16
RANGE_NOT_SATISFIABLE = 416


class _BrokenConnectionError(Exception):
    """The connection ended before the file did."""


def download(url: str, path: Path, sha256: str | None, *, progress: bool = False) -> None:
    """Fetch `url` to `path`; until it is whole and checked it is called `path` + ".part".

    A download that broke off goes on where it ended when run again, if `sha256` is known: without one nothing would
    show that both parts belong to the same file, so it starts anew.

    Args:
        url: http or https.
        path: the file to write; missing folders are created.
        sha256: what the publisher's file has, in hexadecimal; `None` where none is known.
        progress: show a bar.

    Raises:
        InputError: if the server cannot be reached or lacks the file, the connection breaks, or the sha256 differs.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    if sha256 is None:
        part.unlink(missing_ok=True)
    try:
        with progress_bar(path.name, shown=progress) as show:
            _transfer(url, part, show)
    except HTTPError as error:
        with error:
            raise InputError(f"{url} answers {error.code} {error.reason}") from error
    except (_BrokenConnectionError, http.client.HTTPException, ConnectionError, TimeoutError, SSLError) as error:
        again = "run this again to go on from there" if sha256 else "run this again"
        size = part.stat().st_size if part.exists() else 0
        raise InputError(f"the connection to {url} broke after {size:,} bytes: {again}") from error
    except URLError as error:
        raise InputError(f"{url} cannot be reached ({error.reason})") from error
    if sha256 is not None:
        found = file_sha256(part)
        if found != sha256:
            part.unlink()
            raise InputError(f"{url} has sha256 {found}, expected {sha256}: it was removed, run this again")
    part.replace(path)


def file_sha256(path: Path) -> str:
    """The sha256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _transfer(url: str, part: Path, show: Callable[[float], None]) -> None:
    """Append to `part` what it lacks, or write it anew when the server does not send a range."""
    start = part.stat().st_size if part.exists() else 0
    headers = {"User-Agent": "s2gnn"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        response = urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == RANGE_NOT_SATISFIABLE and start:
            error.close()
            return  # the part is whole already, or wrong, which its sha256 shows
        raise
    with response:
        resumed = response.status == http.client.PARTIAL_CONTENT
        if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            raise _BrokenConnectionError
        done = start if resumed else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else None
        with part.open("ab" if resumed else "wb") as stream:
            while block := response.read(BLOCK):
                stream.write(block)
                done += len(block)
                show(done / total if total else 0.0)
            stream.flush()
            os.fsync(stream.fileno())
    if total is not None and done != total:
        raise _BrokenConnectionError
