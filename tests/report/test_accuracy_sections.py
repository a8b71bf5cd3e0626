import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve

from s2gnn.report.accuracy_sections import (
    accuracy_section,
    calibration_bins,
    calibration_section,
    comparison_section,
    confusion_section,
    residuals_section,
)
from s2gnn.report.baselines import CONSTANT, OURS, PERCEPTRON, SPREADING, Comparison, Method
from tests.report.conftest import as_of_an_early_release, changed
from tests.report.test_elements import plain

SPECIES = ("setosa", "versicolor", "virginica")


def test_accuracy_with_its_interval_and_the_most_frequent_error():
    counts = np.array([[10, 0, 0], [0, 8, 2], [0, 0, 10]])
    assert plain(confusion_section(SPECIES, counts).finding) == (
        "Accuracy on 30 hidden labels: 93 % (28 correct). On similar rows, expect 79 % to 98 % (95 % interval), or "
        "slightly more, because the saved model was trained on all labels. Most frequent error: “versicolor” predicted "
        "as “virginica”, twice."
    )
    few = confusion_section(SPECIES, counts // 2)
    assert "With so few labels the 95 % interval is wide: 70 % to 99 %. No error occurs twice." in plain(few.finding)
    assert few.key == "14 of 15 correct"


def test_of_many_classes_the_most_frequent_errors_are_listed():
    confusion = np.diag(np.full(100, 3))
    confusion[7, 9] = 5
    section = confusion_section([f"class {index}" for index in range(100)], confusion)
    assert "true ↓" not in section.figure
    assert '<th scope="row">class 7</th><td>class 9</td><td>5</td>' in section.figure


def test_errors_of_values():
    truth = np.linspace(0, 100, 44)
    section = residuals_section(truth, truth + np.arange(44) % 11)
    assert section.key == "median error 5"
    assert "90 % of the errors are at most 9; the values range from 0 to 100." in section.finding
    assert "Predictions are too high by 5 on average" in section.finding


def test_why_the_accuracy_was_not_measured(classifier, regressor):
    few = {"targets_": np.arange(3), "evaluation_": None}
    for model, why in [
        (as_of_an_early_release(classifier.model), "This folder contains no labels"),
        (changed(classifier.model, **few), "label at least two rows in each of two classes"),
        (changed(classifier.model, evaluation_=None), "without --folds 0"),
        (changed(regressor.model, **few), "at least four are needed"),
    ]:
        section = accuracy_section(model)
        assert section.key == "not measured"
        assert why in section.finding


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
        (0.9, 0.92, 200, "yes"),
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
    assert "Where its confidence is over 99.9 %, its accuracy is 85 %; chance does not" in plain(section.finding)


def test_bins_that_read_alike_are_merged():
    confidence = np.repeat([0.8, 0.9995, 0.99999], 20)
    correct = np.concatenate([np.arange(20) < 16, np.arange(20) < 19, np.arange(20) < 20])
    section = calibration_section(calibration_bins(confidence, correct))
    assert "Where its confidence is over 99.9 %, its accuracy is 98 %" in plain(section.finding)


def methods(ours, mlp, spreading, *, p):
    parts = zip((OURS, PERCEPTRON, SPREADING, CONSTANT), (ours, mlp, spreading, 0.3), (None, *p, 0.0), strict=True)
    return tuple(Method(name, score, score - 0.1, score + 0.1, chance) for name, score, chance in parts)


@pytest.mark.parametrize(
    ("found", "classifies", "key"),
    [
        (methods(0.9, 0.7, 0.6, p=(0.01, 0.01)), True, "beats both"),
        (methods(0.9, 0.7, 0.8, p=(0.01, 0.3)), True, "better than the MLP, level with label spreading"),
        (methods(0.9, 0.8, 0.8, p=(0.2, 0.3)), True, "no clear difference"),
        (methods(0.7, 0.9, 0.6, p=(0.01, 0.3)), True, "a simpler method wins"),
        (methods(0.7, 0.9, 0.8, p=(0.01, 0.01)), False, "beats both"),
    ],
)
def test_a_difference_counts_if_chance_does_not_explain_it(found, classifies, key):
    assert comparison_section(Comparison(found, 50, classifies)).key == key
