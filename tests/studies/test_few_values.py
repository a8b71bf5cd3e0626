import numpy as np
import pytest
from sklearn.metrics import r2_score

from s2gnn import S2GNNRegressor
from s2gnn.render import render
from s2gnn.studies import few_values
from s2gnn.studies.registry import study_layout


def test_a_draw_has_fifty_values_and_depends_on_its_seed():
    y = np.arange(200.0)
    partial = few_values.draw_values(y, 3)
    known = ~np.isnan(partial)
    assert known.sum() == 50
    np.testing.assert_array_equal(partial[known], y[known])
    np.testing.assert_array_equal(partial, few_values.draw_values(y, 3))
    assert (np.isnan(few_values.draw_values(y, 4)) != ~known).any()


@pytest.mark.parametrize(("name", "shape"), [("wine alcohol", (178, 12)), ("breast cancer texture", (569, 29))])
def test_a_column_is_not_among_those_it_is_predicted_from(name, shape):
    X, y = few_values.DATA[name]()
    assert X.shape == shape
    assert not any(np.array_equal(column, y) for column in X.T)


def test_diabetes_is_measured_stored_and_shown(tmp_path, monkeypatch):
    quick = {**few_values.METHODS, "S2GNNRegressor": lambda draw: S2GNNRegressor(n_networks=1, random_state=draw)}
    monkeypatch.setattr(few_values, "METHODS", quick)
    monkeypatch.setattr(few_values, "DRAWS", (0,))
    few_values.STUDY.run(tmp_path, "s2gnn study run few-values", ("diabetes",), lambda text: None)
    (row,) = few_values.STUDY.read(tmp_path)["content"]["rows"]
    X, y = few_values.DATA["diabetes"]()
    partial = few_values.draw_values(y, 0)
    own = S2GNNRegressor(n_networks=1, random_state=0).fit(X, partial).transduction_
    hidden = np.isnan(partial)
    assert row["scores"]["S2GNNRegressor"][0] == pytest.approx(r2_score(y[hidden], own[hidden]))
    assert all(0.1 < scores[0] < 0.6 for scores in row["scores"].values())
    table = render(study_layout("few-values", tmp_path), "markdown")
    best = max(row["scores"].values())[0]
    assert f"**{best:.3f} ± 0.000**" in table
    assert "| mean |" in table
