import numpy as np
import pytest
from scipy import stats

from s2gnn.learning.records import RecordsFolder
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.sweeps import sweep_result
from s2gnn.studies.sweeps.stored import SWEEPS, stored_sweep
from tests.studies.sweeps.made_records import write

ALPHA = SWEEPS["alpha"]


def test_points_are_means_with_the_standard_deviation_over_seeds(tmp_path):
    write(tmp_path, ALPHA, "har", "s2gnn", {1: [90.0, 92.0, 94.0], 6: [95.0, 94.0, 96.0]})
    (panel,) = stored_sweep("alpha", tmp_path).panels
    line = ALPHA.lines[0]
    point = panel.points[line, 1]
    assert (point.mean, point.deviation) == (pytest.approx(92.0), pytest.approx(np.std([90, 92, 94], ddof=1)))
    assert panel.curve(line) == {1: pytest.approx(92.0), 6: pytest.approx(95.0)}
    assert panel.points[line, 3].mean is None
    lead = panel.points[line, 6].lead(point)
    assert lead.p_t == pytest.approx(stats.ttest_rel([95, 94, 96], [90, 92, 94]).pvalue)
    assert point.lead(panel.points[line, 3]) is None


def test_a_curve_has_one_budget_and_the_seeds_that_most_of_its_points_have(tmp_path):
    write(tmp_path, ALPHA, "har", "s2gnn", {order: [90.0, 91.0, 92.0] for order in (1, 2, 3, 4, 5)})
    write(tmp_path, ALPHA, "har", "s2gnn", {6: [90.0, 91.0, 92.0, *[99.0] * 20]}, name="elsewhere")
    write(tmp_path, ALPHA, "har", "s2gnn", {1: [80.0] * 50, 6: [80.0] * 50}, budget="long", name="elsewhere")
    (panel,) = stored_sweep("alpha", tmp_path).panels
    assert panel.budget.name == "quick"
    assert {len(point.records) for point in panel.points.values()} == {3}
    assert panel.curve(ALPHA.lines[0])[6] == pytest.approx(91.0)
    write(tmp_path, ALPHA, "har", "s2gnn", {order: [80.0] * 50 for order in (2, 3, 4, 5)}, budget="long")
    assert stored_sweep("alpha", tmp_path).panels[0].budget.name == "long"


def test_one_value_is_no_curve_and_smoke_is_not_shown(tmp_path):
    write(tmp_path, ALPHA, "har", "s2gnn", {6: [90.0]})
    write(tmp_path, SWEEPS["neighbours"], "har", "mlp", {10: [90.0]})
    write(tmp_path, ALPHA, "isolet", "s2gnn", {1: [90.0], 2: [91.0]}, budget="smoke")
    assert stored_sweep("alpha", tmp_path).panels == ()
    assert stored_sweep("neighbours", tmp_path).panels == ()
    shown = sweep_result(ALPHA, RecordsFolder(tmp_path, "alpha"), [BUDGETS["smoke"]])
    assert [panel.data for panel in shown.panels] == ["isolet"]


def test_runs_of_other_studies_alone_are_no_record_of_a_sweep(tmp_path):
    write(tmp_path, ALPHA, "har", "s2gnn", {1: [90.0], 2: [91.0]}, name="elsewhere")
    assert stored_sweep("alpha", tmp_path).panels == ()
    write(tmp_path, ALPHA, "har", "s2gnn", {3: [92.0]})
    assert len(stored_sweep("alpha", tmp_path).records) == 3
