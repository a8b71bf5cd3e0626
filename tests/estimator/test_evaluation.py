import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import balanced_accuracy_score

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor
from s2gnn.estimator import evaluation, load_estimator, save_estimator
from s2gnn.estimator.evaluation import CardScore, classification_scores, hidden_folds, regression_scores, score_text

QUICK = {"network": "s2gnn", "max_epochs": 20, "n_networks": 1, "random_state": 0}
X, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["a", "b", "c"], dtype=object)[SPECIES]


@pytest.fixture
def classes():
    return np.where(np.arange(150) % 5 == 0, NAMES, None)


def test_every_label_is_predicted_while_it_is_hidden(classes):
    estimator = S2GNNClassifier(**QUICK).fit(X, classes)
    before = estimator.label_distributions_.copy()
    found = estimator.evaluate(3)
    assert estimator.evaluation_ is found
    np.testing.assert_array_equal(found.rows, np.arange(0, 150, 5))
    np.testing.assert_array_equal(estimator.classes_[found.targets], classes[::5])
    for fold in range(3):
        hidden = found.rows[found.folds == fold]
        rest = classes.copy()
        rest[hidden] = None
        again = S2GNNClassifier(**QUICK).fit(X, rest)
        np.testing.assert_array_equal(found.answers[found.folds == fold], again.label_distributions_[hidden])
    np.testing.assert_array_equal(estimator.label_distributions_, before)
    score, *_ = found.scores
    assert score.value == np.mean(estimator.classes_[found.predicted] == classes[::5]) > 0.8


def test_values_are_predicted_while_they_are_hidden():
    y = np.where(np.arange(150) % 3 == 0, X[:, 3], np.nan)
    found = S2GNNRegressor(**QUICK).fit(X, y).evaluate(2, seed=5)
    hidden = found.rows[found.folds == 1]
    rest = y.copy()
    rest[hidden] = np.nan
    again = S2GNNRegressor(**QUICK).fit(X, rest)
    np.testing.assert_array_equal(found.answers[found.folds == 1, 0], again.transduction_[hidden])
    np.testing.assert_array_equal(found.targets, y[found.rows])
    error, r2 = found.scores
    assert repr(found) == f"Evaluation(mean_absolute_error={error.value:.3g}, n=50)"
    assert error.value == pytest.approx(np.abs(found.predicted - found.targets).mean())
    assert r2.value > 0.5


def test_a_class_that_is_hidden_completely_has_probability_zero(classes):
    classes[:] = None
    classes[[0, 10, 60, 70, 120]] = ["a", "a", "b", "b", "c"]
    found = S2GNNClassifier(class_weight={"c": 2.0}, **QUICK).fit(X, classes).evaluate()
    np.testing.assert_array_equal(found.rows, [0, 10, 60, 70, 120])
    np.testing.assert_allclose(found.answers.sum(axis=1), np.ones(5))
    assert found.answers[4, 2] == 0


def test_folds_spread_every_class_evenly():
    rows, strata = np.arange(30) * 5, np.repeat([0, 1, 2], 10)
    folds = hidden_folds(rows, strata, 5, seed=0)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(30))
    assert all(np.bincount(strata[fold]).tolist() == [2, 2, 2] for fold in folds)
    assert len(hidden_folds(rows[:4], None, 9, seed=0)) == 4


def test_one_fold_of_large_tables(classes, monkeypatch):
    estimator = S2GNNClassifier(**QUICK).fit(X, classes)
    assert len(estimator.evaluate(evaluated=2).rows) == 12
    monkeypatch.setattr(evaluation, "ROWS_FOR_EVERY_FOLD", 100)
    assert estimator.evaluate().folds.tolist() == [0] * 6


def test_a_loaded_estimator_can_be_evaluated(classes, tmp_path):
    estimator = S2GNNClassifier(**QUICK).fit(X, classes)
    save_estimator(estimator, tmp_path / "model")
    loaded, _ = load_estimator(tmp_path / "model")
    assert loaded.evaluation_ is None
    np.testing.assert_array_equal(loaded.evaluate(2).answers, estimator.evaluate(2).answers)
    (tmp_path / "model" / "evidence.npz").unlink()
    with pytest.raises(InputError, match="did not store the labels: fit it again"):
        load_estimator(tmp_path / "model")[0].evaluate()


