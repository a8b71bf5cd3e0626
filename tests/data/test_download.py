import hashlib
import socket

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.data.download import download
from tests.data.web import web_server

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILES = {"file": CONTENT}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "file"


def part_of(path):
    return path.with_name("file.part")


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_a_whole_file(path, sha256, capsys):
    with web_server(FILES) as (address, asked):
        download(f"{address}/file", path, sha256, progress=True)
    assert path.read_bytes() == CONTENT
    assert not part_of(path).exists()
    assert asked == [("file", None)]
    assert "100%" in capsys.readouterr().err


def test_a_broken_download_goes_on_where_it_ended(path):
    with web_server(FILES, "broken") as (address, _), pytest.raises(InputError) as raised:
        download(f"{address}/file", path, SHA256)
    assert "broke after 150,000 bytes: run this again to go on from there" in str(raised.value)
    assert not path.exists()
    assert part_of(path).read_bytes() == CONTENT[:150_000]
    with web_server(FILES) as (address, asked):
        download(f"{address}/file", path, SHA256)
    assert asked == [("file", "bytes=150000-")]
    assert path.read_bytes() == CONTENT


def test_without_a_sha256_a_broken_download_starts_anew(path):
    with web_server(FILES, "broken") as (address, _), pytest.raises(InputError, match="150,000 bytes: run this again$"):
        download(f"{address}/file", path, None)
    part_of(path).write_bytes(b"of another file")
    with web_server(FILES) as (address, asked):
        download(f"{address}/file", path, None)
    assert asked == [("file", None)]
    assert path.read_bytes() == CONTENT


def test_a_server_without_ranges_sends_everything_again(path):
    path.parent.mkdir()
    part_of(path).write_bytes(CONTENT[:1000])
    with web_server(FILES, "no ranges") as (address, asked):
        download(f"{address}/file", path, SHA256)
    assert asked == [("file", "bytes=1000-")]
    assert path.read_bytes() == CONTENT


def test_a_part_that_is_whole_needs_no_more(path):
    path.parent.mkdir()
    part_of(path).write_bytes(CONTENT)
    with web_server(FILES) as (address, _):
        download(f"{address}/file", path, SHA256)
    assert path.read_bytes() == CONTENT


def test_a_wrong_range_is_not_appended(path):
    path.parent.mkdir()
    part_of(path).write_bytes(CONTENT[:1000])
    with web_server(FILES, "wrong range") as (address, _), pytest.raises(InputError, match="broke after 1,000 bytes"):
        download(f"{address}/file", path, SHA256)
    assert part_of(path).read_bytes() == CONTENT[:1000]


@pytest.mark.parametrize("begun", [b"", b"begun by another file", b"x" * 300_001])
def test_a_wrong_sha256_leaves_nothing(path, begun):
    path.parent.mkdir()
    part_of(path).write_bytes(begun)
    expected = "0" * 64 if not begun else SHA256
    with (
        web_server(FILES) as (address, _),
        pytest.raises(InputError, match=f"has sha256 [0-9a-f]+, expected {expected}"),
    ):
        download(f"{address}/file", path, expected)
    assert list(path.parent.iterdir()) == []


def test_a_missing_file(path):
    with web_server(FILES) as (address, _), pytest.raises(InputError) as raised:
        download(f"{address}/other", path, SHA256)
    assert str(raised.value) == f"{address}/other answers 404 Not Found"


def test_no_connection(path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(InputError) as raised:
        download(f"http://127.0.0.1:{port}/file", path, SHA256)
    assert "cannot be reached" in str(raised.value)
    assert "\n" not in str(raised.value)
