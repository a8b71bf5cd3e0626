import pytest

from s2gnn.data import (
    Statistic,
    collection_graphs,
    collection_statistics,
    dataset_graph,
    load_collection,
    load_dataset,
    statistics,
)
from s2gnn.graphs import node_homophily


@pytest.fixture
def own_cache(data_folder, cache, monkeypatch):
    monkeypatch.setenv("S2GNN_DATA", str(data_folder))


def test_figures_compared_with_the_paper(own_cache):
    dataset, graph = dataset_graph(load_dataset("cancer-b"), "knn")
    assert statistics(dataset, graph, "knn") == (
        Statistic("nodes", 1_250, 1_250),
        Statistic("edges", 25_734, 25_734),
        Statistic("features", 38, 38),
        Statistic("classes", 2, 2),
        Statistic("homophily", node_homophily(graph, dataset.y), 0.8334),
    )
    assert statistics(dataset, graph, "smooth", 40)[-1].published == 0.8463
    assert statistics(dataset, graph, "knn", 7)[-1].published is None
    assert statistics(dataset, graph, "smooth")[1].published == 19_163
    assert statistics(dataset, graph, "knn", 10)[1].published is None


def test_a_graph_that_the_paper_does_not_have(own_cache):
    dataset, graph = dataset_graph(load_dataset("cora"), "given")
    nodes, edges, features, *_ = statistics(dataset, graph, "given")
    assert (nodes, edges) == (Statistic("nodes", 2_708, None), Statistic("edges", 5_278, None))
    assert features.published == 1_433


def test_no_homophily_without_one_label_for_each_row(own_cache):
    for name in ("ppi-human", "citeseer"):
        dataset, graph = dataset_graph(load_dataset(name), "given")
        assert [figure.name for figure in statistics(dataset, graph, "given")][-1] == "classes"


def test_of_many_graphs(own_cache):
    """Nodes and edges are those of the publisher's table: 17.93 and 19.79."""
    collection, graphs = collection_graphs(load_collection("mutag"), "given")
    figures = {figure.name: figure.measured for figure in collection_statistics(collection, graphs)}
    assert figures["nodes of a graph, mean"] == pytest.approx(17.93, abs=0.005)
    assert figures["edges of a graph, mean"] == pytest.approx(19.79, abs=0.005)
    assert (figures["graphs"], figures["features"], figures["classes"]) == (188, 7, 2)
    assert figures["nodes of a graph, at most"] == 28
