import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_diabetes, load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import scale

from s2gnn import InputError
from s2gnn.estimator import learners
from s2gnn.estimator.base_predictor import BasePredictor
from s2gnn.estimator.learners import Kernel, KnownTargets, Linear, fit_forest, gaussian_kernel, held_out

WINE, CLASSES = load_wine(return_X_y=True)
WINE = scale(WINE)
DIABETES, PROGRESS = load_diabetes(return_X_y=True)
DIABETES = scale(DIABETES)[:150]
PROGRESS = PROGRESS[:150]


def known(values, n_classes=3):
    return KnownTargets(values, n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_linear_model_is_logistic_regression(n_classes):
    rows = n_classes > CLASSES
    fitted = LogisticRegression(max_iter=300, tol=1e-3).fit(WINE[rows], CLASSES[rows])
    found = Linear.fit(WINE[rows], known(CLASSES[rows], n_classes)).predict(WINE)
    np.testing.assert_allclose(found, fitted.predict_proba(WINE), atol=1e-8)


def test_the_linear_model_of_values_is_ridge_regression_within_their_range():
    fitted = Linear.fit(DIABETES, known(PROGRESS, None))
    found = fitted.predict(DIABETES)
    ridge = Ridge(1.0).fit(DIABETES, PROGRESS).predict(DIABETES)
    np.testing.assert_allclose(found[:, 0], np.clip(ridge, PROGRESS.min(), PROGRESS.max()))
    far = fitted.predict(100 * DIABETES)[:, 0]  # rows far from the others
    assert (far.min(), far.max()) == (PROGRESS.min(), PROGRESS.max())
    stored = Linear.from_arrays(fitted.arrays(), DIABETES.shape[1], 1)
    np.testing.assert_array_equal(stored.predict(100 * DIABETES)[:, 0], far)
    with pytest.raises(InputError, match="not a linear model"):
        Linear.from_arrays({**fitted.arrays(), "limits": np.array([1.0, 0.0])}, DIABETES.shape[1], 1)


def test_kernels_against_scipy_and_kernel_ridge_regression():
    kernel = np.exp(-cdist(DIABETES, DIABETES[:7], "sqeuclidean") / DIABETES.shape[1])
    np.testing.assert_allclose(gaussian_kernel(DIABETES, DIABETES[:7]), kernel)
    centred = PROGRESS - PROGRESS.mean()
    found = Kernel.fit(DIABETES, known(centred, None))
    intercept = found.linear.intercept[0]
    gamma = 1 / DIABETES.shape[1]
    expected = KernelRidge(alpha=0.1, kernel="rbf", gamma=gamma).fit(DIABETES, centred - intercept)
    np.testing.assert_allclose(found.predict(DIABETES)[:, 0], expected.predict(DIABETES) + intercept, atol=0.05)


def test_kernels_of_many_rows_are_computed_in_batches(monkeypatch):
    found = Kernel.fit(WINE, known(CLASSES))
    expected = found.predict(WINE)
    monkeypatch.setattr(learners, "VALUES_AT_ONCE", 50 * len(WINE))
    np.testing.assert_allclose(found.predict(WINE), expected, atol=1e-12)


def test_many_rows_have_few_landmarks(monkeypatch):
    monkeypatch.setattr(learners, "MOST_LANDMARKS", 20)
    found = Kernel.fit(WINE, known(CLASSES))
    assert found.landmarks.shape == (20, 13)
    assert np.mean(found.predict(WINE).argmax(axis=1) == CLASSES) > 0.9


@pytest.mark.parametrize("classifies", [True, False])
def test_held_out_predictions_do_not_depend_on_the_own_target(classifies):
    """Changing a target changes the predictions of other rows, not that of the row itself."""
    X, values = (WINE[::4], CLASSES[::4]) if classifies else (DIABETES[:60], PROGRESS[:60])
    changed = values.copy()
    row = 7
    changed[row] = (values[row] + 1) % 3 if classifies else values[row] + 500
    n_classes = 3 if classifies else None
    # The folds are drawn class by class, so that they are fixed here while the target changes.
    folds = [np.arange(start, len(values), 5) for start in range(5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learners, "hidden_folds", lambda *_: folds)
        linear = [held_out(Linear.fit, X, known(v, n_classes), 0) for v in (values, changed)]
        forest = [fit_forest("random forest", X, known(v, n_classes), 0)[1] for v in (values, changed)]
    for before, after in (linear, forest):
        np.testing.assert_array_equal(before[row], after[row])
        assert np.abs(before - after).max() > 1e-3


def test_too_few_targets_to_hide_any():
    found = held_out(Linear.fit, WINE[[0, 60, 130]], known(np.array([0, 1, 2])), 0)
    np.testing.assert_allclose(found, np.full((3, 3), 1 / 3))
    found = held_out(Linear.fit, DIABETES[:3], known(PROGRESS[:3], None), 0)
    np.testing.assert_allclose(found, np.full((3, 1), PROGRESS[:3].mean()))


def test_a_class_of_one_label_has_probability_zero_while_it_is_hidden():
    rows = np.array([0, 1, 2, 60, 61, 62, 130])
    found = held_out(Linear.fit, WINE[rows], known(CLASSES[rows]), 0)
    assert found[-1, 2] == 0
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_the_base_predictor_blends_calibrated_learners():
    rows = np.arange(0, 178, 5)
    predictor, hidden, importance = BasePredictor.fit(WINE[rows], WINE[rows], known(CLASSES[rows]), 0)
    assert list(predictor.learners) == ["linear", "kernel", "random forest", "extra trees"]
    others = np.setdiff1d(np.arange(178), rows)
    predicted = predictor.predict(WINE[others], WINE[others])
    np.testing.assert_allclose(predicted.sum(axis=1), 1)
    assert np.mean(predicted.argmax(axis=1) == CLASSES[others]) > 0.9
    assert np.mean(hidden.argmax(axis=1) == CLASSES[rows]) > 0.85
    assert importance.mean() == pytest.approx(1)
    again = BasePredictor.from_arrays(predictor.arrays(), predictor.blend, 13, 3)
    np.testing.assert_array_equal(again.predict(WINE, WINE), predictor.predict(WINE, WINE))
    arrays = {name: array for name, array in predictor.arrays().items() if not name.startswith("kernel")}
    with pytest.raises(InputError, match="3 base learners, but a different number of weights"):
        BasePredictor.from_arrays(arrays, predictor.blend, 13, 3)


def test_important_columns_are_found():
    noise = np.random.default_rng(0).normal(size=(178, 20))
    X = np.hstack([noise, WINE[:, [6]]])
    _, _, importance = BasePredictor.fit(X, X, known(CLASSES), 0)
    assert importance.argmax() == 20
    assert importance[20] > 3 * importance[:20].max()


def test_a_single_class_is_certain():
    predictor, hidden, importance = BasePredictor.fit(WINE[:5], WINE[:5], known(np.zeros(5, dtype=int), 1), 0)
    np.testing.assert_array_equal(predictor.predict(WINE, WINE), np.ones((178, 1)))
    np.testing.assert_array_equal(hidden, np.ones((5, 1)))
    np.testing.assert_array_equal(importance, np.ones(13))


@pytest.mark.parametrize(("kind", "name"), [(Linear, "coefficients"), (Kernel, "landmarks")])
def test_stored_arrays_are_checked(kind, name):
    fitted = kind.fit(WINE, known(CLASSES))
    np.testing.assert_array_equal(kind.from_arrays(fitted.arrays(), 13, 3).predict(WINE), fitted.predict(WINE))
    with pytest.raises(InputError, match=r"not a linear model|landmarks of other columns"):
        kind.from_arrays(fitted.arrays(), 12, 3)
    damaged = {**fitted.arrays(), name: np.full_like(fitted.arrays()[name], np.nan)}
    with pytest.raises(InputError, match=r"not a linear model|landmarks of other columns"):
        kind.from_arrays(damaged, 13, 3)
