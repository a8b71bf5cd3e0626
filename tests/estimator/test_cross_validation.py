import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from s2gnn.estimator.cross_validation import hidden_answers

X, SPECIES = load_iris(return_X_y=True)


class NearestLabel(BaseEstimator):
    """Answers with the label of the nearest labelled row; remembers what it was fitted on."""

    seen = []  # noqa: RUF012

    def __init__(self, graph="knn"):
        self.graph = graph

    def fit(self, X, y, adjacency=None):
        assert (self.graph == "precomputed") == (adjacency is not None)
        known = np.array([value is not None and value == value for value in y])
        self.seen.append(known)
        kind = KNeighborsClassifier if y.dtype.kind == "O" else KNeighborsRegressor
        nearest = kind(n_neighbors=1).fit(X[known], y[known].tolist())
        self.transduction_ = nearest.predict(X)
        if y.dtype.kind == "O":
            self.classes_, self.label_distributions_ = nearest.classes_, nearest.predict_proba(X)
        self.graph_ = "the graph"
        return self


@pytest.fixture
def classes():
    y = np.array(["a", "b", "c"], dtype=object)[SPECIES]
    y[np.arange(150) % 5 > 0] = None
    return y


def test_every_label_is_predicted_while_it_is_hidden(classes):
    estimator = NearestLabel().fit(X, classes)
    NearestLabel.seen.clear()
    done = []
    found = hidden_answers(estimator, X, classes, folds=5, on_fold=done.append)
    rows, predicted = found.rows, found.values(estimator.classes_)
    labelled = np.flatnonzero(classes != None)  # noqa: E711
    np.testing.assert_array_equal(rows, labelled)
    assert done == [0, 1, 2, 3, 4]
    hidden = [np.setdiff1d(labelled, np.flatnonzero(known)) for known in NearestLabel.seen]
    np.testing.assert_array_equal(np.sort(np.concatenate(hidden)), labelled)
    for fold, (part, known) in enumerate(zip(hidden, NearestLabel.seen, strict=True)):
        np.testing.assert_array_equal(rows[found.folds == fold], part)
        assert np.unique(classes[part].astype(str), return_counts=True)[1].tolist() == [2, 2, 2]
        oracle = KNeighborsClassifier(n_neighbors=1).fit(X[known], classes[known].tolist()).predict(X[part])
        np.testing.assert_array_equal(predicted[np.searchsorted(rows, part)], oracle)
    assert np.mean(predicted == classes[rows]) > 0.8


def test_one_fold_of_five(classes):
    found = hidden_answers(NearestLabel().fit(X, classes), X, classes, folds=5, evaluated=1)
    assert found.answers.shape == (6, 3)
    assert found.folds.tolist() == [0] * 6


def test_a_class_that_is_hidden_whole_has_no_chance(classes):
    classes[:] = None
    classes[[0, 10, 60, 70, 120]] = ["a", "a", "b", "b", "c"]
    found = hidden_answers(NearestLabel().fit(X, classes), X, classes, folds=5)
    np.testing.assert_array_equal(found.rows, [0, 10, 60, 70, 120])
    np.testing.assert_array_equal(found.answers.sum(axis=1), np.ones(5))
    assert found.answers[4, 2] == 0


def test_numbers():
    y = X[:, 3].copy()
    y[::3] = np.nan
    found = hidden_answers(NearestLabel().fit(X, y), X, y, folds=3)
    assert found.answers.shape == (100, 1)
    assert np.corrcoef(found.values(None), X[found.rows, 3])[0, 1] > 0.9


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", "b", "b", None], dtype=object),
        np.array(["a", "b", "c", None], dtype=object),
        np.array([1.0, 2.0, 3.0, np.nan]),
    ],
)
def test_too_few_labels_to_hide_some(y):
    assert hidden_answers(NearestLabel(), X[:4], y) is None
