from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from s2gnn import Graph, InputError, diffuse, knn_graph, smooth_graph
from s2gnn.data import CATALOGUE, Dataset, GraphCollection, collection_graphs, construction, dataset_graph
from s2gnn.graphs import DisjointUnion, largest_component, load_graph, save_graph
from tests.random_graphs import random_graph


@pytest.fixture
def iris(cache):
    X, y = load_iris(return_X_y=True)
    return Dataset("iris", X, y, ("a", "b", "c"), None, "scikit-learn", np.ones(150, dtype=bool))


@pytest.fixture
def builds(monkeypatch):
    """The k of every k-NN graph that was really built."""
    built = []

    def counted(X, k):
        built.append(k)
        return knn_graph(X, k)

    monkeypatch.setattr(construction, "knn_graph", counted)
    return built


def test_built_graphs(iris):
    for kind, build in (("knn", knn_graph), ("smooth", smooth_graph)):
        dataset, graph = dataset_graph(iris, kind, 5)
        assert dataset is iris
        assert graph == build(iris.x, 5)


def test_the_k_of_the_paper_is_the_default(iris, builds):
    for name in ("iris", "cancer-b", "20news", "har", "isolet"):
        dataset_graph(replace(iris, name=name, x=iris.x + len(builds)), "knn")
    assert builds == [30, 30, 30, 40, 20]
    assert [CATALOGUE[name].k for name in ("har", "isolet")] == [40, 20]


def test_a_graph_is_built_once_for_the_same_values(iris, builds):
    first = dataset_graph(iris, "knn", 5)[1]
    again = dataset_graph(replace(iris, name="other", x=iris.x.copy(order="F")), "knn", 5)[1]
    assert again == first
    assert builds == [5]
    changed = iris.x.copy()
    changed[0, 0] += 1e-12
    for dataset in (replace(iris, x=changed), replace(iris, x=sp.csr_array(iris.x))):
        dataset_graph(dataset, "knn", 5)
    dataset_graph(iris, "knn", 6)
    assert builds == [5, 5, 5, 6]


def test_another_recipe_is_built_again(iris, builds, monkeypatch):
    dataset_graph(iris, "knn", 5)
    monkeypatch.setattr(construction, "RECIPE", construction.RECIPE + 1)
    dataset_graph(iris, "knn", 5)
    assert builds == [5, 5]


@pytest.mark.parametrize("damage", ["torn", "empty", "foreign", "of another size", "changed"])
def test_a_file_that_does_not_fit_is_not_trusted(iris, cache, builds, damage):
    graph = dataset_graph(iris, "knn", 5)[1]
    (path,) = (cache / "graphs").iterdir()
    if damage == "torn":
        path.write_bytes(path.read_bytes()[:-50])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        path.write_bytes(b"PK something else")
    elif damage == "of another size":
        save_graph(random_graph(5), path)
    else:
        save_graph(knn_graph(iris.x, 6), path)
    assert dataset_graph(iris, "knn", 5)[1] == graph
    assert builds == [5, 5]
    (path,) = (cache / "graphs").iterdir()
    assert load_graph(path) == graph
    dataset_graph(iris, "knn", 5)
    assert builds == [5, 5]


def test_two_may_build_at_once(iris, cache, monkeypatch):
    both = Barrier(2, timeout=30)

    def together(X, k):
        both.wait()
        return knn_graph(X, k)

    monkeypatch.setattr(construction, "knn_graph", together)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: dataset_graph(iris, "knn", 5)[1], range(2))
    assert first == second
    assert len(list((cache / "graphs").iterdir())) == 1


@pytest.fixture
def citations(cache):
    """A graph of two components, 12 and 4 nodes."""
    ring = [(i, (i + 1) % 12) for i in range(12)] + [(12, 13), (13, 14), (14, 15)]
    graph = Graph.from_edge_list(ring, n_nodes=16)
    x = sp.csr_array(np.arange(32.0).reshape(16, 2))
    return Dataset("ring", x, np.arange(16) % 2, ("a", "b"), graph, "test", np.arange(16) != 3)


def test_given_graph(citations):
    dataset, graph = dataset_graph(citations, "given")
    assert dataset is citations
    assert graph is citations.graph


def test_diffusion_restricts_rows_to_the_largest_component(citations):
    dataset, graph = dataset_graph(citations, "diffusion")
    component, nodes = largest_component(citations.graph)
    assert nodes.tolist() == list(range(12))
    assert graph == diffuse(component, 0.05, 128)
    assert dataset.graph == component
    assert np.array_equal(dataset.x.toarray(), citations.x.toarray()[:12])
    assert np.array_equal(dataset.y, citations.y[:12])
    assert np.flatnonzero(~dataset.labelled).tolist() == [3]


def test_bad_input(iris, citations):
    with pytest.raises(
        InputError, match="kind of graph is 'ring', but it must be one of knn, smooth, diffusion, given"
    ):
        dataset_graph(iris, "ring")
    for kind in ("diffusion", "given"):
        with pytest.raises(InputError, match='iris has no given graph: build one from its features with "knn"'):
            dataset_graph(iris, kind)
        with pytest.raises(InputError, match=f"k is 5, but a {kind} graph has no k"):
            dataset_graph(citations, kind, 5)
    with pytest.raises(InputError, match="k is 150, but 150 rows"):
        dataset_graph(iris, "knn", 150)
    with pytest.raises(InputError, match="iris has 150 rows, 149 labels, 150 marks and no graph: all must agree"):
        replace(iris, y=iris.y[1:])


def test_the_graphs_of_a_collection_are_diffused_one_by_one_and_kept(cache):
    parts = [random_graph(20, 0.3, seed) for seed in range(3)]
    union = DisjointUnion.of([*parts, Graph.from_edge_list([], n_nodes=1)])
    collection = GraphCollection("own", union, np.ones((61, 1)), np.array([0, 1, 0, 1]), ("a", "b"), "here")
    same, diffused = collection_graphs(collection, "diffusion")
    assert same is collection
    assert list(diffused)[:3] == [diffuse(part, 0.05, 15) for part in parts]
    (kept,) = (cache / "graphs").glob("*.npz")
    before = kept.stat().st_mtime_ns
    assert collection_graphs(collection, "diffusion")[1].graph == diffused.graph
    assert kept.stat().st_mtime_ns == before
    assert collection_graphs(collection, "given") == (collection, union)
    with pytest.raises(InputError, match="kind of graph is 'knn', but many graphs are"):
        collection_graphs(collection, "knn")
    with pytest.raises(InputError, match="own has 4 graphs with 61 nodes, but 3 labels and 61 rows of features"):
        replace(collection, y=collection.y[1:])
