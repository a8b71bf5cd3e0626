from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import r2_score

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor
from s2gnn.experiments.figures import estimator_benchmark as benchmark
from s2gnn.experiments.measured import Measurement
from s2gnn.render import render


def measured(samples, data, estimators):
    (row,) = benchmark._measure(Measurement(data, {}, lambda _: None, Path()), samples, estimators)
    return row


def test_a_draw_keeps_eight_labels_of_each_class_and_depends_on_its_seed():
    y = np.repeat([0, 1, 2], 50)
    partly, known = benchmark.hide_targets(y, 3)
    assert np.bincount(partly[known]).tolist() == [8, 8, 8]
    np.testing.assert_array_equal(partly, np.where(known, y, -1))
    np.testing.assert_array_equal(partly, benchmark.hide_targets(y, 3)[0])
    assert (partly != benchmark.hide_targets(y, 4)[0]).any()


def test_a_draw_keeps_fifty_values_and_depends_on_its_seed():
    y = np.arange(200.0)
    partly, known = benchmark.hide_targets(y, 3)
    assert known.sum() == 50
    np.testing.assert_array_equal(partly, np.where(known, y, np.nan))
    assert (known != benchmark.hide_targets(y, 4)[1]).any()


@pytest.mark.parametrize(("name", "shape"), [("wine alcohol", (178, 12)), ("breast cancer texture", (569, 29))])
def test_the_target_column_is_not_a_feature(name, shape):
    X, y = benchmark.VALUES[name]()
    assert X.shape == shape
    assert not any(np.array_equal(column, y) for column in X.T)


def test_iris_is_measured_stored_and_shown(tmp_path, monkeypatch):
    quick = {
        **benchmark.CLASSIFIERS,
        "S2GNNClassifier": lambda seed: S2GNNClassifier(max_epochs=30, random_state=seed),
    }
    monkeypatch.setattr(benchmark, "DRAWS", (0,))
    study = replace(benchmark.FEW_LABELS, measure=partial(benchmark.FEW_LABELS.measure, estimators=quick))
    study.run(tmp_path, "s2gnn study run few-labels", ("iris",))
    content = study.json(tmp_path)["content"]
    assert content["defaults"] == S2GNNClassifier().get_params()
    (row,) = content["rows"]
    assert (row["data"], row["rows"], row["classes"]) == ("iris", 150, 3)
    assert {name: len(scores) for name, scores in row["scores"].items()} == dict.fromkeys(quick, 1)
    assert all(0.7 < scores[0] <= 1 for scores in row["scores"].values())
    text = render(study.table(tmp_path), "markdown")
    assert f"**{100 * max(row['scores'].values())[0]:.1f} ± 0.0**" in text
    assert "| iris (150 rows, 3 classes) |" in text
    assert "| mean |" in text
    with pytest.raises(InputError, match="few-labels has no data set 'flowers': choose from iris, wine"):
        study.run(tmp_path, "s2gnn study run few-labels", ("flowers",))


def test_regression_is_scored_by_r2_on_the_hidden_values(monkeypatch):
    monkeypatch.setattr(benchmark, "DRAWS", (0,))
    quick = {**benchmark.REGRESSORS, "S2GNNRegressor": lambda seed: S2GNNRegressor(n_networks=1, random_state=seed)}
    row = measured(benchmark.VALUES, "diabetes", quick)
    X, y = benchmark.VALUES["diabetes"]()
    partly, known = benchmark.hide_targets(y, 0)
    ours = S2GNNRegressor(n_networks=1, random_state=0).fit(X, partly).transduction_
    assert row["scores"]["S2GNNRegressor"][0] == pytest.approx(r2_score(y[~known], ours[~known]))
    assert all(0.1 < scores[0] < 0.6 for scores in row["scores"].values())
