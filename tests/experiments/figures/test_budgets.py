import pytest

from s2gnn.experiments import BUDGETS
from s2gnn.experiments.figures.budgets import budget_table, cell_times
from s2gnn.experiments.halving import Search
from s2gnn.experiments.records import Records
from tests.experiments.made_records import made_record
from tests.experiments.test_table_result import FAIR, RELEASED, TABLE, cell, write


def test_the_time_of_a_cell_is_that_of_all_seeds_and_of_its_search(tmp_path):
    write(tmp_path, "cancer-b", "s2gnn", RELEASED, [90.0] * 3)  # 36 s each, one cell under both protocols
    write(tmp_path, "cancer-b", "gcn", FAIR, [90.0])
    standard = BUDGETS["standard"]
    gat = TABLE.experiment(cell("cancer-b", "gat"), FAIR, standard)
    trials = next(Search(gat, standard).rounds({}))
    for trial in trials:
        made = made_record(trial, trial.seeds[0], 0.0, "standard", seconds=7.0)
        Records(tmp_path / "searches" / "table2-knn.jsonl").append(made)
    found = made_record(gat, gat.seeds[0], budget="standard", seconds=30.0)
    Records(tmp_path / "table2-knn.jsonl").append(found)
    times = cell_times(tmp_path)
    assert times["quick"] == pytest.approx([3 * 36, 3 * 36])
    assert times["standard"] == pytest.approx([10 * 30 + len(trials) * 7])
    rows = budget_table(tmp_path).splitlines()
    assert next(row for row in rows if row.startswith("| `quick` | 3 |")).endswith(
        "| 1 min 48 s (1 min 48 s to 1 min 48 s) |"
    )
    assert next(row for row in rows if row.startswith("| `full` | 50 | 500 |")).endswith("| – |")
