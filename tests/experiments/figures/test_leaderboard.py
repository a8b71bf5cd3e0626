from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score

from s2gnn import InputError
from s2gnn.experiments.figures import leaderboard
from s2gnn.experiments.figures.leaderboard import (
    CLASSIFIERS,
    REGRESSORS,
    answer,
    calibration_floor,
    draw_known,
    expected_calibration_error,
    load_encoded,
    recalibrated_error,
)
from s2gnn.render import render

SIMPLE = {name: CLASSIFIERS[name] for name in ("logistic regression", "random forest", "SVC", "label spreading")}
SIMPLE = {"S2GNNClassifier": lambda _: LogisticRegression(C=0.1)} | SIMPLE


def test_a_draw_keeps_few_labels_of_each_class_and_depends_on_its_seed():
    y = np.repeat([0, 1, 2], [50, 50, 6])
    X = np.arange(106.0)[:, None]
    X, labels, known = draw_known(X, y, 5, draw=3)
    assert np.bincount(labels[:known]).tolist() == [5, 5, 3]  # at most half of a class
    np.testing.assert_array_equal(np.sort(X[:, 0]), np.arange(106))
    np.testing.assert_array_equal(labels, y[X[:, 0].astype(int)])
    again, other = (draw_known(np.arange(106.0)[:, None], y, 5, draw).X for draw in (3, 4))
    np.testing.assert_array_equal(again, X)
    assert (other != X).any()


def test_labels_of_random_rows_follow_the_shares_of_the_classes():
    y = np.repeat([0, 1, 2], [900, 99, 1])
    counts = [
        np.bincount(leaderboard.any_rows(y, 10, np.random.default_rng(seed)) // 900, minlength=2) for seed in range(50)
    ]
    assert all(len(found) == 2 and found.sum() == 30 and found[1] for found in counts)  # always of two classes
    assert np.mean(counts, axis=0)[0] == pytest.approx(27, abs=1)


def test_a_class_without_labels_has_the_probability_0():
    X, y = load_encoded("iris")
    rows = np.concatenate([np.flatnonzero(y != 1)[::10], np.flatnonzero(y == 1)])
    _, probabilities = answer(LogisticRegression(), leaderboard.Draw(X[rows], y[rows], 10))
    assert probabilities.shape == (50, 3)
    assert (probabilities[:, 1] == 0).all()
    assert recalibrated_error(probabilities, y[rows][10:], 10) > 0.4  # all are of that class


def test_large_tables_are_sampled_and_values_standardised(monkeypatch):
    monkeypatch.setattr(leaderboard, "MOST_ROWS", 40)
    rng = np.random.default_rng(0)
    X, y, known = draw_known(rng.normal(size=(300, 2)), rng.normal(7, 3, size=300), 50, draw=0)
    assert (len(X), known) == (90, 50)
    assert (y[:50].mean(), y[:50].std()) == (pytest.approx(0), pytest.approx(1))


def test_constant_columns_of_a_draw_are_left_out():
    X = np.zeros((30, 2))
    X[:, 0] = np.arange(30)
    assert draw_known(X, np.repeat([0, 1], 15), 5, draw=0).X.shape == (30, 1)


def test_calibration_errors_of_known_cases():
    confidence = np.array([0.95, 0.95, 0.95, 0.95, 0.62, 0.68])
    correct = np.array([True, True, True, False, True, False])
    expected = (4 * abs(0.75 - 0.95) + 2 * abs(0.5 - 0.65)) / 6
    assert expected_calibration_error(confidence, correct) == pytest.approx(expected)
    assert expected_calibration_error(np.ones(3), np.ones(3, dtype=bool)) == 0


def test_calibrated_probabilities_have_the_calibration_error_of_chance():
    # 25 rows in one bin, each correct with probability 0.75: the mean of |binomial / 25 − 0.75|.
    exact = binom(25, 0.75).expect(lambda hits: abs(hits / 25 - 0.75))
    assert calibration_floor(np.full(25, 0.75)) == pytest.approx(exact, rel=0.35)
    assert calibration_floor(np.full(25_000, 0.75)) < 0.005
    assert calibration_floor(np.ones(25)) == 0


def test_further_labels_calibrate_the_better_the_more_there_are():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=4_000)
    truth = (rng.random(4_000) < expit(logits)).astype(np.int64)
    overconfident = np.stack([expit(-4 * logits), expit(4 * logits)], axis=1)
    errors = [recalibrated_error(overconfident, truth, further) for further in (10, 100, 1_000)]
    before = expected_calibration_error(overconfident.max(axis=1), overconfident.argmax(axis=1) == truth)
    assert before > errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.03


def test_a_row_without_a_probability_is_a_guess():
    X = np.array([0.0, 1.0, 0.1, 1e6])[:, None]  # no label reaches the last row by label spreading
    with np.errstate(invalid="ignore"):
        _, probabilities = answer(CLASSIFIERS["label spreading"](0), leaderboard.Draw(X, np.array([0, 1, 0, 1]), 2))
    assert probabilities is not None
    assert probabilities[1].tolist() == [0.5, 0.5]


