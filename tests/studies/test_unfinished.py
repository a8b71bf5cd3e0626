from dataclasses import replace

import pytest

from s2gnn.learning.records import Record, Records
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.results import table_result
from s2gnn.studies.table import load_table
from s2gnn.studies.unfinished import unfinished
from s2gnn.studies.view import table_layout

TABLE = load_table("table2-knn")
FAIR = TABLE.protocols[-1]
QUICK = BUDGETS["quick"]


def sentence(folder, epochs, table=TABLE):
    """What is said of GCN on Cancer-B, whose seeds had their best in these epochs of 500."""
    records = Records(folder / "table2-knn.jsonl")
    place = next(cell for cell in table.cells if (cell.data, cell.model) == ("cancer-b", "gcn"))
    cell = table.cell(place, table.protocols[-1], QUICK, seeds=len(epochs))
    for seed, epoch in zip(cell.seeds, epochs, strict=True):
        metrics = {"test_accuracy": 0.9, "epoch": epoch}
        cost = {"name": "quick", "epochs": 500, "threads": 1}
        records.append(Record(cell.config_hash, seed, cell.config, metrics, 1.0, cost, "2024", "abc", {}))
    return unfinished(table_result(table, records))


@pytest.mark.parametrize(("epochs", "late"), [([499, 490, 3], True), ([499, 489, 3], False), ([3, 3, 3], False)])
def test_a_model_is_named_whose_best_epochs_are_mostly_the_last(tmp_path, epochs, late):
    text = sentence(tmp_path, epochs)
    assert (text is not None) == late
    assert not late or "in most of their runs: gcn (cancer-b, knn, k = 30, fair)." in text


def test_where_the_last_epoch_is_tested_nothing_follows_from_it(tmp_path):
    last = replace(TABLE, protocols=(replace(FAIR, keep="last"),))
    assert sentence(tmp_path, [499, 499], last) is None


def test_the_table_says_it(tmp_path):
    text = sentence(tmp_path, [499, 499])
    assert text in table_layout(table_result(TABLE, Records(tmp_path / "table2-knn.jsonl"))).notes
