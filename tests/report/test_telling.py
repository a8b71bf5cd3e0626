import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.feature_selection import f_classif

from s2gnn.report.kept_columns import KeptColumn
from s2gnn.report.telling import quantile_classes, shares_explained

X, Y = load_iris(return_X_y=True)
NUMBERS = tuple(KeptColumn(f"x{place}", place) for place in range(4))


def test_numbers_have_the_eta_squared_of_the_analysis_of_variance():
    F = f_classif(X, Y)[0]
    expected = 2 * F / (2 * F + 147)
    np.testing.assert_allclose(shares_explained(NUMBERS, X, Y, 3), expected)
    np.testing.assert_allclose(shares_explained(NUMBERS, sp.csr_array(X), Y, 3), expected)


def test_categories_have_goodman_and_kruskals_tau():
    codes = np.random.default_rng(0).integers(3, size=150)
    codes[Y == 0] = 0
    features = np.eye(3)[codes]
    joint = np.zeros((3, 3))
    np.add.at(joint, (Y, codes), 1 / 150)
    own, given = 1 - (joint.sum(axis=0) ** 2).sum(), 1 - (joint**2 / joint.sum(axis=1)[:, None]).sum()
    column = KeptColumn("kind", 0, ("a", "b", "c"))
    np.testing.assert_allclose(shares_explained((column,), features, Y, 3), [(own - given) / own])


def test_a_column_that_never_varies_tells_nothing():
    assert shares_explained(NUMBERS[:1], np.ones((150, 1)), Y, 3).tolist() == [0.0]


def test_intervals_are_equally_full_and_equal_values_share_one():
    assert np.bincount(quantile_classes(np.arange(100.0), 5)).tolist() == [20] * 5
    assert len(set(quantile_classes(np.zeros(9), 5).tolist())) == 1