def test_the_summary_counts_only_tables_that_all_methods_have():
    def row(data, model, *scores):
        own = {"known": 5, "calibration_error": None, "calibration_floor": None}
        return {"data": data, "model": model, "scores": scores, **own}

    methods = ("S2GNNClassifier", "logistic regression", "random forest")
    scores = {"first": (0.80, 0.85, 0.70), "second": (0.90, 0.60, 0.60)}
    rows = [row(data, model, score) for data, own in scores.items() for model, score in zip(methods, own, strict=True)]
    rows.append(row("unfinished", "S2GNNClassifier", 0.1))
    content = {"rows": rows, "draws": [0], "most_rows": 10}
    shown = leaderboard.LEADERBOARD.tabulate
    summary, details = shown(content, methods=methods).blocks
    lines = {line[0].text: [cell.text for cell in line[1:]] for line in summary.rows}
    assert lines["mean rank"] == ["1.50", "1.75", "2.75"]
    assert lines["mean of 2 tables"] == ["85.0", "72.5", "65.0"]
    assert lines["largest loss against the better of logistic regression and random forest"] == ["5.0", "0.0", "15.0"]
    assert lines["tables with a loss of more than 3"] == ["1", "0", "1"]
    assert [line[0].text for line in details.rows] == ["first", "second", "unfinished"]
    assert details.folded


def test_every_method_answers_for_the_unlabelled_rows():
    drawn = draw_known(*load_encoded("iris"), 5, draw=0)
    for name, make in CLASSIFIERS.items():
        predicted, probabilities = answer(make(0), drawn)
        assert np.mean(predicted == drawn.y[15:]) > (0.2 if name == "boosting" else 0.7)
        assert (probabilities is None) == (name == "SVC")
    drawn = draw_known(*load_encoded("diabetes"), 50, draw=0)
    for name, make in REGRESSORS.items():
        predicted, probabilities = answer(make(0), drawn)
        assert r2_score(drawn.y[50:], predicted) > (-0.1 if name == "boosting" else 0.1)
        assert probabilities is None


def small(study, estimators, budgets, measure=leaderboard._measure):
    """The study with few methods."""
    names = tuple(estimators)
    return replace(
        study,
        measure=partial(measure, estimators=estimators, budgets=budgets, choice=leaderboard.class_by_class),
        tabulate=partial(study.tabulate, methods=names),
        models=names,
    )


def test_tables_are_measured_stored_and_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "DRAWS", (0, 1))
    own = small(leaderboard.LEADERBOARD, SIMPLE, (5, 10))
    own.run(tmp_path, "s2gnn study run leaderboard", ("iris", "wine"))
    rows = own.json(tmp_path)["content"]["rows"]
    assert len(rows) == 2 * 2 * len(SIMPLE)
    found = {(row["data"], row["model"], row["known"]): row for row in rows}
    drawn = draw_known(*load_encoded("iris"), 10, draw=1)
    fitted = LogisticRegression().fit(drawn.X[:30], drawn.y[:30])
    row = found["iris", "logistic regression", 10]
    assert row["scores"][1] == fitted.score(drawn.X[30:], drawn.y[30:])
    assert 0 < row["calibration_error"] < 0.5
    assert 0 < row["recalibrated_error"] < 0.5
    assert found["iris", "SVC", 10]["calibration_error"] is None
    text = render(own.table(tmp_path), "markdown")
    accuracy = np.mean([np.mean(found[data, "SVC", 10]["scores"]) for data in ("iris", "wine")])
    assert f"{100 * accuracy:.1f}" in text
    assert "mean of 2 tables" in text
    assert "calibration error" in text


def test_a_stopped_run_is_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "DRAWS", (0,))
    started = []

    def stopping(at, **arguments):
        started.append(at.model)
        if started == ["S2GNNClassifier", "logistic regression"]:
            raise KeyboardInterrupt
        return leaderboard._measure(at, **arguments)

    own = small(leaderboard.LEADERBOARD, SIMPLE, (5,), stopping)
    with pytest.raises(KeyboardInterrupt):
        own.run(tmp_path, "command", ("iris",))
    assert "| iris |" in render(own.table(tmp_path), "markdown")  # a part is shown, too
    own.run(tmp_path, "command", ("iris",))
    assert started == ["S2GNNClassifier", "logistic regression", *list(SIMPLE)[1:]]


def test_values_are_scored_by_r2(tmp_path, monkeypatch):
    monkeypatch.setattr(leaderboard, "DRAWS", (0,))
    simple = {"S2GNNRegressor": lambda _: Ridge(10.0)} | {name: REGRESSORS[name] for name in ("ridge", "random forest")}
    own = small(leaderboard.VALUES_LEADERBOARD, simple, (50,))
    own.run(tmp_path, "command", ("diabetes",))
    ours, ridge, _ = own.json(tmp_path)["content"]["rows"]
    drawn = draw_known(*load_encoded("diabetes"), 50, draw=0)
    predicted = Ridge().fit(drawn.X[:50], drawn.y[:50]).predict(drawn.X[50:])
    assert ridge["scores"] == [pytest.approx(r2_score(drawn.y[50:], predicted))]
    assert ours["model"] == "S2GNNRegressor"
    assert "| diabetes |" in render(own.table(tmp_path), "markdown")


def test_tables_of_the_data_folder_are_encoded(data_folder):
    del data_folder
    X, y = load_encoded("vote")
    assert (len(X), len(y), np.unique(y).tolist()) == (435, 435, [0, 1])
    X, y = load_encoded("servo")
    assert (len(X), y.dtype.kind) == (167, "f")


def test_missing_tables_are_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("S2GNN_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"set S2GNN_DATA to a folder with tables/tables\.json"):
        load_encoded("adult")
