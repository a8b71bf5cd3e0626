import numpy as np
import pytest
import torch
from torch_geometric.transforms import RandomLinkSplit

from s2gnn import Graph, InputError
from s2gnn.graphs import diffuse
from s2gnn.links import LinkPredictor, split_links
from s2gnn.nn import MODELS, make_model
from tests.random_graphs import random_graph
from tests.real_data import citation_graph

GRAPH = random_graph(60, 0.2)


def as_set(pairs):
    return set(map(tuple, np.asarray(pairs).tolist()))


@pytest.mark.parametrize("seed", [0, 2406525885])
def test_the_parts_are_disjoint_and_together_the_graph(seed):
    split = split_links(GRAPH, seed)
    train, val, test = (as_set(part) for part in (split.train, split.val.positive, split.test.positive))
    edges, weights = GRAPH.to_edge_list()
    assert train | val | test == as_set(edges)
    assert len(train) + len(val) + len(test) == GRAPH.n_edges
    negative = [*map(tuple, split.val.negative.tolist()), *map(tuple, split.test.negative.tolist())]
    assert len(set(negative)) == len(negative)  # none in both, none twice
    assert not set(negative) & as_set(edges)
    assert all(i < j for i, j in train | val | test | set(negative))
    weight_of = dict(zip(map(tuple, edges.tolist()), weights, strict=True))
    kept, kept_weights = split.graph.to_edge_list()
    assert [weight_of[pair] for pair in map(tuple, kept.tolist())] == kept_weights.tolist()


@pytest.mark.parametrize(("val", "test"), [(0.05, 0.1), (0.1, 0.2), (0.33, 0.15)])
def test_the_sizes_are_those_of_pyg(val, test):
    torch.manual_seed(0)
    transform = RandomLinkSplit(num_val=val, num_test=test, is_undirected=True, add_negative_train_samples=False)
    theirs = transform(GRAPH.to_pyg(torch.float64))
    ours = split_links(GRAPH, 0, val=val, test=test)
    assert ours.graph.n_edges == theirs[0].edge_index.shape[1] // 2 == theirs[1].edge_index.shape[1] // 2
    for pairs, data in ((ours.val, theirs[1]), (ours.test, theirs[2])):
        assert len(pairs.positive) == int(data.edge_label.sum())
        assert len(pairs.negative) == int((data.edge_label == 0).sum())


def test_the_seed_decides_and_nothing_else():
    first, again, other = split_links(GRAPH, 1), split_links(GRAPH, 1), split_links(GRAPH, 2)
    assert first.graph == again.graph
    for part in ("val", "test"):
        for kind in ("positive", "negative"):
            assert np.array_equal(getattr(getattr(first, part), kind), getattr(getattr(again, part), kind))
    assert first.graph != other.graph
    assert not np.array_equal(first.test.negative, other.test.negative)


def test_a_node_that_loses_its_edges_stays():
    star = Graph.from_edge_list([(0, leaf) for leaf in range(1, 31)], n_nodes=31)
    split = split_links(star, 0, val=0.1, test=0.2)
    assert split.graph.n_nodes == 31
    lost = np.flatnonzero(split.graph.degrees == 0)
    assert set(lost) == {leaf for _, leaf in as_set(split.val.positive) | as_set(split.test.positive)}
    model = LinkPredictor(make_model("s2gnn", 3, 4, hidden_channels=5, epsilon=1.5), "dot", 4)
    x, op = model.prepare(np.random.default_rng(0).normal(size=(31, 3)), split.graph)
    assert model(x, op, split.test.positive).isfinite().all()


@pytest.mark.parametrize("name", [name for name in MODELS if name != "mlp"])
def test_held_out_edges_never_enter_the_operator(name):
    """Whatever the held-out edges are, what the encoder is given and what comes out of it have the same bits."""
    edges, weights = GRAPH.to_edge_list()
    x = np.random.default_rng(0).normal(size=(GRAPH.n_nodes, 3))
    split = split_links(GRAPH, 3)
    held_out = as_set(split.val.positive) | as_set(split.test.positive)
    is_train = np.array([pair not in held_out for pair in map(tuple, edges.tolist())])
    without = Graph.from_edge_list(edges[is_train], weights[is_train], GRAPH.n_nodes)
    for see in (lambda graph: graph, lambda graph: diffuse(graph, top=8)):
        torch.manual_seed(0)
        model = LinkPredictor(make_model(name, 3, 4, hidden_channels=5), "dot", 4).eval()
        seen, expected, whole = (
            model(*model.prepare(x, see(graph)), split.test.positive) for graph in (split.graph, without, GRAPH)
        )
        assert torch.equal(seen, expected)
        assert not torch.allclose(seen, whole)


def test_cora_has_the_sizes_of_the_literature(data_folder):
    graph, _ = citation_graph(data_folder, "cora")
    split = split_links(graph, 0)
    assert [len(p) for p in (split.train, split.val.positive, split.test.positive)] == [4_488, 263, 527]
    assert len(as_set(split.test.negative)) == 527


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ({"val": 0.0}, "val is 0 and test is 0.1, but they must be positive"),
        ({"val": 0.5, "test": 0.5}, "leave edges to train on"),
        ({"test": -0.1}, "test is -0.1"),
        ({"val": 0.001}, "0 would validate and"),
    ],
)
def test_unusable_shares(shares, text):
    with pytest.raises(InputError, match=text):
        split_links(GRAPH, 0, **shares)


def test_a_negative_seed():
    with pytest.raises(InputError, match="seed is -1, but it must be at least 0"):
        split_links(GRAPH, -1)


def test_a_complete_graph_has_nothing_to_tell_edges_from():
    complete = Graph.from_edge_list([(i, j) for i in range(6) for j in range(i)])
    with pytest.raises(InputError, match="3 pairs without an edge are wanted, but the graph has 0"):
        split_links(complete, 0, val=0.1, test=0.14)
