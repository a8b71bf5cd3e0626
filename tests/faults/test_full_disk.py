"""A disk that is full before, within or after any write: an error that names the file, and the old content stays."""

import os
import resource
import signal
from dataclasses import replace

import pytest

from s2gnn.experiments.records import Records
from s2gnn.files import write_atomically
from s2gnn.graphs import Graph
from s2gnn.graphs.storage import load_graph, save_graph
from tests.experiments.test_records import RECORD
from tests.faults.test_crash_points import write_folder

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork"),
]


def with_room_for(size, action, path):
    """What `action` ends with in a process that cannot write files beyond `size` bytes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        try:
            action()
            text = "written"
        except OSError as error:
            text = str(error)
        os.write(writing, text.encode())  # a pipe has no limit
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        return stream.read().replace(str(path), "PATH")


@pytest.mark.parametrize("size", [0, 1, 50, 99])
def test_a_file_or_folder_without_room_stays_as_it_was(tmp_path, size):
    path, folder = tmp_path / "file", tmp_path / "model"
    write_atomically(path, b"old")
    write_folder(folder, b"old")
    assert "File too large: 'PATH'" in with_room_for(size, lambda: write_atomically(path, bytes(100)), path)
    assert "File too large" in with_room_for(size, lambda: write_folder(folder, bytes(100)), folder)
    assert path.read_bytes() == (folder / "weights").read_bytes() == b"old"
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["file", "model", "weights"]
    assert with_room_for(100, lambda: write_atomically(path, bytes(100)), path) == "written"


def test_a_graph_without_room_is_not_replaced(tmp_path):
    path, graph = tmp_path / "graph.npz", Graph.from_edge_list([(0, 1), (1, 2)])
    save_graph(graph, path)
    other = Graph.from_edge_list([(0, 1), (1, 2), (2, 3)])
    assert "File too large: 'PATH'" in with_room_for(path.stat().st_size - 1, lambda: save_graph(other, path), path)
    assert (load_graph(path).to_scipy() != graph.to_scipy()).nnz == 0


def test_records_without_room_keep_the_lines_they_have(tmp_path):
    records = Records(tmp_path / "runs.jsonl")
    records.append(RECORD)
    length = records.path.stat().st_size
    for room in (0, 1, length // 2, length - 1):
        text = with_room_for(length + room, lambda: records.append(replace(RECORD, seed=1)), records.path)
        assert text.endswith(": 'PATH'")
        assert records.read() == [RECORD]
        assert records.path.stat().st_size == length
    assert with_room_for(2 * length, lambda: records.append(replace(RECORD, seed=1)), records.path) == "written"
    assert [record.seed for record in records.read()] == [RECORD.seed, 1]
