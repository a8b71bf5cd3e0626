import numpy as np
import pytest
from sklearn.datasets import load_iris

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor, knn_graph
from s2gnn.analysis import EdgeNoise, NoiseStability, dropped_edges
from s2gnn.estimator.stability import (
    MODERATE,
    draw_stability,
    estimator_stability,
    on_graph,
    stability_content,
    stability_layout,
    verdict,
)
from s2gnn.learning import predict_logits
from s2gnn.render import render

QUICK = {"max_epochs": 10, "n_networks": 2, "random_state": 0}
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)[Y]
LABELS = np.where(np.arange(150) % 5 == 0, Y, -1)
HALF = EdgeNoise("dropped", 0.5)


@pytest.fixture(scope="module")
def classifier():
    return S2GNNClassifier(**QUICK).fit(X, np.where(np.arange(150) % 5 == 0, NAMES, None))


@pytest.mark.parametrize("new", [False, True])
def test_a_classifier_is_measured_on_its_rows_or_on_others(classifier, new):
    rows = X + 0.02 if new else None
    known = np.arange(150) % 3 == 0
    found = estimator_stability(classifier, rows, NAMES, known, noises=(HALF,), seeds=(7,))
    noisy = on_graph(classifier, HALF.applied(classifier.graph_, np.random.default_rng(7)))
    before, after = (one.predict_proba(X + 0.02) if new else one.label_distributions_ for one in (classifier, noisy))
    assert found.flips[0, 0] == np.mean(before.argmax(1) != after.argmax(1))
    assert found.changes[0, 0] == pytest.approx(np.linalg.norm(after - before) / np.linalg.norm(before), rel=1e-4)
    predicted = classifier.classes_[after.argmax(1)]
    assert found.scores[0, 0] == np.mean(predicted[known] == NAMES[known])


def test_a_regressor_is_measured_relative_to_the_spread():
    values = Y + 10.5
    regressor = S2GNNRegressor(**QUICK).fit(X, np.where(np.arange(150) % 3 == 0, values, np.nan))
    found = estimator_stability(regressor, None, values, noises=(HALF,), seeds=(7,))
    noisy = on_graph(regressor, HALF.applied(regressor.graph_, np.random.default_rng(7))).transduction_
    before = regressor.transduction_
    change = np.sqrt(np.mean((noisy - before) ** 2)) / before.std()
    assert found.flips is None
    assert found.changes[0, 0] == pytest.approx(change, rel=1e-4)
    assert found.scores[0, 0] == pytest.approx(np.abs(noisy - values).mean())
    assert found.clean_score == pytest.approx(np.abs(before - values).mean(), rel=1e-5)


def measured(level, score=None, *, flips=True):
    values = np.outer(level, [0.5, 1.5])
    scores = None if score is None else np.outer(score, [1.0, 1.0])
    return NoiseStability(
        tuple(MODERATE), (0, 1), values, values if flips else None, None if score is None else 0.9, scores
    )


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (measured([0.0, 0.001, 0.01]), "The model is robust: if the weights of its edges change by 32 %, 10 % of its "
         "edges are removed or 10 % more edges are added at random, at most 1.0 % of the predicted classes change."),
        (measured([0.02, 0.001, 0.01], [0.8, 0.9, 0.85]), "at most 2.0 % of the predicted classes change; the accuracy "
         "is 90.0 % without noise and 80.0 % in the worst case."),
        (measured([0.0, 0.0504, 0.01]), "fairly robust: "),
        (measured([0.0, 0.0506, 0.01]), "sensitive to its graph: "),
        (measured([0.0, 0.06, 0.01], flips=False), "the predictions move by at most 6.0 % of their spread."),
        (measured([0.3, 0.0, 0.0], [1.5, 1.2, 1.1], flips=False), "the mean absolute error is 0.9 without noise and "
         "1.5 in the worst case."),
    ],
)  # fmt: skip
def test_the_verdict_is_on_the_worst_of_moderate_noise(found, text):
    assert text in verdict(found)


def test_a_graph_without_room_for_more_edges_is_measured_without_them():
    rows = np.arange(0, 150, 15)
    found = estimator_stability(S2GNNClassifier(k=9, **QUICK).fit(X[rows], NAMES[rows]), seeds=(0,))
    assert [noise.kind for noise in found.noises] == ["weights"] * 5 + ["dropped"] * 5
    content = stability_content(found, "model", "10 rows")
    assert "if the weights of its edges change by 32 % or 10 % of its edges are removed, " in content["verdict"]
    assert len(stability_layout(found, "model", "10 rows").blocks) == len(draw_stability(found, "model").axes) == 2


def test_a_graph_of_few_edges_has_none_to_spare():
    classifier = S2GNNClassifier(**QUICK).fit(X[[0, 75, 149]], NAMES[[0, 75, 149]])
    with pytest.raises(
        InputError, match="the graph has 3 edges, too few to remove or add a share of them: .* 20 edges"
    ):
        estimator_stability(classifier)


def test_the_report(classifier):
    found = estimator_stability(classifier, None, NAMES, seeds=(0, 1))
    content = stability_content(found, "model", "150 rows")
    layout = stability_layout(found, "model", "150 rows")
    text = render(layout, "markdown")
    assert layout.notes[0] == content["verdict"]
    assert [len(block.rows) for block in layout.blocks] == [5, 5, 5]
    worst = found.flips[4]
    assert f"| weights at 5 dB | {100 * worst.mean():.2f} ± {100 * worst.std():.2f} |" in text
    assert f"Without noise: accuracy {100 * found.clean_score:.1f} %." in text
    panels = draw_stability(found, "model").axes
    assert [axes.get_ylabel() for axes in panels if axes.get_ylabel()] == ["classes changed (%)", "accuracy (%)"]
    assert all(axes.get_xlabel() for axes in panels)
    unscored = estimator_stability(classifier, seeds=(0,))
    assert len(draw_stability(unscored, "model").axes) == 3
    assert "accuracy" not in render(stability_layout(unscored, "model", "150 rows"), "text")


def test_labels_of_other_rows_are_refused(classifier):
    with pytest.raises(InputError, match="there are 3 labels for 150 rows"):
        estimator_stability(classifier, None, NAMES[:3])


def test_another_graph_is_what_the_networks_see():
    classifier = S2GNNClassifier(network="s2gnn", **QUICK).fit(X, LABELS)
    before = classifier.predict_proba(X + 0.01)
    noisy = dropped_edges(classifier.graph_, 0.5, np.random.default_rng(0))
    other = on_graph(classifier, noisy)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    logits = [predict_logits(model, *model.prepare(scaled, noisy)).numpy() for model in classifier.networks_]
    probabilities = np.mean([np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) for z in logits], axis=0)
    np.testing.assert_allclose(other.label_distributions_, probabilities, atol=1e-5)
    assert other.graph_ == noisy
    assert np.abs(other.predict_proba(X + 0.01) - before).max() > 1e-3
    np.testing.assert_array_equal(classifier.predict_proba(X + 0.01), before)
    assert classifier.graph_ != noisy


def test_a_regressor_and_a_graph_of_other_rows():
    regressor = S2GNNRegressor(**QUICK).fit(X, np.where(LABELS < 0, np.nan, Y + 0.5))
    np.testing.assert_allclose(on_graph(regressor, regressor.graph_).transduction_, regressor.transduction_, atol=1e-5)
    with pytest.raises(InputError, match="the graph has 20 nodes, but the estimator was trained on 150 rows"):
        on_graph(regressor, knn_graph(X[:20], 3))
