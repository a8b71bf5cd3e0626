import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris, load_wine

from s2gnn import Graph, InputError, S2GNNClassifier, S2GNNRegressor, knn_graph
from s2gnn.estimator.new_rows import FrozenDegrees
from s2gnn.estimator.training_graph import GaussianAttachment

QUICK = {"network": "s2gnn", "max_epochs": 15, "n_networks": 2, "random_state": 0}


@pytest.fixture(scope="module")
def tables():
    X, y = load_iris(return_X_y=True)
    new = np.arange(150) % 4 == 1
    return X[~new], np.where(np.arange((~new).sum()) % 3 == 0, y[~new], -1), X[new] + 0.013


def joined_probabilities(classifier, edges, X_scaled, new_scaled):
    """Dense forward passes on the joined graph: edges from new nodes only, degrees of training nodes as they were."""
    A = classifier.graph_.to_scipy().toarray()
    n, q = len(A), edges.shape[0]
    joined = np.zeros((n + q, n + q))
    joined[:n, :n], joined[n:, :n] = A, edges.toarray()
    c = classifier.networks_[0].config
    probabilities = []
    for network in classifier.networks_:
        M = joined + float(network.epsilon) * np.eye(n + q)
        h = np.vstack([X_scaled, new_scaled])
        for conv in network.convs:
            before = h
            weight, bias = conv.weight.detach().double().numpy(), conv.bias.detach().double().numpy()
            branches = [np.maximum(h @ weight[0] + bias[0], 0)]
            for rho in range(1, c.alpha + 1):
                root = 1 / np.sqrt((M**rho).sum(axis=1))  # rows of training nodes have no edge to new ones
                S = root[:, None] * M**rho * root[None, :]
                branches.append(np.maximum(S @ h @ weight[rho] + bias[rho], 0))
            if c.fusion == "linear":
                h = np.tensordot(conv.fusion.mu.detach().double().numpy(), np.stack(branches), 1)
            elif c.fusion == "attention":
                query, offset, W, b = (p.detach().double().numpy() for p in conv.fusion.parameters())
                stacked = np.stack(branches, axis=1)
                shares = np.exp((stacked * query).sum(axis=2) + offset)
                h = np.einsum("nr,nrf->nf", shares / shares.sum(axis=1, keepdims=True), stacked) @ W + b
            else:
                h = np.hstack(branches) @ conv.fusion.weight.detach().double().numpy()
                h = h + conv.fusion.bias.detach().double().numpy()
            if conv.norm is not None:
                gamma, beta = (p.detach().double().numpy() for p in conv.norm.parameters())
                mean, variance = conv.norm.running_mean.double().numpy(), conv.norm.running_var.double().numpy()
                h = gamma * (h - mean) / np.sqrt(variance + conv.norm.eps) + beta
            if conv.residual:
                h = h + (before if conv.skip is None else before @ conv.skip.detach().double().numpy())
        e = np.exp(h - h.max(axis=1, keepdims=True))
        probabilities.append(e / e.sum(axis=1, keepdims=True))
    return np.mean(probabilities, axis=0)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"fusion": "mlp", "num_layers": 3, "epsilon": 0.3, "alpha": 5},
        {"graph": "smooth", "num_layers": 1},
        {"graph": lambda X: knn_graph(X, 4), "k": 6},
        {"epsilon": "learn", "fusion": "attention", "norm": "batch", "residual": True, "num_layers": 3},
    ],
    ids=["knn", "deep", "smooth", "function", "rich"],
)
def test_new_rows_agree_with_a_pass_on_the_joined_graph(tables, changes):
    X, y, new = tables
    classifier = S2GNNClassifier(**{**QUICK, **changes}).fit(X, y)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    scaled, new_scaled = (X - mean) / deviation, (new - mean) / deviation
    edges = classifier.attachment_.edges(scaled, classifier.graph_.degrees, new_scaled)
    expected = joined_probabilities(classifier, edges, scaled, new_scaled)
    np.testing.assert_allclose(classifier.label_distributions_, expected[: len(X)], atol=1e-5)
    np.testing.assert_allclose(classifier.predict_proba(new), expected[len(X) :], atol=1e-5)


def test_an_answer_does_not_depend_on_the_other_rows(tables, monkeypatch):
    X, y, new = tables
    classifier = S2GNNClassifier(**QUICK).fit(X, y)
    together = classifier.predict_proba(new)
    one_by_one = np.vstack([classifier.predict_proba(row[None]) for row in new])
    np.testing.assert_allclose(one_by_one, together, atol=1e-12)
    mixed = classifier.predict_proba(np.vstack([X[:3], new[::-1], X[3:5]]))
    np.testing.assert_allclose(mixed[3:-2], together[::-1], atol=1e-12)
    np.testing.assert_array_equal(mixed[:3], classifier.label_distributions_[:3])
    monkeypatch.setattr("s2gnn.estimator.members.VALUES_AT_ONCE", 1)
    np.testing.assert_allclose(classifier.predict_proba(new), together, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e6])