@pytest.mark.parametrize("y", [["a", "b", "b", None], ["a", "b", "c", None], [1.0, 2.0, 3.0, np.nan]])
def test_too_few_labels_to_hide_some(y):
    kind = S2GNNRegressor if isinstance(y[0], float) else S2GNNClassifier
    estimator = kind(**QUICK).fit(X[::40], y)
    assert estimator.evaluate() is None
    assert estimator.evaluation_ is None
    with pytest.raises(InputError, match="folds is 1, but it must be at least 2"):
        estimator.evaluate(1)


def test_accuracy_has_wilsons_interval():
    truth = np.array(["a"] * 9, dtype=object)
    (score,) = classification_scores(truth, truth, "hidden")
    assert (score.name, score.value, score.rows, score.how) == ("accuracy", 1.0, 9, "hidden")
    z = 1.959963984540054
    assert (score.low, score.high) == (pytest.approx(1 / (1 + z**2 / 9)), 1)
    assert score_text(score) == "100.0 % (95 % interval 70.1 to 100.0)"
    predicted = truth.copy()
    predicted[:4] = "b"
    (score,) = classification_scores(truth, predicted, "hidden")
    centre = (5 + z**2 / 2) / (9 + z**2)
    reach = z / (9 + z**2) * np.sqrt(5 * 4 / 9 + z**2 / 4)
    assert score.value == pytest.approx(5 / 9)
    assert (score.low, score.high) == (pytest.approx(centre - reach), pytest.approx(centre + reach))
    assert score.to_json()["half_width"] == pytest.approx(max(5 / 9 - centre + reach, centre + reach - 5 / 9))


def test_errors_of_quantities():
    truth = np.array([1.0, 2.0, 3.0, 4.0])
    error, r2 = regression_scores(truth, truth + np.array([0.5, -0.5, 0.5, -0.5]), "hidden")
    assert (error.name, error.value, error.low, error.high) == ("mean absolute error", 0.5, 0.5, 0.5)
    assert (r2.name, r2.low, r2.high, r2.rows) == ("R²", None, None, 4)
    assert r2.value == pytest.approx(1 - 1 / 5)
    assert [score.name for score in regression_scores(truth[:1], truth[:1], "")] == ["mean absolute error"]


def test_an_interval_of_errors_is_of_percentiles():
    errors = np.array([0.1] * 28 + [9.0] * 2)
    score, _ = regression_scores(np.zeros(30), errors, "hidden")
    assert score.low == pytest.approx(0.1)  # many draws have neither of the large errors
    assert score.high - score.value > score.value - score.low > 0


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (2.8371, 2.2, 3.56, "2.84 (95 % interval 2.20 to 3.56)"),
        (1234.5, 1100.0, 1400.0, "1234 (95 % interval 1100 to 1400)"),
        (0.5, 0.5, 0.5, "0.5 (95 % interval 0.5 to 0.5)"),
        (0.51234, None, None, "0.5123"),
    ],
)
def test_the_digits_of_a_score_follow_its_interval(value, low, high, text):
    assert score_text(CardScore("mean absolute error", value, low, high, 30, "")) == text


def test_an_accuracy_is_compared_with_the_most_frequent_class():
    truth, predicted = np.array(["live"] * 8 + ["die"] * 2), np.array(["live"] * 10)
    accuracy, balanced, constant = classification_scores(truth, predicted, "hidden")
    assert accuracy.value == constant.value == 0.8
    assert balanced.value == 0.5 == balanced_accuracy_score(truth, predicted)
    assert [score.name for score in classification_scores(truth[6:], predicted[6:], "")] == [
        "accuracy", "most frequent class",
    ]  # fmt: skip


def test_intervals_of_values_cover_new_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 3))
    y = rows[:, 0] + 0.5 * rng.normal(size=700)
    regressor = S2GNNRegressor(max_epochs=20, random_state=0).fit(rows[:200], y[:200])
    widths = []
    for level in (0.5, 0.9):
        low, high = regressor.predict_interval(rows[200:], level).T
        np.testing.assert_allclose((low + high) / 2, regressor.predict(rows[200:]))
        assert np.mean((low <= y[200:]) & (y[200:] <= high)) == pytest.approx(level, abs=0.08)
        widths.append(high[0] - low[0])
    assert widths[0] < widths[1] < 2.5
    with pytest.raises(InputError, match=r"level is 0.999, but 200 hidden labels allow at most 0.995"):
        regressor.predict_interval(rows, 0.999)
    with pytest.raises(InputError, match="level is 90, but it must be a number between 0 and 1"):
        regressor.predict_interval(rows, 90)
