import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from s2gnn.estimator.cross_validation import hidden_predictions

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
        self.transduction_ = kind(n_neighbors=1).fit(X[known], y[known].tolist()).predict(X)
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
    rows, predicted = hidden_predictions(estimator, X, classes, folds=5, on_fold=done.append)
    labelled = np.flatnonzero(classes != None)  # noqa: E711
    np.testing.assert_array_equal(rows, labelled)
    assert done == [0, 1, 2, 3, 4]
    hidden = [np.setdiff1d(labelled, np.flatnonzero(known)) for known in NearestLabel.seen]
    np.testing.assert_array_equal(np.sort(np.concatenate(hidden)), labelled)
    for part, known in zip(hidden, NearestLabel.seen, strict=True):
        assert np.unique(classes[part].astype(str), return_counts=True)[1].tolist() == [2, 2, 2]
        oracle = KNeighborsClassifier(n_neighbors=1).fit(X[known], classes[known].tolist()).predict(X[part])
        np.testing.assert_array_equal(predicted[np.searchsorted(rows, part)], oracle)
    assert np.mean(predicted == classes[rows]) > 0.8


def test_one_fold_of_five(classes):
    rows, predicted = hidden_predictions(NearestLabel().fit(X, classes), X, classes, folds=5, evaluated=1)
    assert len(rows) == len(predicted) == 6


def test_numbers():
    y = X[:, 3].copy()
    y[::3] = np.nan
    rows, predicted = hidden_predictions(NearestLabel().fit(X, y), X, y, folds=3)
    assert len(rows) == 100
    assert np.corrcoef(predicted, X[rows, 3])[0, 1] > 0.9


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", "b", "b", None], dtype=object),
        np.array(["a", "b", "c", None], dtype=object),
        np.array([1.0, 2.0, 3.0, np.nan]),
    ],
)
def test_too_few_labels_to_hide_some(y):
    assert hidden_predictions(NearestLabel(), X[:4], y) is None
