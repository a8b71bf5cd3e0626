"""A process killed before any of its file operations leaves the old content or the new one, and nothing to clean up."""

import os
import signal
import sys

import pytest

from s2gnn import files
from s2gnn.files import folder_aside, replace_folder, write_atomically

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork"),
]
OPERATIONS = ("open", "os.mkdir", "os.chmod", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree", "ctypes.dlopen")


def killed_at_every_operation(action):
    """Run `action` in a process that is killed before its first file operation, its second and so on until it ends."""
    for place in range(1, 100):
        child = os.fork()
        if child == 0:
            left = place

            def count(event, _):
                nonlocal left
                if event in OPERATIONS:
                    left -= 1
                    if left == 0:
                        os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(count)
            action()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status) == 0:
            assert place > 5
            return
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        yield
    raise AssertionError("the action does not end")


def test_a_file_is_old_or_new_and_the_next_write_cleans_up(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(b"old")
    left = set()
    for _ in killed_at_every_operation(lambda: write_atomically(path, b"new")):
        assert path.read_bytes() in (b"old", b"new")
        left.add(len(list(tmp_path.iterdir())))
        write_atomically(path, b"old")
        assert [one.name for one in tmp_path.iterdir()] == ["labels.csv"]
    assert left == {1, 2}  # a kill does leave a temporary file


def write_folder(folder, content):
    with folder_aside(folder) as aside:
        new = aside / "new"
        new.mkdir()
        write_atomically(new / "weights", content)
        replace_folder(new, folder)


def test_a_folder_is_old_or_new_at_any_moment(tmp_path):
    folder = tmp_path / "model"
    write_folder(folder, b"old")
    seen = []
    for _ in killed_at_every_operation(lambda: write_folder(folder, b"new")):
        seen.append((folder / "weights").read_bytes())
        write_folder(folder, b"old")
        assert [one.name for one in tmp_path.rglob("*")] == ["model", "weights"]
    assert set(seen) == {b"old", b"new"}


@pytest.mark.parametrize("swap", [True, False])
def test_writers_at_once_leave_the_content_of_one(tmp_path, monkeypatch, swap):
    if not swap:
        monkeypatch.setattr(files, "_swapped", lambda one, other: False)
    folder, path = tmp_path / "model", tmp_path / "file"
    children = []
    write_atomically(path, 1000 * b"0")
    write_folder(folder, b"0")
    for writer in (b"1", b"2", b"3"):
        child = os.fork()
        if child == 0:
            for _ in range(8):
                write_atomically(path, 1000 * writer)
                write_folder(folder, writer)
            os._exit(0)
        children.append(child)
    for child in children:
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            content = path.read_bytes()
            assert content == 1000 * content[:1] != b""
            if swap:
                assert (folder / "weights").read_bytes() in (b"0", b"1", b"2", b"3")
        assert ended == (child, 0)
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["file", "model", "weights"]
