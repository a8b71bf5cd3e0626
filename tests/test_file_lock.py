import os
import select
import subprocess
import sys

from s2gnn.file_lock import locked

HOLD = """
import os, sys
from s2gnn.file_lock import locked
descriptor = os.open(sys.argv[1], os.O_RDWR)
with locked(descriptor, shared=sys.argv[2] == "shared"):
    print("inside", flush=True)
    sys.stdin.readline()
    print("leaving", flush=True)
"""


def hold(path, how):
    command = [sys.executable, "-c", HOLD, str(path), how]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def says_nothing(process):
    ready, _, _ = select.select([process.stdout], [], [], 0.3)
    return not ready


def test_one_holder_or_several_that_share(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    descriptor = os.open(path, os.O_RDWR)
    with locked(descriptor, shared=True):
        reader, writer = hold(path, "shared"), hold(path, "alone")
        assert reader.stdout.readline() == "inside\n"
        assert says_nothing(writer)
        reader.communicate("go\n")
    assert writer.stdout.readline() == "inside\n"  # released at the end of the block, with the file still open
    writer.kill()
    writer.communicate()
    with locked(descriptor):  # a killed process holds nothing
        assert path.read_bytes() == b"content"
    os.close(descriptor)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
