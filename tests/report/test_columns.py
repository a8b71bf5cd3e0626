import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.feature_selection import f_classif

from s2gnn.estimator.table_columns import Column
from s2gnn.report.columns import quantile_groups, variance_explained

X, Y = load_iris(return_X_y=True)
NUMERIC = tuple(Column(f"x{index}", index) for index in range(4))
KIND = Column("kind", 0, ("a", "b", ""))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_values_are_read_back_from_features(form):
    features = form([[1.0, 0, 0, -2.0], [0, 0, 1.0, 0], [0, 0, 0, 1.0], [1.0, 0, 0, 0]])
    assert KIND.texts(features) == ["a", "(missing)", "(other)", "a"]
    assert KIND.summary(features) == ("a 2, (missing) 1, (other) 1", [2, 1, 1])
    number = Column("size", 3, mean=10.0, scale=2.5)
    assert number.texts(features) == ["5", "10", "12.5", "10"]
    assert number.summary(features)[0] == "5 to 12.5, median 10"


def test_numbers_have_eta_squared_of_the_analysis_of_variance():
    F = f_classif(X, Y)[0]
    expected = 2 * F / (2 * F + 147)
    np.testing.assert_allclose(variance_explained(NUMERIC, X, Y), expected)
    np.testing.assert_allclose(variance_explained(NUMERIC, sp.csr_array(X), Y), expected)
    assert variance_explained(NUMERIC[:1], np.ones((150, 1)), Y).tolist() == [0.0]


def test_categories_have_goodman_and_kruskals_tau():
    codes = np.random.default_rng(0).integers(3, size=150)
    codes[Y == 0] = 0
    joint = np.zeros((3, 3))
    np.add.at(joint, (Y, codes), 1 / 150)
    own, given = 1 - (joint.sum(axis=0) ** 2).sum(), 1 - (joint**2 / joint.sum(axis=1)[:, None]).sum()
    np.testing.assert_allclose(variance_explained((KIND,), np.eye(3)[codes], Y), [(own - given) / own])


def test_quantile_groups_are_equally_large_and_equal_values_share_one():
    assert np.bincount(quantile_groups(np.arange(100.0), 5)).tolist() == [20] * 5
    assert len(set(quantile_groups(np.zeros(9), 5).tolist())) == 1
