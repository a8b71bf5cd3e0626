import json
from pathlib import Path

import pytest

from s2gnn.learning.records import Record, Records, RecordsFolder
from s2gnn.render import render
from s2gnn.studies.ablation import Ablation, Leads, ablation, ablation_notes
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.registry import stored_table, study_layout
from s2gnn.studies.schedule import Job, unfinished
from s2gnn.studies.table import Column, load_table
from s2gnn.studies.view import table_json

RESULTS = Path(__file__).parents[2] / "results"
TABLES = ("ablation-hadamard", "ablation-norm")
TABLE = load_table("ablation-hadamard")


def write(folder, column, model, accuracies):
    place = next(cell for cell in TABLE.cells if (cell.column, cell.model) == (column, model))
    cell = TABLE.cell(place, TABLE.protocols[1], BUDGETS["quick"])
    for seed, accuracy in zip(cell.seeds, accuracies, strict=True):
        metrics = {"test_accuracy": accuracy / 100, "epoch": 3}
        cost = {"name": "quick", "epochs": 500, "threads": 1}
        Records(folder / "runs.jsonl").append(
            Record(cell.config_hash, seed, cell.config, metrics, 36.0, cost, "2024-01-01", "abc", {"torch": "2"})
        )


@pytest.fixture
def folder(tmp_path):
    """Ahead on one graph beyond doubt, behind on the other graph of that data set, undecided on a third."""
    for column, variant, ours in (
        (Column("cancer-b", "knn"), [90.0, 91.0, 92.0], [93.0, 94.1, 95.0]),
        (Column("cancer-b", "smooth"), [90.0, 91.0, 92.0], [88.0, 89.1, 90.0]),
        (Column("har", "knn"), [90.0, 91.0, 92.0], [90.5, 90.9, 92.6]),
    ):
        write(tmp_path, column, "no-hadamard", variant)
        write(tmp_path, column, "s2gnn", ours)
    return tmp_path


def test_the_graphs_are_counted_beside_the_papers(folder):
    found = ablation(stored_table("ablation-hadamard", folder))
    mean = pytest.approx((9.1 - 5.9 + 1.0) / 9)
    assert found == Ablation("no-hadamard", 10, Leads(3, 2, mean), ahead=1, behind=1, paper=found.paper)
    assert (found.paper.graphs, found.paper.ahead) == (10, 9)
    assert found.paper.mean == pytest.approx(1.247)
    norm = ablation(stored_table("ablation-norm", folder))
    assert (norm.measured, norm.paper.ahead) == (Leads(0, 0, None), 8)
    assert ablation(stored_table("table2-knn", folder)) is None


def test_the_counts_in_words():
    found = Ablation("no-hadamard", 10, Leads(3, 2, 0.49), 1, 1, Leads(10, 9, 1.247))
    counts, training = ablation_notes(found)
    assert counts == (
        "S2-GNN leads no-hadamard on 2 of the 3 graphs run so far, of 10, by the mean over common seeds, and by +0.49 "
        "points on average; by the paired t-test (p < 0.05, not corrected for their number) it is ahead on 1 and "
        "behind on 1. In the paper it leads on 9 of 10, by +1.25 points on average."
    )
    assert "no-hadamard borrows them, where the paper searched for its own" in training
    none = Ablation("no-hadamard", 10, Leads(0, 0, None), 0, 0, Leads(10, 9, 1.247))
    assert ablation_notes(none)[0].startswith("No graph has runs of both S2-GNN and no-hadamard yet. In the paper")


def test_a_data_set_has_a_block_for_each_graph_and_one_run_for_both_protocols(folder):
    text = render(study_layout("ablation-hadamard", folder), "markdown")
    names = ("cancer-b, knn, k = 30", "isolet, knn, k = 20", "har, smooth, k = 40")
    headings = [text.index(f"**{name}: ") for name in names]
    assert headings == sorted(headings)
    assert (
        "| no-hadamard | *91.00 ± 1.00* | *91.00 ± 1.00* | 91.20 ± 0.50 | -0.20 | -0.20 | +3.03 (3 seeds, p < 0.001) |"
        in text
    )
    assert "| no-hadamard | **91.00 ± 1.00** | **91.00 ± 1.00** | 88.49 ± 3.67 |" in text
    assert (text.count("| borrowed |"), text.count("| published |")) == (15, 5)
    content = table_json(stored_table("ablation-hadamard", folder))
    assert [cell["graph"] for cell in content["cells"]] == ["knn"] * 10 + ["smooth"] * 10
    assert content["ablation"]["measured"]["ahead"] == 2
    json.dumps(content, allow_nan=False)


@pytest.mark.parametrize("name", TABLES)
def test_stored_runs_of_s2gnn_are_found_again_and_not_trained_anew(name):
    table = load_table(name)
    ours = stored_table(name, RESULTS)
    for other in ("table2-knn", "table2-learned"):
        theirs = stored_table(other, RESULTS)
        for cell in theirs.table.cells:
            if cell.model == "s2gnn":
                for protocol in table.protocols:
                    assert len(theirs.at(cell, protocol).records) >= 3
                    assert ours.at(cell, protocol).runs == theirs.at(cell, protocol).runs
    wanted = [Job(table.cell(cell, table.protocols[0], BUDGETS["long"]), "long") for cell in table.cells]
    left = unfinished(wanted, RecordsFolder(RESULTS, name))
    assert not [job for job in left if (job.cell.model, job.cell.graph) == ("s2gnn", "knn")]
