import numpy as np
import pytest
import torch

from s2gnn import Graph, InputError, SobolevOperator
from s2gnn.graphs import DisjointUnion
from s2gnn.learning import FitConfig, fit
from s2gnn.nn import MODELS, S2GNN, GraphInput, make_graph_model
from s2gnn.nn.baselines import supergat
from tests.random_graphs import random_graph

PARTS = [
    random_graph(9, 0.4, seed=1),
    Graph.from_edge_list([], n_nodes=1),
    random_graph(6, 0.5, seed=2),
    Graph.from_edge_list([], n_nodes=3),
    random_graph(12, 0.3, seed=3),
]
UNION = DisjointUnion.of(PARTS)
X = np.random.default_rng(0).normal(size=(UNION.graph.n_nodes, 4))
CHOSEN = [4, 1, 0, 3]
RICHER = {
    "s2gnn, learned ε": {"epsilon": "learn", "initial_epsilon": 0.7},
    "s2gnn, all of it": {"epsilon": "learn", "fusion": "attention", "norm": "batch", "residual": True},
}


def ready(name, **given):
    given = {**RICHER.get(name, {}), **given}
    model = make_graph_model(name.split(",")[0], 4, 3, hidden_channels=5, **given).double().eval()
    return model, *model.prepare(X, UNION)


@pytest.mark.parametrize("name", [*MODELS, *RICHER])
def test_a_graph_has_the_same_logits_by_itself_in_a_batch_and_among_all(name):
    model, x, op = ready(name)
    together = model(x, op)
    assert together.shape == (5, 3)
    for number, graph in enumerate(PARTS):
        own = slice(UNION.offsets[number], UNION.offsets[number + 1])
        alone = model(*model.prepare(X[own], DisjointUnion.of([graph])))
        torch.testing.assert_close(alone[0], together[number], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(model(*x.part(op, CHOSEN)), together[CHOSEN], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [*MODELS, *RICHER])
def test_training_a_batch_gives_the_gradients_of_the_same_graphs_prepared_again(name):
    model, x, op = ready(name, dropout=0.0)
    model.train()
    if name == "supergat":
        model.network.attention_loss = 0.0  # draws random pairs
    nodes = UNION.blocks(CHOSEN).nodes
    calls = [x.part(op, CHOSEN), model.prepare(X[nodes], UNION.chosen(CHOSEN))]
    gradients = []
    for call in calls:
        model.zero_grad()
        model(*call).square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    assert len(gradients[0]) > 0
    assert name not in RICHER or model.network.epsilon.log.grad != 0
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-9, atol=1e-11)


def test_an_operator_of_a_batch_is_a_block_of_the_large_one():
    _, x, op = ready("s2gnn", alpha=3, epsilon=0.7)
    _, part = x.part(op, CHOSEN)
    nodes = UNION.blocks(CHOSEN).nodes
    assert isinstance(part, SobolevOperator)
    for rho in (1, 2, 3):
        np.testing.assert_array_equal(part.matrix(rho).toarray(), op.matrix(rho).toarray()[np.ix_(nodes, nodes)])
    h = torch.randn(UNION.graph.n_nodes, 2, dtype=torch.float64)
    torch.testing.assert_close(part.propagate(h[nodes]), op.propagate(h)[:, nodes], rtol=1e-14, atol=1e-14)
    for name in ("c", "t"):
        whole, selected = getattr(op.powers, name), getattr(part.powers, name)
        assert torch.equal(whole[torch.from_numpy(nodes)], selected)  # selected, to the last bit


def test_mean_pooling_is_the_mean_of_the_node_logits():
    model, x, op = ready("s2gnn")
    assert isinstance(model.network, S2GNN)
    nodes = model.network(x.x, op)
    expected = torch.stack([nodes[UNION.graph_of_node == number].mean(0) for number in range(5)])
    torch.testing.assert_close(model(x, op), expected)


@pytest.mark.parametrize("pooling", ["mean", "sum", "max", "attention"])
def test_new_parameters_come_from_the_seed(pooling):
    model, x, op = ready("gcn", pooling=pooling)
    outputs = []
    for _ in range(2):
        torch.manual_seed(3)
        model.reset_parameters()
        outputs.append(model(x, op))
    assert torch.equal(*outputs)
    model.reset_parameters()
    assert not torch.equal(model(x, op), outputs[0])


def test_one_hot_features_are_taken_dense():
    model = make_graph_model("gat", 12, 2, hidden_channels=4)
    x, _ = model.prepare(np.eye(12)[UNION.graph_of_node], UNION)
    assert isinstance(x, GraphInput)
    assert isinstance(x.x, torch.Tensor)
    assert x.shape == (5, 12)


def test_the_loss_of_the_network_is_that_of_the_classifier():
    model, x, op = ready("supergat")
    model.train()
    model(x, op)
    assert model.auxiliary_loss() > 0
    model, x, op = ready("gcn")
    model(x, op)
    assert model.auxiliary_loss() == 0


@pytest.mark.parametrize("batch_size", [None, 2])
def test_supergat_compares_edges_with_pairs_of_one_graph_in_every_step(monkeypatch, batch_size):
    steps = []
    draw = supergat.non_edges
    monkeypatch.setattr(supergat, "non_edges", lambda edges: steps.append((edges, draw(edges))) or steps[-1][1])
    model = make_graph_model("supergat", 4, 3, hidden_channels=5, num_layers=1)
    x, op = model.prepare(X, UNION)
    y, train = np.arange(5) % 3, np.array([4, 1, 0, 2])
    fit(model, x, op, y, train, config=FitConfig(epochs=20, batch_size=batch_size))
    assert len(steps) == (20 if batch_size is None else 40)
    for edges, others in steps:
        joined = torch.repeat_interleave(edges.graph_sizes)[torch.stack([others.rows, others.columns])]
        assert torch.equal(joined[0], joined[1])
        assert len(edges.graph_sizes) == (batch_size or 4)
        assert edges.graph_sizes.sum() == edges.n_nodes
    assert sum(len(others) for _, others in steps) > 40


def test_bad_input_is_named():
    model, _, _ = ready("gcn")
    with pytest.raises(InputError, match=r"the graphs are a list: join them with DisjointUnion\.of\(graphs\)"):
        model.prepare(X, PARTS)
    with pytest.raises(InputError, match="gcn has no hyperparameter 'alpha': allowed are .*head, pooling"):
        make_graph_model("gcn", 4, 3, alpha=2)
    with pytest.raises(InputError, match="pooling is 'top', but it must be one of mean"):
        make_graph_model("gcn", 4, 3, pooling="top")
    sparse = GraphInput("text", UNION, None)
    with pytest.raises(InputError, match="x is a str, whose rows cannot be selected"):
        sparse.part(None, [0])
