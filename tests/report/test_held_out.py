import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn import metrics
from sklearn.calibration import calibration_curve

from s2gnn.report.held_out import Residuals, calibration, confusion_matrix


def test_confusion_matrix_is_scikit_learns():
    truth, predicted = np.random.default_rng(0).integers(4, size=(2, 100))
    expected = metrics.confusion_matrix(truth, predicted, labels=range(5))
    np.testing.assert_array_equal(confusion_matrix(truth, predicted, 5), expected)


@pytest.mark.parametrize(("n", "bins"), [(400, 10), (73, 3), (45, 2), (6, 1)])
def test_calibration_is_scikit_learns(n, bins):
    rng = np.random.default_rng(n)
    probabilities = rng.uniform(0.3, 1, n)
    correct = rng.random(n) < probabilities**2
    found = calibration(probabilities, correct)
    right, said = calibration_curve(correct, probabilities, n_bins=bins, strategy="quantile")
    np.testing.assert_allclose(found.said, said)
    np.testing.assert_allclose(found.right, right)
    assert found.counts.sum() == n
    assert found.excess == pytest.approx(probabilities.mean() - correct.mean())
    assert found.error == pytest.approx(np.sum(found.counts * np.abs(said - right)) / n)
    interval = binomtest(round(right[0] * found.counts[0]), int(found.counts[0])).proportion_ci(method="wilson")
    assert (found.low[0], found.high[0]) == pytest.approx((interval.low, interval.high))


def test_equal_probabilities_share_a_bin():
    found = calibration(np.full(50, 0.9), np.arange(50) % 2 == 0)
    assert found.counts.tolist() == [50]
    assert found.excess == pytest.approx(0.4)


def test_residuals():
    found = Residuals(np.zeros(11), np.arange(11.0))
    assert found.typical == 5
    assert found.usual == 9
