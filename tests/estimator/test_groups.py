"""`groups` of `fit`: labels of one group are hidden together, so that scores hold for other groups."""

import numpy as np
import pytest

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor
from s2gnn.estimator import load_estimator, save_estimator
from s2gnn.estimator.evaluation import hidden_folds
from s2gnn.estimator.learners import FORESTS, KnownTargets, fit_forest

QUICK = {"max_epochs": 10, "random_state": 0}
PATIENTS = np.repeat(np.arange(40), 3)


@pytest.fixture(scope="module")
def samples():
    """Three nearly identical samples of each of 40 patients, whose labels and columns are random."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 5)), 3, axis=0) + 0.01 * rng.normal(size=(120, 5))
    return X, np.repeat(rng.permutation(np.arange(40) % 2), 3)


def test_samples_of_one_patient_do_not_leak(samples):
    X, y = samples
    leaking = S2GNNClassifier(**QUICK).fit(X, y).evaluation_.scores[0]
    grouped = S2GNNClassifier(**QUICK).fit(X, y, groups=PATIENTS)
    score = grouped.evaluation_.scores[0]
    assert leaking.value > 0.95
    assert score.value < 0.7
    assert "40 groups kept together" in score.how
    for fold in range(5):
        hidden = grouped.evaluation_.folds == fold
        assert not np.isin(PATIENTS[~hidden], PATIENTS[hidden]).any()


@pytest.mark.parametrize("kind", FORESTS)
def test_forests_predict_a_patient_from_others(samples, kind):
    X, y = samples
    _, leaking, _ = fit_forest(kind, X, KnownTargets(y, 2), 0)
    _, held_out, _ = fit_forest(kind, X, KnownTargets(y, 2, groups=PATIENTS), 0)
    assert np.mean(leaking.argmax(axis=1) == y) > 0.9
    assert np.mean(held_out.argmax(axis=1) == y) < 0.75


def test_folds_of_groups_are_balanced_and_the_same_as_of_rows_for_single_rows():
    rng = np.random.default_rng(0)
    groups = rng.integers(30, size=120)
    strata = (groups % 3 + (rng.random(120) < 0.1)) % 3
    folds = hidden_folds(np.arange(120), strata, 5, 0, groups)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(120))
    for number, fold in enumerate(folds):
        others = np.concatenate([other for place, other in enumerate(folds) if place != number])
        assert not np.isin(groups[fold], groups[others]).any()
        assert (np.bincount(strata[fold], minlength=3) >= 3).all()
    alone = hidden_folds(np.arange(120), strata, 5, 0, np.arange(120))
    for found, expected in zip(alone, hidden_folds(np.arange(120), strata, 5, 0), strict=True):
        np.testing.assert_array_equal(found, np.sort(expected))
    assert len(hidden_folds(np.arange(6), None, 5, 0, np.repeat(np.arange(4), [1, 1, 2, 2]))) == 4


@pytest.mark.parametrize(
    ("y", "groups"),
    [(["a", "a", "b", "b"], [0, 0, 1, 1]), (["a", "a", "a", "b"], [0, 1, 2, 2]), ([0.5, 1.5, 2.5, 3.5], [0, 1, 2, 2])],
)
def test_too_few_groups_to_hide_some(y, groups, samples):
    kind = S2GNNRegressor if isinstance(y[0], float) else S2GNNClassifier
    assert kind(**QUICK).fit(samples[0][::20][:4], y, groups=groups).evaluation_ is None


def test_each_patient_may_have_every_class(samples):
    y = np.tile(["tumour", "normal", None], 40)
    found = S2GNNClassifier(**QUICK).fit(samples[0], y, groups=PATIENTS).evaluation_
    assert len(found.rows) == 80


def test_a_fold_may_leave_a_single_class(samples):
    groups = np.array(["p", "p", "q", "q", "r", "s"])
    y = np.array(["a", "a", "b", "b", "a", "b"])
    found = S2GNNClassifier(**QUICK).fit(samples[0][::20], y, groups=groups).evaluate(2)
    np.testing.assert_allclose(found.answers.sum(axis=1), 1)


def test_groups_are_saved(samples, tmp_path):
    X, _ = samples
    regressor = S2GNNRegressor(**QUICK).fit(X, np.where(np.arange(120) % 2, X[:, 0], np.nan), groups=PATIENTS)
    save_estimator(regressor, tmp_path / "model")
    loaded, _ = load_estimator(tmp_path / "model")
    np.testing.assert_array_equal(loaded.groups_, PATIENTS[1::2])
    assert loaded.evaluation_.n_groups == 40
    np.testing.assert_allclose(loaded.evaluate(3).answers, regressor.evaluate(3).answers)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (PATIENTS[:3], r"groups has shape \(3,\), but X has 120 rows: give one group per row"),
        (np.where(PATIENTS == 7, np.nan, PATIENTS), r"groups\[21\] is missing"),
    ],
)
def test_groups_are_checked(samples, groups, message):
    with pytest.raises(InputError, match=message):
        S2GNNClassifier(**QUICK).fit(*samples, groups=groups)


def test_missing_groups_of_unlabelled_rows_do_not_matter(samples):
    X, y = samples
    groups = np.array([None, *map(str, PATIENTS[1:])], dtype=object)
    classifier = S2GNNClassifier(**QUICK).fit(X, np.where(np.arange(120), y, -1), groups=groups)
    assert len(classifier.groups_) == 119
