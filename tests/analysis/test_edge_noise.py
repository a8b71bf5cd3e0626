from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from s2gnn import S2GNN, Graph, InputError
from s2gnn.analysis import EdgeNoise, added_edges, dropped_edges, edge_noise_stability, edge_noises, perturbed_weights
from s2gnn.learning import predict_logits
from s2gnn.nn import GCN
from tests.random_graphs import graphs, random_graph


def dense(graph):
    return graph.to_scipy().toarray()


def ratio(A, E):
    return 10 * np.log10((A**2).sum() / (E**2).sum())


@given(graphs(max_nodes=9), st.floats(0, 60), st.integers(0, 10**6))
def test_perturbed_weights_are_in_the_papers_set_and_have_the_ratio(graph, snr, seed):
    if graph.n_edges == 0:
        return
    A = dense(graph)
    noisy = dense(perturbed_weights(graph, snr, np.random.default_rng(seed)))
    E = noisy - A
    np.testing.assert_array_equal(noisy, noisy.T)
    assert np.all(np.abs(E) <= A * (1 + 1e-12))
    assert ratio(A, E) == pytest.approx(snr, abs=1e-6)


def test_one_draw_grows_with_the_noise():
    graph = random_graph(40)
    changes = [dense(perturbed_weights(graph, snr, np.random.default_rng(3))) - dense(graph) for snr in (40, 30, 20)]
    for weaker, stronger in pairwise(changes):
        assert np.all(weaker * stronger >= 0)
        assert np.all(np.abs(stronger) >= np.abs(weaker))


def test_dropped_edges_are_that_many_and_the_others_stay():
    graph = random_graph(40)
    noisy = dropped_edges(graph, 0.25, np.random.default_rng(0))
    assert noisy.n_nodes == 40
    assert noisy.n_edges == graph.n_edges - round(0.25 * graph.n_edges)
    kept = dense(noisy) > 0
    np.testing.assert_array_equal(dense(noisy)[kept], dense(graph)[kept])
    assert dropped_edges(graph, 1.0, np.random.default_rng(0)).n_edges == 0


@given(graphs(max_nodes=9, weights=(0.1, 1.0)), st.floats(0.01, 1.0), st.integers(0, 10**6))
def test_added_edges_join_what_was_not_joined(graph, share, seed):
    n, wanted = graph.n_nodes, round(share * graph.n_edges)
    generator = np.random.default_rng(seed)
    fits = EdgeNoise("added", share).fits(graph)
    assert fits == (graph.n_edges > 0 and wanted <= n * (n - 1) // 2 - graph.n_edges)
    if wanted > n * (n - 1) // 2 - graph.n_edges:
        with pytest.raises(InputError, match=f"{wanted} pairs without an edge are wanted, but"):
            added_edges(graph, share, generator)
        return
    noisy = added_edges(graph, share, generator)
    assert noisy.n_edges == graph.n_edges + wanted
    before = dense(graph) > 0
    np.testing.assert_array_equal(dense(noisy)[before], dense(graph)[before])
    assert set(noisy.weights) <= set(graph.weights)


def test_noises_by_name():
    labels = [noise.label for noise in edge_noises((40, 5), (0.05,))]
    assert labels == ["weights at 40 dB", "weights at 5 dB", "5 % dropped", "5 % added"]
    graph = random_graph(30)
    for noise in edge_noises():
        one, again, other = (noise.applied(graph, np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert one == again
        assert one != other


@pytest.mark.parametrize(
    ("kind", "level", "message"),
    [
        ("rewired", 0.1, "the kind of noise is 'rewired', but it must be one of weights, dropped, added"),
        ("weights", -1, "the signal-to-noise ratio is -1 dB, but it must be at least 0"),
        ("weights", np.nan, "the signal-to-noise ratio is nan dB"),
        ("dropped", 0, r"the share of edges dropped is 0, but it must be in \(0, 1\]"),
        ("added", 1.5, "the share of edges added is 1.5"),
    ],
)
def test_no_such_noise(kind, level, message):
    with pytest.raises(InputError, match=message):
        EdgeNoise(kind, level)


def test_a_graph_without_edges_is_refused():
    with pytest.raises(InputError, match="the graph has no edges, so there are none to put noise on"):
        EdgeNoise("weights", 10).applied(Graph.from_edge_list([], n_nodes=3), np.random.default_rng(0))


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
