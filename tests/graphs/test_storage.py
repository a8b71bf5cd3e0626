import numpy as np
import pytest
from hypothesis import given

from s2gnn import InputError
from s2gnn.graphs import load_graph, save_graph
from tests.random_graphs import graphs, random_graph


@given(graphs())
def test_round_trip_is_exact(tmp_path_factory, g):
    path = tmp_path_factory.mktemp("graph") / "graph.npz"
    save_graph(g, path)
    assert load_graph(path) == g


def test_damaged_or_foreign_files(tmp_path):
    path = tmp_path / "graph.npz"
    save_graph(random_graph(5), path)
    whole = path.read_bytes()
    for content in (b"", whole[:-30], whole[: len(whole) // 2], b"not an archive", b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="damaged or not a graph|cannot be read"):
            load_graph(path)
    np.savez(path, x=np.ones(3))
    with pytest.raises(InputError, match="is not a graph written by s2gnn"):
        load_graph(path)
    np.savez(path, format="s2gnn-graph-1", indptr=[0, 9], indices=[0], weights=[1.0])
    with pytest.raises(InputError, match="damaged or not a graph"):
        load_graph(path)
    np.savez(path, format="s2gnn-graph-1", indptr=[0, 2, 2052, -1, 0], indices=[0, 3], weights=[1.0, 1.0])
    with pytest.raises(InputError, match="damaged or not a graph .* its indptr does not ascend from 0 to at most 2"):
        load_graph(path)  # SciPy writes beyond its memory, which ends the process
    np.savez(path, format="s2gnn-graph-1", indptr=[0, 1, 1], indices=[1], weights=[1.0])
    with pytest.raises(InputError, match="not symmetric"):
        load_graph(path)
    np.savez(path, format="s2gnn-graph-1", indptr=[0, 0], indices=[0])
    with pytest.raises(InputError, match="it lacks 'weights'"):
        load_graph(path)
    np.savez(path, format=np.array(["s2gnn-graph-1", object()], dtype=object))
    with pytest.raises(InputError, match="damaged or not a graph"):
        load_graph(path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_graph(tmp_path / "missing.npz")
