import numpy as np

from s2gnn import Graph
from s2gnn.bench import workloads
from s2gnn.bench.stored import load_csr, stored_csr
from s2gnn.bench.workloads import cache_folder, random_graph, workload


def test_workloads_are_real_where_the_data_is_and_of_that_size_elsewhere(monkeypatch, data_folder):
    real = workload("cancer-b")
    assert (real.name, real.graph.n_nodes, real.graph.n_edges) == ("cancer-b", 1_250, 25_734)
    monkeypatch.delenv("S2GNN_DATA")
    made = workload("cancer-b")
    assert (made.name, made.graph.n_nodes, made.graph.n_edges) == ("cancer-b (random)", 1_250, 25_734)
    assert made.x.shape == real.x.shape


def test_pubmed_is_diffused_once_and_kept(monkeypatch, tmp_path, data_folder):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    diffused = []

    def shortened(graph):
        diffused.append(graph)
        return graph

    monkeypatch.setattr(workloads, "diffuse", shortened)
    first, second = workload("pubmed"), workload("pubmed")
    assert first.name == second.name == "pubmed"
    assert len(diffused) == 1
    assert first.graph == second.graph == diffused[0]
    assert first.x.shape == (19_717, 500)


def test_the_cache_is_where_the_user_wants_it(monkeypatch, tmp_path):
    monkeypatch.delenv("S2GNN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "s2gnn"
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_stored_graph_is_the_random_graph_made_once(monkeypatch, tmp_path):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    folder = stored_csr(50, 200)
    written = (folder / "indices.npy").stat().st_mtime_ns
    assert stored_csr(50, 200) == folder
    assert (folder / "indices.npy").stat().st_mtime_ns == written
    A = load_csr(folder)
    assert (A.indices.dtype, A.data.dtype) == (np.int32, np.float32)
    graph, expected = Graph(A), random_graph(50, 200)
    np.testing.assert_array_equal(graph.indices, expected.indices)
    np.testing.assert_allclose(graph.weights, expected.weights, rtol=1e-7)
