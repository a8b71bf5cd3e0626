import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

from s2gnn import InputError
from s2gnn.estimator.forest import Forest

X, Y = load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def fitted():
    return RandomForestClassifier(12, random_state=0).fit(X, Y)


def test_predictions_are_those_of_scikit_learn(fitted):
    forest = Forest.of(fitted)
    np.testing.assert_allclose(forest.predict(X), fitted.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(forest.predict(sp.csr_array(X)), forest.predict(X))


def test_values_are_predicted_too():
    features, values = load_diabetes(return_X_y=True)
    fitted = ExtraTreesRegressor(8, bootstrap=True, random_state=0).fit(features[:200], values[:200])
    np.testing.assert_allclose(Forest.of(fitted).predict(features)[:, 0], fitted.predict(features), rtol=1e-12)


def test_out_of_bag_predictions_are_those_of_scikit_learn():
    fitted = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, Y)
    drawn = np.array([np.isin(np.arange(len(X)), rows) for rows in fitted.estimators_samples_])
    np.testing.assert_allclose(Forest.of(fitted).predict_out_of_bag(X, drawn), fitted.oob_decision_function_)


def test_a_row_that_every_tree_drew_gets_the_mean_of_the_others(fitted):
    drawn = np.zeros((12, len(X)), dtype=bool)
    drawn[:, 3] = True
    forest = Forest.of(fitted)
    found = forest.predict_out_of_bag(X, drawn)
    np.testing.assert_allclose(found[3], np.delete(forest.predict(X), 3, axis=0).mean(axis=0))
    np.testing.assert_allclose(forest.predict_out_of_bag(X, np.ones_like(drawn)), 1 / 3)


def test_stored_arrays_are_checked(fitted):
    forest = Forest.of(fitted)
    again = Forest.from_arrays(forest.arrays(), 13, 3)
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))
    inner = int(np.flatnonzero(forest.feature >= 0)[0])
    changes = {"left": inner, "right": 10**9, "feature": 13, "threshold": np.nan}  # a loop, a jump, a column, no number
    for name, value in changes.items():
        arrays = {key: array.copy() for key, array in forest.arrays().items()}
        arrays[name][inner] = value
        with pytest.raises(InputError, match="arrays that are not a forest"):
            Forest.from_arrays(arrays, 13, 3)


def test_deviations_between_trees():
    X, y = load_diabetes(return_X_y=True)
    fitted = RandomForestRegressor(20, random_state=0).fit(X[:100], y[:100])
    expected = np.std([tree.predict(X) for tree in fitted.estimators_], axis=0)
    np.testing.assert_allclose(Forest.of(fitted).deviations(X)[:, 0], expected)
