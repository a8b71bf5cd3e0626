import sys
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from s2gnn import InputError, knn_graph
from s2gnn.bench.benchmarks import points_on_clusters
from s2gnn.graphs import nearest_neighbours, neighbours, node_homophily
from tests.real_data import histology


def dense_knn(X, k, sigma=None):
    """The definition with a full distance matrix and a sort."""
    X = np.asarray(X, dtype=float)
    d = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
    np.fill_diagonal(d, np.inf)
    lists = np.argsort(d, axis=1, kind="stable")[:, :k]
    listed = np.zeros(d.shape, dtype=bool)
    np.put_along_axis(listed, lists, True, axis=1)
    np.fill_diagonal(d, 0)
    width = sigma or np.mean(np.take_along_axis(d, lists, axis=1)) * k / (k + 1)
    return np.where(listed | listed.T, np.exp(-(d**2) / width**2), 0.0)


@given(st.integers(3, 25), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_equals_the_dense_definition(n, m, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    k = int(rng.integers(1, n))
    np.testing.assert_allclose(knn_graph(X, k).to_scipy().toarray(), dense_knn(X, k), rtol=1e-9)
    np.testing.assert_allclose(knn_graph(X, k, sigma=0.7).to_scipy().toarray(), dense_knn(X, k, 0.7), rtol=1e-9)


def test_sparse_input_gives_the_graph_of_the_dense_one():
    X = sp.random_array((40, 30), density=0.3, rng=np.random.default_rng(0)).toarray()
    for container in (sp.csr_array, sp.csc_matrix):
        dense, sparse = knn_graph(X, 5), knn_graph(container(X), 5)
        assert sparse.n_edges == dense.n_edges
        np.testing.assert_allclose(sparse.weights, dense.weights, rtol=1e-12)


def test_far_from_the_origin_and_with_ties_the_search_stays_exact():
    X = np.random.default_rng(0).random((300, 20)) + 1e8
    np.testing.assert_allclose(knn_graph(X, 7).to_scipy().toarray(), dense_knn(X, 7), rtol=1e-6)
    grid = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(knn_graph(grid, 6).to_scipy().toarray(), dense_knn(grid, 6), rtol=1e-9)


@pytest.mark.parametrize("kind", ["digits", "copies", "binary"])
def test_the_number_of_threads_does_not_matter(kind):
    rng = np.random.default_rng(0)
    X = {
        "digits": load_digits(return_X_y=True)[0],
        "copies": np.repeat(rng.normal(size=(20, 20)), 100, axis=0),
        "binary": rng.integers(0, 2, (2000, 20)).astype(float),
    }[kind]
    graphs = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            graphs.append(knn_graph(X, 10))
    assert graphs[1] == graphs[0]
    assert graphs[2] == graphs[0]


def test_duplicates_have_weight_one_and_far_points_keep_their_neighbours():
    assert knn_graph(np.ones((5, 2)), 2).weights.tolist() == [1.0] * (2 * knn_graph(np.ones((5, 2)), 2).n_edges)
    X = np.append(np.linspace(0, 1, 50), 1e6)[:, None]
    g = knn_graph(X, 3, sigma=0.1)
    assert np.diff(g.indptr).min() >= 3
    assert g.weights.min() > 0


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.zeros((4, 2)), {"k": 4}, "k is 4, but 4 rows have at most 3 neighbours"),
        (np.zeros((4, 2)), {"k": 0}, "k is 0"),
        (np.array([[0.0], [np.nan], [1.0]]), {"k": 1}, r"X\[1, 0\] is nan, but features are finite numbers"),
        (sp.csr_array(np.array([[0.0], [np.inf], [1.0]])), {"k": 1}, r"X\[1, 0\] is inf"),
        (np.zeros((1, 2)), {"k": 1}, "needs at least 2 rows, but X has 1"),
        (np.zeros(4), {"k": 1}, "Expected 2D array"),
        (np.array([[1j], [2j]]), {"k": 1}, "Complex data not supported"),
        (np.array([["a"], ["b"]]), {"k": 1}, "X cannot be used as a table of features"),
        (np.full((3, 2), 1e308), {"k": 1}, "whose square overflows: scale the features down"),
        (np.zeros((4, 2)), {"k": 1.5}, "k is 1.5"),
        (np.zeros((4, 2)), {"k": 1, "metric": "manhattan"}, "metric is 'manhattan'"),
        (np.zeros((4, 2)), {"k": 1, "method": "hnsw"}, "method is 'hnsw'"),
        (np.zeros((4, 2)), {"k": 1, "sigma": 0.0}, "sigma is 0.0, but it must be a positive number"),
        (np.zeros((4, 2)), {"k": 1, "sigma": "median"}, "sigma is 'median'"),
    ],
)
def test_unusable_input(X, options, message):
    with pytest.raises(InputError, match=message):
        knn_graph(X, **options)


