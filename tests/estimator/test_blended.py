"""Estimators that predict from the columns and then use the graph."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine, make_classification

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor
from s2gnn.estimator import load_estimator, save_estimator
from s2gnn.estimator.features import NormalScores

QUICK = {"max_epochs": 10, "n_networks": 1, "random_state": 0}
X, Y = load_wine(return_X_y=True)
LABELS = np.where(np.arange(178) % 6 == 0, Y, -1)
VALUES = np.where(np.arange(178) % 4 == 0, X[:, 0], np.nan)


@pytest.fixture(scope="module")
def classifier():
    return S2GNNClassifier(**QUICK).fit(X, LABELS)


@pytest.fixture(scope="module")
def regressor():
    return S2GNNRegressor(**QUICK).fit(X[:, 1:], VALUES)


def test_members_are_blended_into_the_answers(classifier):
    assert classifier.predictions_.shape == (3, 178, 3)
    np.testing.assert_array_equal(classifier.predictions_[0], classifier.members_.base.predictions)
    np.testing.assert_array_equal(classifier.label_distributions_, classifier.blend_.apply(classifier.predictions_))
    np.testing.assert_allclose(classifier.label_distributions_.sum(axis=1), 1)
    assert np.mean((classifier.transduction_ == Y)[LABELS < 0]) > 0.9
    assert classifier.network_input_.shape == (178, 13 + 3)


def test_values_are_blended(regressor):
    unknown = np.isnan(VALUES)
    assert regressor.score(X[unknown][:, 1:], X[unknown, 0]) > 0.3
    assert sum(regressor.blend_.weights) == pytest.approx(1)


def test_hidden_predictions_are_those_of_an_estimator_without_the_labels(classifier):
    hidden = classifier.hidden_.rows[classifier.hidden_.folds == 2]
    rest = LABELS.copy()
    rest[hidden] = -1
    again = S2GNNClassifier(**QUICK).fit(X, rest)
    members = classifier.hidden_.members[:, classifier.hidden_.folds == 2]
    np.testing.assert_allclose(members, again.predictions_[:, hidden], atol=1e-12)


def test_hidden_predictions_do_not_depend_on_the_hidden_label(classifier):
    row = int(np.flatnonzero(LABELS == 1)[3])
    fold = classifier.hidden_.folds[classifier.hidden_.rows == row][0]
    in_fold = classifier.hidden_.folds == fold
    changed = LABELS.copy()
    changed[row] = 2
    parts = [np.flatnonzero(classifier.hidden_.folds == number) for number in range(5)]
    with pytest.MonkeyPatch.context() as patch:  # the folds are drawn class by class, and so would change
        original = S2GNNClassifier._predict_hidden.__globals__["hidden_folds"]
        patch.setitem(
            S2GNNClassifier._predict_hidden.__globals__,
            "hidden_folds",
            lambda rows, *others: parts if len(rows) == len(classifier.labelled_) else original(rows, *others),
        )
        other = S2GNNClassifier(**QUICK).fit(X, changed)
    np.testing.assert_array_equal(other.hidden_.members[:, in_fold], classifier.hidden_.members[:, in_fold])


def test_evaluation_and_gain_come_with_fit(classifier, regressor):
    assert classifier.evaluate() is classifier.evaluation_
    np.testing.assert_array_equal(classifier.evaluation_.rows, classifier.labelled_)
    np.testing.assert_allclose(classifier.evaluation_.answers.sum(axis=1), 1)
    base = classifier.hidden_.members[0].argmax(axis=1) == classifier.hidden_.targets
    blended = classifier.evaluation_.predicted == classifier.hidden_.targets
    assert classifier.graph_gain_.value == pytest.approx(blended.mean() - base.mean())
    assert classifier.graph_gain_.low < classifier.graph_gain_.value < classifier.graph_gain_.high
    assert regressor.graph_gain_.measure == "mean absolute error"


def test_new_rows_follow_the_same_pipeline(classifier, regressor):
    """A row moved by next to nothing is a new row; it gets nearly the answer of the unlabelled row that it was."""
    others = np.flatnonzero(LABELS < 0)
    answers = classifier.predict_proba(X[others] * (1 + 1e-10))
    assert not classifier.seen_in_training(X[others] * (1 + 1e-10)).any()
    assert np.abs(answers - classifier.label_distributions_[others]).max() < 0.1
    unknown = np.isnan(VALUES)
    moved = regressor.predict(X[unknown][:, 1:] * (1 + 1e-10))
    assert np.corrcoef(moved, regressor.transduction_[unknown])[0, 1] > 0.98
    np.testing.assert_allclose(
        classifier.predict_proba(X[others[:3]] + 0.01), classifier.predict_proba(X[others] + 0.01)[:3], rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_saved_model_predicts_the_same(kind, request, tmp_path):
    estimator = request.getfixturevalue(kind)
    save_estimator(estimator, tmp_path / "model")
    loaded, _ = load_estimator(tmp_path / "model")
    columns = X if kind == "classifier" else X[:, 1:]
    np.testing.assert_array_equal(loaded._predicted(columns), estimator._predicted(columns))
    np.testing.assert_array_equal(loaded._predicted(columns + 0.01), estimator._predicted(columns + 0.01))
    assert loaded.graph_gain_ == estimator.graph_gain_
    assert loaded.blend_ == estimator.blend_


def test_a_sparse_table_has_no_kernel_learner(tmp_path):
    dense = np.abs(X) * (np.random.default_rng(0).random(X.shape) < 0.5)
    estimator = S2GNNClassifier(**QUICK).fit(sp.csr_array(dense), LABELS)
    assert list(estimator.base_.learners) == ["linear", "random forest", "extra trees"]
    save_estimator(estimator, tmp_path / "model")
    loaded, _ = load_estimator(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(dense + 0.01), estimator.predict_proba(dense + 0.01))


def test_columns_that_matter_shape_the_graph():
    rng = np.random.default_rng(0)
    flowers, species = load_iris(return_X_y=True)
    table = np.hstack([flowers, rng.normal(size=(150, 40))])
    labels = np.where(np.arange(150) % 5 == 0, species, -1)
    blended = S2GNNClassifier(**QUICK).fit(table, labels)
    alone = S2GNNClassifier(network="s2gnn", **QUICK).fit(table, labels)
    same = [np.mean(np.equal(*species[np.stack(one.graph_.to_scipy().nonzero())])) for one in (blended, alone)]
    assert same[0] > same[1] + 0.1


def test_probabilities_follow_the_shares_of_the_classes():
    table, y = make_classification(1500, 6, n_informative=4, weights=[0.9], class_sep=1.5, random_state=0)
    labels = np.full(1500, -1)
    for c in (0, 1):
        labels[np.flatnonzero(y == c)[:25]] = c
    estimator = S2GNNClassifier(**QUICK).fit(table, labels)
    weighted = S2GNNClassifier(class_weight="balanced", **QUICK).fit(table, labels)
    unlabelled = labels < 0
    assert estimator.blend_.odds[0] > 1.2 > 0.8 > estimator.blend_.odds[1]
    assert weighted.blend_.odds == (1.0, 1.0)  # as many labels of one class as of the other
    accuracy = [np.mean((one.transduction_ == y)[unlabelled]) for one in (estimator, weighted)]
    assert accuracy[0] > accuracy[1]
    assert estimator.label_distributions_[unlabelled, 1].mean() == pytest.approx(y[unlabelled].mean(), abs=0.08)
    labels[np.flatnonzero(y == 0)[25:28]] = 0  # no longer as many of each: taken for a random sample
    assert S2GNNClassifier(**QUICK).fit(table, labels).blend_.odds == (1.0, 1.0)


def test_weights_of_classes_multiply_their_probabilities(classifier):
    weighted = S2GNNClassifier(class_weight={0: 3.0}, **QUICK).fit(X, LABELS)
    assert weighted.blend_.odds == (3.0, 1.0, 1.0)
    odds = np.array([3.0, 1.0, 1.0]) / classifier.blend_.odds
    expected = classifier.label_distributions_ * odds
    np.testing.assert_allclose(weighted.label_distributions_, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)
    expected = classifier.evaluation_.answers * [3.0, 1.0, 1.0]
    np.testing.assert_allclose(weighted.evaluation_.answers, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9)


def test_normal_scores():
    rng = np.random.default_rng(0)
    table = np.column_stack([np.exp(3 * rng.normal(size=2000)), rng.integers(3, size=2000), rng.normal(size=2000)])
    scores = NormalScores.of(table)
    found = scores.apply(table)
    assert found[:, 0].mean() == pytest.approx(0, abs=0.02)
    assert found[:, 0].std() == pytest.approx(1, abs=0.03)
    np.testing.assert_array_equal(found[:, 1], table[:, 1])
    np.testing.assert_array_equal(np.argsort(found[:, 2]), np.argsort(table[:, 2]))
    beyond = scores.apply(np.array([[1e9, 7.0, -50.0]]))
    np.testing.assert_allclose(beyond, [[found[:, 0].max(), 7.0, found[:, 2].min()]])


def test_an_unknown_network_is_refused():
    with pytest.raises(InputError, match="network is 'gcn', but it must be one of blended, s2gnn"):
        S2GNNClassifier(network="gcn").fit(X, LABELS)
