import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from s2gnn import S2GNN, Graph, IdenticalBranchesWarning, InputError, SobolevOperator, knn_graph
from s2gnn.graphs import induced_subgraph, partition
from s2gnn.graphs.selection import Selection
from s2gnn.learning import FitConfig, fit, predict_logits
from s2gnn.nn import MODELS, Clusters, InParts, make_model
from s2gnn.nn.inputs import select_nodes
from s2gnn.nn.neighbour_sampling import InducedNeighborSampler, Sampled, neighbor_loader
from s2gnn.operators import SobolevFamily
from tests.random_graphs import random_graph

GRAPH = random_graph(40, 0.15, seed=2)
X = np.random.default_rng(1).normal(size=(40, 6))
NODES = np.array([2, 3, 7, 8, 20, 21, 22, 39])
Y = np.arange(40) % 3
TRAIN, VAL = np.arange(0, 20), np.arange(20, 40)

new_model = partial(S2GNN, 6, 8, 3, alpha=3, epsilon=1.5)


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("shift", ["adjacency", "normalized_laplacian"])
def test_a_selected_operator_is_the_principal_submatrix_of_every_power(shift):
    op = SobolevOperator(GRAPH, alpha=4, epsilon=1.5, shift=shift, dtype=torch.float64)
    part = op.selected(Selection.of(NODES, 40))
    h = torch.randn(len(NODES), 5, dtype=torch.float64)
    for rho in range(1, 5):
        dense = op.matrix(rho).toarray()[np.ix_(NODES, NODES)]
        assert np.array_equal(part.matrix(rho).toarray(), dense)
        assert torch.allclose(part.propagate(h)[rho - 1], torch.from_numpy(dense) @ h, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_on_a_union_of_components_every_model_loses_nothing_in_parts(name):
    """Without an edge between parts, the degrees of the whole graph are those of the part."""
    nodes = np.arange(40)
    adjacency = GRAPH.to_scipy()
    apart = type(GRAPH)(sp.block_diag([adjacency[nodes[:25]][:, nodes[:25]], adjacency[nodes[25:]][:, nodes[25:]]]))
    model = make_model(name, 6, 3, hidden_channels=8).eval()
    expected = predict_logits(model, *model.prepare(X, apart))[25:]
    for degrees in ("whole", "part"):
        parts = InParts(model, X, apart, Clusters((nodes >= 25).astype(int)), degrees, "parts")
        assert torch.allclose(predict_logits(model, parts, None)[25:], expected, atol=1e-5), degrees


def test_degrees_of_a_cluster_are_those_of_a_separate_graph():
    model = new_model(dropout=0.0).eval()
    parts = InParts(model, X, GRAPH, Clusters(np.isin(np.arange(40), NODES).astype(int)), "part")
    alone = model(*model.prepare(X[NODES], induced_subgraph(GRAPH, NODES)))
    assert torch.equal(model(*parts.prepared_on(NODES)), alone)
    with_whole_degrees = InParts(model, X, GRAPH, parts.batches).prepared_on(NODES)
    assert not torch.allclose(model(*with_whole_degrees), alone, atol=1e-3)


@pytest.mark.parametrize("degrees", ["whole", "part"])
@pytest.mark.parametrize("form", [np.float32, np.float64, sp.csr_array])
def test_features_keep_their_type_and_are_not_the_callers(degrees, form):
    made = form if form is sp.csr_array else lambda values: values.astype(form)
    x, model = made(X.copy()), new_model().eval()
    parts = InParts(model, x, GRAPH, Clusters(np.arange(40) % 2), degrees)
    assert hasattr(parts, "_features") == (degrees == "part")
    assert degrees == "whole" or parts._features.dtype == x.dtype
    x *= 0
    alone = InParts(model, made(X), GRAPH, Clusters(np.arange(40) % 2), degrees)
    assert torch.equal(model(*parts.prepared_on(NODES)), model(*alone.prepared_on(NODES)))


@pytest.mark.parametrize("degrees", ["whole", "part"])
def test_sparse_features_are_not_the_callers(degrees):
    x = sp.random_array((40, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
    model = S2GNN(500, 8, 3, alpha=1).double().eval()
    parts = InParts(model, x, GRAPH, Clusters(np.arange(40) % 2), degrees)
    expected = model(*parts.prepared_on(NODES))
    x *= 0
    assert torch.equal(model(*parts.prepared_on(NODES)), expected)


def test_a_model_that_has_moved_is_refused():
    model = new_model()
    parts = InParts(model, X, GRAPH, Clusters(np.arange(40) % 2))
    model.double()
    text = r"the model is float64 on cpu, but it was float32 on cpu when InParts was created: create it after model.to"
    with pytest.raises(InputError, match=text):
        fit(model, parts, None, Y, TRAIN, config=FitConfig(epochs=1))
    with pytest.raises(InputError, match=text):
        predict_logits(model, parts, None)


@pytest.mark.parametrize("per_batch", [1, 2, 7])
def test_the_number_of_batches_is_known_before_they_are_made(per_batch):
    for batches in (Clusters(np.arange(40) % 7, per_batch), Sampled(GRAPH, (2,), per_batch)):
        assert batches.count(TRAIN) == len(list(batches.epoch(TRAIN)))


def test_parts_in_which_nothing_trains_are_not_counted():
    parts = Clusters(np.arange(40) % 8)
    assert parts.count(np.array([0, 8, 16, 3])) == 2


def test_rows_of_sparse_features_stay_sparse():
    x = sp.random_array((40, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
    model = S2GNN(500, 8, 3)
    whole, op = model.prepare(x, GRAPH)
    part, _ = select_nodes(whole, op, Selection.of(NODES, 40))
    assert type(part) is type(whole)
    assert torch.equal(part.to_dense(), whole.to_dense()[NODES])


@pytest.mark.parametrize("degrees", ["whole", "part"])
@pytest.mark.parametrize("evaluate", ["whole", "parts"])
def test_one_partition_is_the_full_batch_to_the_bit(degrees, evaluate):
    full, parted = new_model(), new_model()
    config = FitConfig(epochs=25)
    expected = fit(full, *full.prepare(X, GRAPH), Y, TRAIN, VAL, config=config, seed=4)
    parts = InParts(parted, X, GRAPH, Clusters(np.zeros(40, int)), degrees, evaluate)
    result = fit(parted, parts, None, Y, TRAIN, VAL, config=config, seed=4)
    assert result.history == expected.history
    assert torch.equal(weights(parted), weights(full))


@pytest.mark.parametrize("class_weight", [None, [1.0, 10.0, 0.0]])
def test_the_gradients_of_a_step_are_those_of_all_its_nodes_together(class_weight):
    """Components as parts and one step for all: the full batch again, but for dropout and rounding."""
    nodes = np.arange(40)
    adjacency = GRAPH.to_scipy()
    apart = type(GRAPH)(sp.block_diag([adjacency[nodes[:25]][:, nodes[:25]], adjacency[nodes[25:]][:, nodes[25:]]]))
    full, parted = (new_model(dropout=0.0).double() for _ in range(2))
    config = FitConfig(epochs=15)
    train = np.r_[0:10, 25:28]  # ten in one part, three in the other
    expected = fit(full, *full.prepare(X, apart), Y, train, config=config, seed=4, class_weight=class_weight)
    parts = InParts(parted, X, apart, Clusters((nodes >= 25).astype(int)), "part", batches_per_step=2)
    result = fit(parted, parts, None, Y, train, config=config, seed=4, class_weight=class_weight)
    assert torch.allclose(weights(parted), weights(full), atol=1e-9)
    assert result.history.train_loss == pytest.approx(expected.history.train_loss, abs=1e-9)


def test_parts_whose_classes_weigh_nothing_take_no_step():
    model = new_model()
    parts = InParts(model, X, GRAPH, Clusters(Y))  # a part for each class
    result = fit(model, parts, None, Y, TRAIN, VAL, config=FitConfig(epochs=2), class_weight=[0.0, 1.0, 0.0])
    assert np.isfinite(result.history.train_loss).all()


def test_a_warning_of_every_part_is_given_once():
    unweighted = Graph.from_edge_list([(i, (i + 1) % 40) for i in range(40)])
    model = S2GNN(6, 8, 3, alpha=2, epsilon=1.0)
    parts = InParts(model, X, unweighted, Clusters(np.arange(40) // 10), "part", "parts")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(model, parts, None, Y, TRAIN, VAL, config=FitConfig(epochs=2))
    assert [warning.category for warning in caught] == [IdenticalBranchesWarning]


def test_every_epoch_has_all_clusters_once_in_new_batches():
    clusters = Clusters(np.arange(40) % 7, per_batch=2)
    epochs = []
    for _ in range(3):
        batches = list(clusters.epoch(TRAIN))
        assert len(batches) == 4
        assert sorted(np.concatenate([batch.nodes for batch in batches])) == list(range(40))
        assert all(np.all(np.diff(batch.nodes) > 0) and batch.roots.all() for batch in batches)
        epochs.append([batch.nodes.tolist() for batch in batches])
    assert epochs[0] != epochs[1] or epochs[1] != epochs[2]


def test_parts_without_a_training_node_take_no_step():
    model = new_model()
    seen = []
    model.register_forward_hook(lambda module, *_: seen.append(1) if module.training else None)
    parts = InParts(model, X, GRAPH, Clusters(np.arange(40) // 10))
    fit(model, parts, None, Y, [0, 1, 12], [30], config=FitConfig(epochs=3))
    assert len(seen) == 3 * 2


def test_learns_in_parts_and_by_sampled_neighbours():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    x = rng.normal(size=(300, 2)) + np.array([[3, 0], [-3, 0], [0, 4]])[y]
    graph = knn_graph(x, 8)
    train, val, test = np.arange(30), np.arange(30, 100), np.arange(100, 300)
    for batches in (Clusters(partition(graph, 10), per_batch=2), Sampled(graph, (4, 4), batch_size=10)):
        for degrees in ("whole", "part"):
            model = S2GNN(2, 8, 3, alpha=2)
            parts = InParts(model, x, graph, batches, degrees)
            fit(model, parts, None, y, train, val, config=FitConfig(epochs=30, lr=0.02))
            accuracy = (predict_logits(model, parts, None).argmax(1).numpy()[test] == y[test]).mean()
            assert accuracy > 0.9, (batches, degrees)


def test_sampled_neighbours_are_neighbours_and_no_more_than_requested():
    sampler = InducedNeighborSampler.of_edge_index(GRAPH.to_pyg().edge_index, 40, (3,))
    dense = GRAPH.to_scipy().toarray()
    for _ in range(20):
        reached = sampler._reached(np.array([5]), np.random.default_rng())
        others = np.setdiff1d(reached, [5])
        assert (dense[5, others] > 0).all()
        assert len(others) == min(3, (dense[5] > 0).sum())
    everything = InducedNeighborSampler(GRAPH.indptr, GRAPH.indices, (-1, -1))
    two_hops = np.flatnonzero(np.linalg.matrix_power((dense > 0) + np.eye(40), 2)[5])
    assert np.array_equal(everything._reached(np.array([5]), np.random.default_rng()), two_hops)


def test_the_loader_gives_induced_subgraphs_with_their_weights_to_pyg():
    data = GRAPH.to_pyg(torch.float64)
    data.x = torch.from_numpy(X)
    dense = torch.from_numpy(GRAPH.to_scipy().toarray())
    seen = []
    for batch in neighbor_loader(data, (3, 2), input_nodes=torch.arange(20), batch_size=6, shuffle=True):
        seen += batch.n_id[: batch.batch_size].tolist()
        assert torch.equal(batch.x, data.x[batch.n_id])
        adjacency = torch.zeros(len(batch.n_id), len(batch.n_id), dtype=torch.float64)
        adjacency[batch.edge_index[0], batch.edge_index[1]] = batch.edge_weight.double()
        assert torch.allclose(adjacency, dense[batch.n_id][:, batch.n_id])
    assert sorted(seen) == list(range(20))


def test_all_neighbours_of_as_many_hops_as_layers_give_the_logits_of_the_whole_graph():
    model = new_model().eval()
    whole = model(*model.prepare(X, GRAPH))
    batches = Sampled(GRAPH, (-1, -1), batch_size=4)
    parts = InParts(model, X, GRAPH, batches, "whole")
    for batch in batches.epoch(TRAIN):
        logits = model(*parts.prepared_on(batch.nodes))
        assert torch.allclose(logits[batch.roots], whole[batch.nodes[batch.roots]], atol=1e-5)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda m: InParts(m, X, GRAPH, Clusters(np.zeros(40, int)), "own"), "degrees is 'own', but it must be one of"),
        (lambda m: InParts(m, X, GRAPH, Clusters(np.zeros(9, int))), "the batches are of 9 nodes, but"),
        (lambda m: InParts(m, X[:9], GRAPH, Clusters(np.zeros(40, int)), "part"), "x has 9 rows, but the graph has 40"),
        (lambda m: InParts(m, X[:9], GRAPH, Clusters(np.zeros(40, int))), r"x has shape \(9, 6\), expected \(40, 6\)"),
        (
            lambda m: InParts(nn.ReLU(), X, GRAPH, Clusters(np.zeros(40, int))),
            "ReLU cannot be trained in mini-batches: it",
        ),
        (lambda m: InParts(nn.Linear(6, 3), X, GRAPH, Clusters(np.zeros(40, int))), "needs parameters and a method"),
        (lambda m: InParts(m, X, GRAPH, Sampled(GRAPH, (2,)), evaluate="parts"), 'evaluate must be "whole"'),
        (lambda m: Clusters(np.zeros((2, 2), int)), r"the parts have shape \(2, 2\)"),
        (lambda m: Clusters(np.zeros(4, int), per_batch=0), "per_batch is 0"),
        (lambda m: Sampled(GRAPH, (0,)), r"sizes is \(0,\), but it must be neighbours of each hop"),
        (lambda m: Sampled(GRAPH, ()), r"sizes is \(\)"),
        (lambda m: Sampled(GRAPH, 5), "sizes is 5"),
    ],
)
def test_wrong_arguments(make, text):
    with pytest.raises(InputError, match=text):
        make(new_model())


def test_a_selected_family_is_the_principal_submatrix_at_every_epsilon():
    family = SobolevFamily(GRAPH, alpha=3, dtype=torch.float64)
    part = family.selected(Selection.of(NODES, 40))
    h = torch.randn(len(NODES), 4, 5, dtype=torch.float64)
    for epsilon in (0.3, 2.0):
        whole = SobolevOperator(GRAPH, alpha=3, epsilon=epsilon, dtype=torch.float64)
        found = part.at(epsilon).propagate_branches(h)
        for rho in range(1, 4):
            dense = torch.from_numpy(whole.matrix(rho).toarray()[np.ix_(NODES, NODES)])
            assert torch.allclose(found[:, rho], dense @ h[:, rho], atol=1e-12)