PUBLISHED = {  # the paper's Table I and its homophily table: k: (edges, node homophily)
    "cancer-b": {10: (8_687, 0.8625), 20: (17_190, 0.8447), 30: (25_734, 0.8334), 40: (34_274, 0.8230)},
    "cancer-m": {10: (34_440, 0.6267), 20: (68_169, 0.5954), 30: (101_439, 0.5765), 40: (134_552, 0.5629)},
}


@pytest.mark.parametrize("k", [10, 20, 30, 40])
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_edges_and_homophily(data_folder, name, k):
    X, y = histology(data_folder, name)
    g = knn_graph(X, k)
    assert (g.n_edges, round(node_homophily(g, y), 4)) == PUBLISHED[name][k]


@pytest.mark.parametrize(("name", "sigma"), [("cancer-b", 0.034430), ("cancer-m", 0.033059)])
def test_published_kernel_width(data_folder, name, sigma):
    reports = []
    knn_graph(histology(data_folder, name)[0], 30, report=reports.append)
    assert round(reports[0].sigma, 6) == sigma
    assert (reports[0].method, reports[0].recall) == ("exact", 1.0)


def test_cosine_distance_is_one_minus_the_cosine():
    X = np.random.default_rng(0).normal(size=(30, 4)) * np.linspace(0.1, 9, 30)[:, None]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    d = 1 - unit @ unit.T
    found = nearest_neighbours(X, 5, metric="cosine")
    np.testing.assert_allclose(found.distances, np.take_along_axis(d, found.indices, axis=1), atol=1e-12)
    np.fill_diagonal(d, np.inf)
    np.testing.assert_array_equal(found.indices, np.argsort(d, axis=1)[:, :5])
    for container in (np.asarray, sp.csr_array):
        graph = knn_graph(container(X), 5, metric="cosine", sigma=0.5)
        assert graph.n_edges == knn_graph(unit, 5).n_edges
    with pytest.raises(InputError, match="row 2 is all zero"):
        knn_graph(np.vstack([X[:2], np.zeros(4), X[2:]]), 3, metric="cosine")


def test_faiss_reports_a_recall_that_is_true_and_is_deterministic():
    X = points_on_clusters(4000)
    exact = nearest_neighbours(X, 10)
    found = nearest_neighbours(X, 10, method="faiss")
    again = nearest_neighbours(X, 10, method="faiss")
    np.testing.assert_array_equal(found.indices, again.indices)
    assert not np.any(found.indices == np.arange(4000)[:, None])
    truth = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(found.indices, exact.indices, strict=True)])
    assert found.recall >= 0.99
    assert found.recall == pytest.approx(truth, abs=0.01)


def test_faiss_with_many_copies_of_a_point_lists_no_row_itself():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 30, axis=0)
    found = nearest_neighbours(X, 5, method="faiss")
    assert not np.any(found.indices == np.arange(600)[:, None])
    assert found.distances.max() == 0
    assert found.recall == 1


@pytest.mark.parametrize("method", ["exact", "faiss"])
def test_a_search_in_blocks_finds_the_same_and_reports_progress(monkeypatch, method):
    X = np.random.default_rng(0).normal(size=(230, 3))
    whole = nearest_neighbours(X, 4, method=method)
    shares = []

    @contextmanager
    def reported(description, *, shown):
        assert (description, shown) == ("finding neighbours", True)
        yield shares.append

    monkeypatch.setattr(neighbours, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(neighbours, "progress_bar", reported)
    found = nearest_neighbours(X, 4, method=method, progress=True)
    assert shares == [100 / 230, 200 / 230, 1]
    np.testing.assert_array_equal(found.indices, whole.indices)
    np.testing.assert_array_equal(found.distances, whole.distances)


def test_without_faiss_larger_tables_are_searched_exactly(monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT_UP_TO", 30)
    monkeypatch.setattr(neighbours, "EXACT_WITHOUT_FAISS", 60)
    X = np.random.default_rng(0).normal(size=(80, 2))
    assert [nearest_neighbours(X[:n], 3).method for n in (30, 31, 80)] == ["exact", "faiss", "faiss"]
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert [nearest_neighbours(X[:n], 3).method for n in (30, 31, 60)] == ["exact", "exact", "exact"]
    with pytest.raises(InputError, match=r"61 rows are searched with faiss, which is not installed: pip install"):
        nearest_neighbours(X[:61], 3)


def test_faiss_needs_dense_features_and_an_installation(monkeypatch):
    with pytest.raises(InputError, match="faiss only supports dense features"):
        knn_graph(sp.eye_array(50, format="csr"), 3, method="faiss")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(InputError, match=r"pip install \"s2gnn\[ann\]\""):
        knn_graph(np.eye(50), 3, method="faiss")
