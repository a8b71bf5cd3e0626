import numpy as np
import scipy.sparse as sp

from s2gnn import Graph
from s2gnn.bench.tasks import random_graph, stored_graph, workload
from s2gnn.data import construction


def test_workloads_are_real_where_the_data_is_available_and_random_elsewhere(monkeypatch, tmp_path, data_folder):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    real = workload("cancer-b")
    assert (real.name, real.graph.n_nodes, real.graph.n_edges) == ("cancer-b", 1_250, 25_734)
    monkeypatch.delenv("S2GNN_DATA")
    made = workload("cancer-b")
    assert (made.name, made.graph.n_nodes, made.graph.n_edges) == ("cancer-b (random)", 1_250, 25_734)
    assert made.x.shape == real.x.shape


def test_pubmed_is_diffused(monkeypatch, tmp_path, data_folder):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    monkeypatch.setattr(construction, "diffuse", lambda graph, *_, **__: graph)  # which takes four minutes
    task = workload("pubmed")
    assert (task.name, task.x.shape, task.graph.n_edges) == ("pubmed", (19_717, 500), 44_324)


def test_a_stored_graph_is_the_random_graph_made_once(monkeypatch, tmp_path):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path))
    path = stored_graph(50, 200)
    written = path.stat().st_mtime_ns
    assert stored_graph(50, 200).stat().st_mtime_ns == written
    A = sp.load_npz(path)
    assert (A.indices.dtype, A.data.dtype) == (np.int32, np.float32)
    graph, expected = Graph(A), random_graph(50, 200)
    np.testing.assert_array_equal(graph.indices, expected.indices)
    np.testing.assert_allclose(graph.weights, expected.weights, rtol=1e-7)
