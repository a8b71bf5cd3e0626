import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve

from s2gnn.report.calibration_section import (
    calibration_bins,
    calibration_section,
    expected_error,
    uncalibrated_bins,
)
from tests.report.conftest import changed
from tests.report.test_elements import plain


@pytest.mark.parametrize(("n", "bins"), [(400, 10), (73, 3), (45, 2), (6, 1)])
def test_calibration_is_scikit_learns(n, bins):
    rng = np.random.default_rng(n)
    confidence = rng.uniform(0.3, 1, n)
    correct = rng.random(n) < confidence**2
    found = calibration_bins(confidence, correct)
    accuracies, confidences = calibration_curve(correct, confidence, n_bins=bins, strategy="quantile")
    np.testing.assert_allclose([bin.confidence for bin in found], confidences)
    np.testing.assert_allclose([bin.accuracy for bin in found], accuracies)
    assert sum(bin.n for bin in found) == n
    interval = binomtest(round(accuracies[0] * found[0].n), found[0].n).proportion_ci(method="wilson")
    assert found[0][2:4] == pytest.approx((interval.low, interval.high))


def calibrated(confidence, accuracy, n):
    """The section on n labels that are predicted with one confidence."""
    return calibration_section(calibration_bins(np.full(n, confidence), np.arange(n) < accuracy * n))


@pytest.mark.parametrize(
    ("confidence", "accuracy", "n", "key"),
    [
        (0.9, 0.92, 200, "no miscalibration detected"),
        (0.9, 0.6, 200, "overconfident"),
        (0.6, 0.9, 200, "underconfident"),
        (0.99, 0.95, 200, "slightly overconfident"),
        (0.9, 0.75, 4, "too few labels to tell"),
        (0.75, 0.75, 4, "too few labels to tell"),
    ],
)
def test_confidence_is_judged_by_accuracy_and_by_chance(confidence, accuracy, n, key):
    assert calibrated(confidence, accuracy, n).key == key


def test_calibrated_on_average_only():
    confidence = np.repeat([0.8, 0.9999], 100)
    correct = np.concatenate([np.arange(100) < 95, np.arange(100) < 85])
    section = calibration_section(calibration_bins(confidence, correct))
    assert section.key == "on average, yes"
    assert "Where the probability is over 99.9 %, the accuracy is 85 %; chance does not" in plain(section.finding)


def test_bins_that_read_alike_are_merged():
    confidence = np.repeat([0.8, 0.9995, 0.99999], 20)
    correct = np.concatenate([np.arange(20) < 16, np.arange(20) < 19, np.arange(20) < 20])
    section = calibration_section(calibration_bins(confidence, correct))
    assert "Where the probability is over 99.9 %, the accuracy is 98 %" in plain(section.finding)


def test_before_and_after_calibration():
    after = calibration_bins(np.repeat([0.6, 0.8], 20), np.tile(np.arange(20) < 12, 2))
    before = calibration_bins(np.repeat([0.7, 0.9], 20), np.tile(np.arange(20) < 12, 2))
    assert expected_error(after) == pytest.approx(0.1)
    assert expected_error(before) == pytest.approx(0.2)
    section = calibration_section(after, before)
    assert "differ by 10.0 points on average; before calibration, by 20.0." in plain(section.finding)
    assert section.figure.count('<th scope="row">before</th>') == 2


def test_predictions_without_calibration_are_the_weighted_mean_of_the_members(classifier):
    estimator = classifier.model.estimator
    mean = np.tensordot(np.array(estimator.blend_.weights), estimator.hidden_.members, 1)
    found = uncalibrated_bins(classifier.model)
    assert sum(bin.n for bin in found) == len(estimator.hidden_.rows)
    assert np.average([bin.confidence for bin in found], weights=[bin.n for bin in found]) == pytest.approx(
        mean.max(axis=1).mean(), abs=1e-4
    )
    assert uncalibrated_bins(changed(classifier.model, hidden_=None)) is None
