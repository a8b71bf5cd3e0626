"""`sample_weight` of `fit`, against the same labels without weights."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, Ridge

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor
from s2gnn.estimator import load_estimator, save_estimator
from s2gnn.estimator.known_labels import KnownLabels
from s2gnn.estimator.learners import KnownTargets, Linear

QUICK = {"max_epochs": 20, "random_state": 0}
X, CLASSES = load_wine(return_X_y=True)
N = len(X)
LABELS = np.where(np.arange(N) % 4 == 0, CLASSES, -1)
VALUES = np.where(LABELS >= 0, X[:, 0] + X[:, 5], np.nan)
CASES = {
    "classes": (S2GNNClassifier(**QUICK), LABELS, -1),
    "values": (S2GNNRegressor(**QUICK), VALUES, np.nan),
    "networks alone": (S2GNNClassifier(network="s2gnn", n_networks=1, **QUICK), LABELS, -1),
}
cases = pytest.mark.parametrize(("estimator", "y", "unlabelled"), CASES.values(), ids=CASES)


@cases
def test_a_row_of_weight_zero_is_unlabelled(estimator, y, unlabelled):
    weights = np.where(np.arange(N) % 12 == 0, 0.0, 1.0)
    expected = estimator.fit(X, np.where(weights > 0, y, unlabelled)).answers_
    found = estimator.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(found.answers_, expected)
    assert not np.isin(found.labelled_, np.flatnonzero(weights == 0)).any()


def test_a_class_of_weight_zero_is_no_class():
    classifier = S2GNNClassifier(**QUICK).fit(X, LABELS, sample_weight=(LABELS != 1).astype(float))
    assert classifier.classes_.tolist() == [0, 2]


@cases
def test_equal_weights_are_no_weights_and_scale_does_not_matter(estimator, y, unlabelled):
    del unlabelled
    plain = estimator.fit(X, y).answers_
    np.testing.assert_array_equal(estimator.fit(X, y, sample_weight=np.full(N, 3.7)).answers_, plain)
    weights = np.random.default_rng(0).uniform(0.2, 2, N)
    weighted = estimator.fit(X, y, sample_weight=weights).answers_
    assert np.abs(weighted - plain).max() > 1e-3
    np.testing.assert_array_equal(estimator.fit(X, y, sample_weight=8 * weights).answers_, weighted)
    unknown = np.resize([99, np.nan, -1], N)  # weights of rows without a label do not matter
    np.testing.assert_array_equal(
        estimator.fit(X, y, sample_weight=np.where(np.arange(N) % 4 == 0, weights, unknown)).answers_, weighted
    )


@pytest.mark.parametrize("n_classes", [3, None])
def test_a_whole_weight_is_that_many_copies_to_a_linear_model(n_classes):
    rows = np.flatnonzero(LABELS >= 0)
    copies = np.random.default_rng(0).integers(1, 4, len(rows))
    columns = (X[rows] - X.mean(axis=0)) / X.std(axis=0)
    values = (VALUES if n_classes is None else LABELS)[rows]
    model = Ridge(1.0) if n_classes is None else LogisticRegression(C=1.0, tol=1e-3, max_iter=300)
    oracle = model.fit(np.repeat(columns, copies, axis=0), np.repeat(values, copies))
    found = Linear.fit(columns, KnownTargets(values, n_classes, copies.astype(float))).predict(columns)
    if n_classes is None:  # limited to the range of the known values
        expected = oracle.predict(columns)[:, None].clip(values.min(), values.max())
    else:
        expected = oracle.predict_proba(columns)
    np.testing.assert_allclose(found, expected, atol=1e-10 if n_classes is None else 5e-3)


def test_wrong_labels_of_low_weight_do_little_harm():
    rng = np.random.default_rng(0)
    wrong = (LABELS >= 0) & (rng.random(N) < 0.4)
    noisy = np.where(wrong, (LABELS + 1) % 3, LABELS)
    plain, weighted = (
        S2GNNClassifier(**QUICK).fit(X, noisy, sample_weight=weight).transduction_
        for weight in (None, np.where(wrong, 0.01, 1.0))
    )
    assert np.mean(weighted == CLASSES) > max(np.mean(plain == CLASSES), 0.9)


def test_weights_are_saved(tmp_path):
    weights = np.random.default_rng(0).uniform(0.2, 2, N)
    regressor = S2GNNRegressor(**QUICK).fit(X, VALUES, sample_weight=weights)
    save_estimator(regressor, tmp_path / "model")
    loaded, _ = load_estimator(tmp_path / "model")
    np.testing.assert_allclose(loaded.label_weights_, weights[::4] / weights[::4].mean())
    np.testing.assert_array_equal(loaded.explain(3).influence, regressor.explain(3).influence)
    np.testing.assert_allclose(loaded.evaluate(3).answers, regressor.evaluate(3).answers)


def test_smoothing_keeps_labels_of_at_least_the_median_weight():
    rows = np.arange(5)
    assert KnownLabels.of(rows, rows, np.array([1.0, 2.0, 4.0, 4.0, 100.0])).strength.tolist() == [0.25, 0.5, 1, 1, 1]
    assert KnownLabels.of(rows, rows, None).strength.tolist() == [1] * 5


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\), but X has 178 rows: give one weight per row"),
        (np.where(np.arange(N) == 8, -1.0, 1.0), r"sample_weight\[8\] is -1.0, but the weight of a label is a finite"),
        (np.where(np.arange(N) == 8, np.nan, 1.0), r"sample_weight\[8\] is nan"),
        (np.where(np.arange(N) % 4 == 0, 0.0, 1.0), "every labelled row has a sample weight of zero"),
    ],
)
def test_weights_are_checked(weights, message):
    with pytest.raises(InputError, match=message):
        S2GNNClassifier(**QUICK).fit(X, LABELS, sample_weight=weights)


def test_the_weights_of_the_labels_that_are_left_have_mean_one():
    labels = KnownLabels.of(np.arange(5), np.arange(5), np.array([1e4, 1.0, 1.0, 3.0, 1.0]))
    np.testing.assert_allclose(labels.without(np.array([0])).weights, np.array([1, 1, 3, 1]) / 1.5)
    assert labels.without(np.array([0, 3])).weights is None  # the others are equal
    targets = KnownTargets(np.arange(5.0), None, labels.weights)
    np.testing.assert_allclose(targets.at(np.arange(1, 5))[0].weights, np.array([1, 1, 3, 1]) / 1.5)
    large = KnownLabels.of(np.arange(3), np.arange(3), np.array([1e308, 1e308, 5e307]))
    np.testing.assert_allclose(large.weights, [1.2, 1.2, 0.6])


def test_a_label_of_small_weight_has_little_influence():
    weights = np.ones(N)
    weights[0] = 1e-9
    fitted = S2GNNClassifier(**QUICK).fit(X, LABELS, sample_weight=weights)
    influence = np.abs(fitted.explain(1).influence)
    assert influence[0] < 1e-3 * influence.max()
