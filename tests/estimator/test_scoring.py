import numpy as np
import pytest

from s2gnn.estimator.scoring import classification_scores, regression_scores


def test_accuracy_has_wilsons_interval():
    truth = np.array(["a"] * 9, dtype=object)
    (score,) = classification_scores(truth, truth, "hidden")
    assert (score.name, score.value, score.rows, score.how) == ("accuracy", 1.0, 9, "hidden")
    z = 1.959963984540054
    assert score.half_width == pytest.approx(1 - 1 / (1 + z**2 / 9))
    predicted = truth.copy()
    predicted[:4] = "b"
    (score,) = classification_scores(truth, predicted, "hidden")
    centre = (5 + z**2 / 2) / (9 + z**2)
    reach = z / (9 + z**2) * np.sqrt(5 * 4 / 9 + z**2 / 4)
    assert score.value == pytest.approx(5 / 9)
    assert score.half_width == pytest.approx(max(5 / 9 - centre + reach, centre + reach - 5 / 9))


def test_errors_of_quantities():
    truth = np.array([1.0, 2.0, 3.0, 4.0])
    error, r2 = regression_scores(truth, truth + np.array([0.5, -0.5, 0.5, -0.5]), "hidden")
    assert (error.name, error.value, error.half_width) == ("mean absolute error", 0.5, 0.0)
    assert (r2.name, r2.half_width, r2.rows) == ("R²", None, 4)
    assert r2.value == pytest.approx(1 - 1 / 5)
    assert [score.name for score in regression_scores(truth[:1], truth[:1], "")] == ["mean absolute error"]
