import numpy as np
import pytest
import torch

from s2gnn import S2GNN, InputError
from s2gnn.analysis import EdgeNoise, edge_noise_stability, edge_noises
from s2gnn.learning import predict_logits
from s2gnn.nn import GCN
from tests.random_graphs import random_graph

GRAPH = random_graph(40)
X = np.random.default_rng(0).normal(size=(40, 5))


def smoothed(graph):
    """A linear model: A X."""
    return graph.to_scipy() @ X


def test_the_measures_are_those_of_the_definitions():
    noise, seeds = EdgeNoise("weights", 10), (4, 5)
    y = np.arange(40) % 5
    found = edge_noise_stability(
        smoothed, GRAPH, lambda outputs: np.mean(outputs.argmax(1) == y), noises=(noise,), seeds=seeds
    )
    clean = smoothed(GRAPH)
    for column, seed in enumerate(seeds):
        noisy = smoothed(noise.applied(GRAPH, np.random.default_rng(seed)))
        change = np.sqrt(((noisy - clean) ** 2).sum() / (clean**2).sum())
        assert found.changes[0, column] == pytest.approx(change)
        assert found.flips[0, column] == np.mean(noisy.argmax(1) != clean.argmax(1))
        assert found.scores[0, column] == np.mean(noisy.argmax(1) == y)
    assert found.clean_score == np.mean(clean.argmax(1) == y)
    assert (found.noises, found.seeds) == ((noise,), seeds)


def test_a_model_that_does_not_look_at_the_graph_is_stable():
    draws = []
    found = edge_noise_stability(lambda graph: X, GRAPH, seeds=range(2), on_draw=draws.append)
    assert not found.changes.any()
    assert not found.flips.any()
    assert found.scores is None
    assert found.clean_score is None
    assert draws == list(range(1, 2 * len(edge_noises()) + 1))


@pytest.mark.parametrize("model", [S2GNN(5, 8, 3, alpha=3), GCN(5, 8, 3)], ids=lambda model: type(model).__name__)
def test_networks_move_with_the_noise(model):
    torch.manual_seed(0)
    model.reset_parameters()
    found = edge_noise_stability(lambda graph: predict_logits(model, *model.prepare(X, graph)), GRAPH, seeds=range(3))
    means = found.changes.mean(axis=1).reshape(3, -1)  # kinds, growing strength
    assert np.all(np.diff(means, axis=1) > 0)
    assert means[0, 0] < 0.05
    assert found.flips.shape == (15, 3)


def test_one_output_has_no_class_to_flip():
    assert edge_noise_stability(lambda graph: smoothed(graph)[:, :1], GRAPH, seeds=(0,)).flips is None


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (lambda graph: 0 * X, "all outputs are zero on the graph without noise"),
        (lambda graph: X[:, 0], r"the outputs have shape \(40,\), but it must be \(n, C\)"),
        (lambda graph: X * np.nan, r"output \(0, 0\) is nan, but outputs are finite numbers"),
        (lambda graph: X[: min(graph.n_edges, 200) // 6], r"the outputs have shape .* as without noise"),
    ],
)
def test_outputs_that_cannot_be_compared(outputs, message):
    with pytest.raises(InputError, match=message):
        edge_noise_stability(outputs, random_graph(40, 0.1), noises=edge_noises((), (0.5,)))


def test_no_noise_is_refused():
    with pytest.raises(InputError, match="there are 0 noises and 10 seeds"):
        edge_noise_stability(smoothed, GRAPH, noises=())
