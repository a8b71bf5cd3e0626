from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from s2gnn.experiments.figures import active_learning
from s2gnn.experiments.figures.active_learning import (
    ACTIVE_LEARNING,
    METHODS,
    Pool,
    _together,
    area,
    draw_pool,
    labels_needed,
    learning_curve,
)


@pytest.fixture
def iris():
    return draw_pool(*load_iris(return_X_y=True), draw=0)


def test_tested_rows_are_never_labelled_and_the_start_has_every_class(iris):
    pool, start = iris
    assert (len(pool.tested), len(pool.open)) == (50, 100)
    np.testing.assert_array_equal(np.sort(np.concatenate([pool.tested, pool.open])), np.arange(150))
    assert np.bincount(pool.y[start]).tolist() == [2, 2, 2]
    assert np.isin(start, pool.open).all()


@pytest.mark.parametrize("name", ["S2-GNN: auto", "S2-GNN: random", "random forest: margin"])
def test_methods_choose_new_rows_of_the_pool(iris, name):
    pool, start = iris
    predicted, chosen = METHODS[name](pool, start, 7, 0)
    assert np.mean(predicted == pool.y[pool.tested]) > 0.7
    assert len(np.unique(chosen)) == 7
    assert np.isin(chosen, pool.open).all()
    assert not np.isin(chosen, start).any()


def test_margin_sampling_chooses_the_closest_calls(iris):
    pool, start = iris
    _, chosen = METHODS["logistic regression: margin"](pool, start, 3, 0)
    fitted = LogisticRegression().fit(pool.X[start], pool.y[start])
    rows = np.setdiff1d(pool.open, start)
    p = np.sort(fitted.predict_proba(pool.X[rows]))
    np.testing.assert_array_equal(chosen, rows[np.argsort(p[:, -1] - p[:, -2])[:3]])


def test_a_learning_curve_trains_at_the_given_numbers_of_labels(iris, monkeypatch):
    monkeypatch.setattr(active_learning, "MANY", 20)
    pool, start = iris
    seen = []

    def method(pool: Pool, labelled, n, draw):
        seen.append(len(labelled))
        assert len(np.unique(labelled)) == len(labelled)
        rows = np.setdiff1d(pool.open, labelled)
        return np.zeros(len(pool.tested)), rows[:n]

    labels, accuracies = learning_curve(method, pool, start, 0)
    assert labels == seen == [6, 11, 16, 21, 31, 41, 50]  # half of the pool
    assert accuracies == [np.mean(pool.y[pool.tested] == 0)] * 7


def test_areas_and_labels_needed_of_known_curves():
    labels, accuracies = np.array([10.0, 20.0, 40.0]), np.array([0.5, 0.7, 0.9])
    assert area(labels, accuracies) == pytest.approx((10 * 0.6 + 20 * 0.8) / 30)
    assert labels_needed(labels, accuracies, 0.6) == pytest.approx(15)
    assert labels_needed(labels, accuracies, 0.9) == pytest.approx(40)
    assert labels_needed(labels, accuracies, 0.3) == 10
    assert labels_needed(labels, accuracies, 0.95) == np.inf


def test_strategies_are_compared_with_random_of_the_same_classifier():
    def row(data, model, *accuracies):
        return {"data": data, "model": model, "labels": [[4, 10, 20]], "accuracies": [list(accuracies)]}

    rows = [
        row("vote", "S2-GNN: auto", 0.6, 0.8, 0.9),
        row("vote", "S2-GNN: random", 0.6, 0.7, 0.8),
        row("vote", "random forest: margin", 0.5, 0.5, 0.5),
        row("vote", "random forest: random", 0.5, 0.6, 0.6),
        row("wifi", "S2-GNN: auto", 0.6, 0.8, 0.9),  # not yet measured by the others
    ]
    content = {"rows": rows, "draws": [0], "start": 2, "most": 100}
    table = ACTIVE_LEARNING.tabulate(content)
    assert table.header == ("", "S2-GNN: auto", "S2-GNN: random", "random forest: margin", "random forest: random")
    lines = {line[0].text: [cell.text for cell in line[1:]] for line in table.blocks[0].rows}
    lead = 100 * ((6 * 0.05 + 10 * 0.1) / 16)
    assert lines["points above random"] == [f"{lead:+.1f}", "+0.0", f"{-100 * 1.3 / 16:+.1f}", "+0.0"]
    assert lines["labels needed, compared with random's, median"] == ["50 %", "100 %", "not reached", "100 %"]
    assert table.notes[0] == (
        f"S2-GNN: auto, the default: {lead:+.1f} points compared with labelling rows at random, {lead:+.1f} on the "
        "worst table; labels needed: 50 % of random's in the median."
    )
    assert lines["tables more than a point below random"] == ["0", "0", "1", "0"]
    figure = ACTIVE_LEARNING.draw(content)
    assert [text.get_text() for text in figure.axes[1].get_yticklabels()] == ["vote"]


def test_methods_measured_on_few_tables_are_left_out():
    compared = {
        "S2-GNN: auto": {"vote": 0, "wifi": 0, "yeast": 0},
        "S2-GNN: random": {"vote": 0, "wifi": 0},
        "S2-GNN: change": {"yeast": 0},
    }
    assert _together(compared) == (["S2-GNN: auto", "S2-GNN: random"], ["vote", "wifi"])
    assert _together({}) == ([], [])


def test_a_table_is_simulated_stored_and_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(active_learning, "DRAWS", (0, 1))
    monkeypatch.setattr(active_learning, "MOST", 15)
    monkeypatch.setattr(active_learning, "load_encoded", lambda _: load_iris(return_X_y=True))
    few = ("random forest: margin", "random forest: random")
    replace(ACTIVE_LEARNING, models=few).run(tmp_path, "command", ("vote",))
    shown = ACTIVE_LEARNING.table(tmp_path)
    assert shown.header == ("", *few)
    row = ACTIVE_LEARNING.json(tmp_path)["content"]["rows"][0]
    assert (row["labels"], row["rows"]) == ([[6, 11, 15]] * 2, 150)
    assert (tmp_path / "active-learning.svg").exists()