def test_rows_of_the_operator_are_those_of_the_formula(scale):
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(8) for j in range(i)])
    graph = Graph.from_edge_list(pairs, scale * rng.uniform(0.5, 1, len(pairs)))
    X = rng.normal(size=(8, 2))
    edges = GaussianAttachment(3, 1.5, scale).edges(X, graph.degrees, rng.normal(size=(4, 2)))
    rows, own = FrozenDegrees.of(graph, 6, scale).rows(edges)
    A, B = graph.to_scipy().toarray() / scale, edges.toarray() / scale  # S_rho does not change with the scale
    for rho in range(1, 7):
        d, d_new = (A**rho).sum(axis=1) + 1, (B**rho).sum(axis=1) + 1
        np.testing.assert_allclose(rows[rho - 1].toarray(), B**rho / np.sqrt(np.outer(d_new, d)), rtol=1e-10)
        np.testing.assert_allclose(own[:, rho - 1], 1 / d_new, rtol=1e-10)


def test_copies_of_a_row_share_their_answer():
    X, y = load_wine(return_X_y=True)
    X = np.vstack([X, X[:5]])
    y = np.concatenate([np.where(np.arange(178) % 4 == 0, y, -1), np.full(5, -1)])
    classifier = S2GNNClassifier(**QUICK).fit(X, y)
    both = classifier.label_distributions_
    np.testing.assert_allclose(classifier.predict_proba(X)[:5], (both[:5] + both[178:]) / 2, atol=1e-12)


def test_new_rows_of_a_precomputed_graph_are_joined_by_their_features(tables):
    X, y, new = tables
    graph = knn_graph(X, 5)
    classifier = S2GNNClassifier("precomputed", **QUICK).fit(X, y, adjacency=graph)
    assert classifier.graph_ == graph
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    scaled, new_scaled = (X - mean) / deviation, (new - mean) / deviation
    edges = classifier.attachment_.edges(scaled, graph.degrees, new_scaled)
    assert np.diff(edges.indptr).tolist() == [10] * len(new)
    assert edges.sum(axis=1).mean() == pytest.approx(graph.degrees.mean(), rel=0.3)
    expected = joined_probabilities(classifier, edges, scaled, new_scaled)
    np.testing.assert_allclose(classifier.predict_proba(new), expected[len(X) :], atol=1e-5)
    from_scipy = S2GNNClassifier("precomputed", **QUICK).fit(X, y, adjacency=graph.to_scipy())
    np.testing.assert_array_equal(from_scipy.label_distributions_, classifier.label_distributions_)
    with pytest.raises(InputError, match="but graph is 'knn': omit it"):
        S2GNNClassifier(**QUICK).fit(X, y, adjacency=graph)


def test_a_precomputed_graph_without_features_has_no_place_for_new_rows(tables):
    X, y, _ = tables
    nothing = np.ones((len(X), 1))
    classifier = S2GNNClassifier("precomputed", **QUICK).fit(nothing, y, adjacency=knn_graph(X, 5))
    assert classifier.predict(nothing[:2]).shape == (2,)
    with pytest.raises(InputError, match="row 1 of X was not in the training table, whose rows all have the same"):
        classifier.predict([[1.0], [2.0]])


def test_a_smooth_signal_is_continued():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    signal = 100 + 50 * np.sin(2 * X[:, 0]) + 20 * X[:, 1]
    y = np.where(np.arange(300) % 4 == 0, signal, np.nan)
    regressor = S2GNNRegressor(max_epochs=150, n_networks=1, random_state=0).fit(X[:250], y[:250])
    unknown = np.isnan(y[:250])
    error = np.abs(regressor.transduction_ - signal[:250])[unknown].mean()
    assert error < 0.35 * np.abs(signal - signal.mean()).mean()
    assert regressor.score(X[250:], signal[250:]) > 0.8
    assert regressor.score(X, y) == pytest.approx(regressor.score(X[~np.isnan(y)], y[~np.isnan(y)]))


def test_states_are_those_of_the_trained_network(tables):
    X, y, _ = tables
    classifier = S2GNNClassifier(num_layers=2, **QUICK).fit(X, y)
    network = classifier.networks_[1]
    inputs, op = network.prepare(classifier.features_, classifier.graph_)
    with torch.no_grad():
        hidden = network.convs[0](inputs, op)
    np.testing.assert_array_equal(classifier.members_.frozen[1].hidden[0], hidden.numpy())


def test_new_rows_are_joined_by_the_columns_that_the_graph_is_made_of(tables):
    X, y, _ = tables
    given = []

    def graph_of(columns):
        given.append(columns)
        return knn_graph(columns, 5)

    members = S2GNNClassifier(graph=graph_of, max_epochs=5, random_state=0).fit(X, y).members_
    np.testing.assert_array_equal(members.graph_columns(members.features), given[0])
    weighted = S2GNNClassifier(max_epochs=5, random_state=0).fit(X, y)
    columns = weighted.members_.graph_columns(weighted.features_)
    np.testing.assert_allclose(columns, given[0] * weighted.column_weights_)
    assert np.ptp(weighted.column_weights_) > 0.1
