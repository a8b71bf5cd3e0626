import pytest

from s2gnn.learning.records import Records
from s2gnn.render import render
from s2gnn.studies import run_cell
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.registry import study_layout
from s2gnn.studies.sweeps.stored import SWEEPS, stored_sweep
from s2gnn.studies.sweeps.view import sweep_json
from tests.studies.sweeps.made_records import write

STUDY = SWEEPS["learned-epsilon"]
GRID = (0.5, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0)
STARTS = (0.5, 1.0, 1.5, 2.0)


def finding(folder):
    return sweep_json(stored_sweep("learned-epsilon", folder))["finding"]


def fixed(folder, accuracies):
    """Seven fixed values, of which validation likes 0.8 the best."""
    for value in GRID:
        liked = {"val_accuracy": 0.9 if value == 0.8 else 0.8}
        write(folder, STUDY, "isolet", "s2gnn", {value: accuracies(value)}, **liked)


def learned(folder, accuracies, ends=0.7):
    for start in STARTS:
        write(folder, STUDY, "isolet", "learned", {start: accuracies(start)}, val_accuracy=0.8, epsilon=ends)


def test_cells_are_those_of_figure_6_and_the_same_with_epsilon_learned():
    cells = STUDY.cells(BUDGETS["quick"])
    assert len(cells) == 4 * (7 + 4)
    found = [cell.hyperparameters.model for cell in cells if cell.data == "isolet"]
    assert [model["epsilon"] for model in found] == [*GRID, *["learn"] * 4]
    assert [model["initial_epsilon"] for model in found[7:]] == list(STARTS)
    assert all("initial_epsilon" not in model for model in found[:7])
    figure = {cell.config_hash for cell in SWEEPS["epsilon"].cells(BUDGETS["quick"])}
    assert all(cell.config_hash in figure for cell in cells if cell.hyperparameters.model["epsilon"] != "learn")


def test_the_table_shows_where_epsilon_ends(tmp_path):
    fixed(tmp_path, lambda value: [86.0, 87.0, 88.0])
    learned(tmp_path, lambda start: [86.5, 87.2, 87.9])
    write(tmp_path, STUDY, "isolet", "learned", {0.5: [1.0] * 3}, val_accuracy=0.8, epsilon=0.1)  # the first counts
    text = render(study_layout("learned-epsilon", tmp_path), "markdown")
    assert "| ε, or where it starts | s2gnn | learned |" in text
    assert "| 0.8 | **87.00 ± 1.00** | – |" in text
    assert "| 2 | 87.00 ± 1.00 | **87.20 ± 0.70 [ε 0.70]** |" in text
    assert "in brackets the least and the greatest ε that the runs ended with" in text
    rows = sweep_json(stored_sweep("learned-epsilon", tmp_path))["points"]
    assert [row["learned_epsilon"] for row in rows if row["model"] == "learned"] == pytest.approx([0.7] * 4)


def test_the_verdict_when_nothing_matters(tmp_path):
    fixed(tmp_path, lambda value: [86.0, 87.0, 88.0] if value == 0.8 else [86.1, 86.9, 88.0])
    learned(tmp_path, lambda start: [86.4, 86.7, 88.1])
    text = finding(tmp_path)
    assert "Of 7 fixed values validation chooses ε = 0.8 (test 87.00 %)" in text
    assert "ε learned from 0.5 has +0.07, ending at 0.70; 1 has +0.07, ending at 0.70" in text
    assert (
        "isolet: learning ε spares the search, to within 1 point: no start is found behind (nor is a fixed value); "
        "0.5 reaches the lowest, -0.8" in text
    )


def test_the_verdict_when_only_learning_makes_up_for_a_bad_start(tmp_path):
    bad = {2.0: [80.0, 81.1, 82.2]}
    fixed(tmp_path, lambda value: bad.get(value, [86.0, 87.0, 88.0]))
    learned(tmp_path, lambda start: [86.4, 86.7, 88.1])
    text = finding(tmp_path)
    assert "Fixed at 0.5 has +0.00; 1 has +0.00; 1.5 has +0.00; 2 has -5.90 (behind)" in text
    assert "spares the search, to within 1 point: no start is found behind (some fixed values are)" in text


def test_the_verdict_when_learning_stays_where_it_starts(tmp_path):
    fixed(tmp_path, lambda value: [86.0, 87.0, 88.0])
    learned(tmp_path, lambda start: [80.0, 81.1, 82.2] if start == 2.0 else [86.4, 86.7, 88.1])
    assert "learning ε does not spare the search: from 2 it stays behind." in finding(tmp_path)


def test_no_verdict_where_the_seeds_are_too_few_for_the_noise(tmp_path):
    fixed(tmp_path, lambda value: [86.0, 87.0, 88.0])
    noisy = {1.0: [84.2, 88.0, 88.7]}  # its mean is not the lowest, its interval is
    learned(tmp_path, lambda start: noisy.get(start, [85.9, 86.8, 87.9]))
    text = finding(tmp_path)
    assert "; 1 reaches the lowest, -" in text
    assert "whether learning ε spares the search, 3 seeds do not tell: no start is found behind" in text
    assert "spares the search, to within" not in text


def test_one_seed_or_one_line_gives_no_verdict(tmp_path):
    fixed(tmp_path, lambda value: [86.0])
    assert "isolet: not run." in finding(tmp_path)
    learned(tmp_path, lambda start: [86.0])
    assert "one seed does not tell whether learning ε spares the search." in finding(tmp_path)


@pytest.mark.usefixtures("data_folder")
def test_a_run_keeps_the_epsilon_that_it_learned(tmp_path):
    cell = STUDY.cell("cancer-b", STUDY.line("learned"), 0.5, BUDGETS["smoke"])
    (record,) = run_cell(cell, Records(tmp_path / "r.jsonl")).records.values()
    assert 0.3 < record.metrics["epsilon"] < 0.8
    assert abs(record.metrics["epsilon"] - 0.5) > 1e-3
