import csv
import json

import numpy as np
import pytest

from s2gnn.render import render
from s2gnn.studies.registry import study_layout
from s2gnn.studies.sweeps.stored import SWEEPS, stored_sweep
from s2gnn.studies.sweeps.view import sweep_csv, sweep_json, sweep_layout
from tests.studies.sweeps.made_records import write

EPSILON, REACH, LABELS = (SWEEPS[name] for name in ("epsilon", "reach", "label-efficiency"))


def markdown(name, folder):
    return render(study_layout(name, folder), "markdown")


@pytest.mark.parametrize("name", SWEEPS)
def test_without_records_a_sweep_says_how_to_make_them(tmp_path, name):
    assert f"No record yet: s2gnn study run {name}" in markdown(name, tmp_path)
    assert sweep_json(stored_sweep(name, tmp_path))["points"] == []


def test_one_line_has_a_column_for_each_data_set_beside_the_papers_finding(tmp_path):
    write(tmp_path, EPSILON, "cancer-m", "s2gnn", {0: [60.0, 62.0], 1.5: [68.0, 70.0]})
    write(tmp_path, EPSILON, "har", "s2gnn", {0: [93.0, 94.0], 1.5: [93.5, 94.5], 2: [93.0, 93.0]})
    text = markdown("epsilon", tmp_path)
    assert "| ε | cancer-m | har |" in text
    assert "| 0 | 61.00 ± 1.41 | 93.50 ± 0.71 |" in text
    assert "| 1.5 | **69.00 ± 1.41** | **94.00 ± 0.71** |" in text
    assert "| 2 | – | 93.00 ± 0.00 |" in text
    assert "relatively important effect on Cancer-M" in text
    assert "S2-GNN, with hyperparameters from its search, at cancer-m 68.48, har 93.92." in text
    assert (
        "differs by 8.00 points on cancer-m (best at 1.5, worst at 0, standard deviation over seeds 1.41); "
        "1.00 points on har (best at 1.5, worst at 2, standard deviation over seeds 0.47). "
        "It differs the most on cancer-m, as in the paper." in text
    )
    assert "10 runs, 0.1 hours of training: s2gnn study run epsilon --budget quick (2 seeds). Commit abc." in text


def test_a_finding_that_is_not_the_papers_says_so(tmp_path):
    write(tmp_path, EPSILON, "cancer-m", "s2gnn", {0: [60.0, 60.5], 1.5: [61.0, 61.5]})
    write(tmp_path, EPSILON, "har", "s2gnn", {0: [80.0, 80.0], 1.5: [90.0, 90.0]})
    assert "It differs the most on har, in the paper on cancer-m." in markdown("epsilon", tmp_path)


def test_one_seed_is_no_finding(tmp_path):
    write(tmp_path, EPSILON, "cancer-m", "s2gnn", {0: [60.0], 1.5: [80.0]})
    write(tmp_path, EPSILON, "har", "s2gnn", {0: [80.0, 80.0], 1.5: [90.0, 90.0]})
    text = markdown("epsilon", tmp_path)
    assert "20.00 points on cancer-m (best at 1.5, worst at 0, one seed)" in text
    assert "It differs the most" not in text


def test_several_lines_have_a_block_for_each_data_set_and_their_hops(tmp_path):
    for model, shift in (("s2gnn", 2.0), ("regular-sobolev", 0.0), ("cheby", 1.0)):
        scores = {order: [80.0 + shift, 81.5 + shift, 82.2 + shift] for order in (1, 2)}
        write(tmp_path, REACH, "cancer-m", model, scores)
    text = markdown("reach", tmp_path)
    assert "**Accuracy on cancer-m (%), quick, 3 seeds**" in text
    assert "| 2 | **83.23 ± 1.12 [3]** | 81.23 ± 1.12 [6] | – | – | 82.23 ± 1.12 [2] |" in text, (
        "three layers of S2-GNN, two of Cheby"
    )
    assert "ahead / undecided / behind (paired t-test, p < 0.05): against regular-sobolev 0 / 2 / 0" in text


def test_findings_count_paired_tests_and_changes(tmp_path):
    neighbours = SWEEPS["neighbours"]
    write(tmp_path, neighbours, "har", "s2gnn", {10: [90.0, 91.0, 92.0], 40: [92.0, 93.0, 94.1]})
    write(tmp_path, neighbours, "har", "gcn", {10: [85.0, 86.1, 87.0], 40: [92.0, 93.2, 94.0]})
    write(tmp_path, neighbours, "har", "mlp", {10: [95.0, 96.1, 97.0]})
    text = markdown("neighbours", tmp_path)
    assert (
        "From 10 to 40 the mean accuracy changes by +2.03 points (s2gnn, 1 data set), +7.03 points (gcn, fair" in text
    )
    assert "against gcn, fair 1 / 1 / 0, against mlp, fair 0 / 0 / 2." in text
    write(tmp_path, SWEEPS["alpha"], "har", "s2gnn", {1: [90.0, 91.0, 92.0], 6: [92.0, 93.2, 94.1]})
    write(tmp_path, SWEEPS["alpha"], "isolet", "s2gnn", {1: [90.0, 91.0, 92.0], 2: [92.0, 93.2, 84.1]})
    assert (
        "The published α against α = 1: ahead on har (α = 6) +2.10; undecided on isolet (α = 2) -1.23 (points; paired "
        "t-test, p < 0.05)." in markdown("alpha", tmp_path)
    )


def test_the_largest_share_at_which_a_graph_leads_the_mlp(tmp_path):
    mlp = {0.5: [40.0, 41.0, 42.0], 2: [60.0, 61.0, 62.0], 10: [80.0, 81.0, 82.0], 30: [90.0, 91.0, 92.0]}
    ahead = {share: [score + 5 + 0.1 * seed for seed, score in enumerate(mlp[share])] for share in (0.5, 2, 10)}
    write(tmp_path, LABELS, "isolet", "mlp", mlp, train_nodes=27)
    write(tmp_path, LABELS, "isolet", "s2gnn", {**ahead, 30: [91.0, 90.0, 92.5]})
    write(tmp_path, LABELS, "isolet", "label-spreading", {0.5: [30.0, 32.0, 30.0], 2: [50.0, 52.0, 50.0]})
    write(tmp_path, LABELS, "har", "mlp", mlp)
    write(tmp_path, LABELS, "har", "s2gnn", {30: [91.0, 90.0, 92.5]})
    text = markdown("label-efficiency", tmp_path)
    assert (
        "The largest share of labelled nodes at which S2-GNN leads the MLP (paired t-test, p < 0.05): "
        "har none, isolet 10 % (ahead at 3 of 4 shares)." in text
    )
    assert "label spreading leads the MLP (paired t-test, p < 0.05): har not run, isolet none." in text
    assert "Every class has at least one label, so that more nodes have one: isolet 27 at 0.5 %." in text


def test_the_numbers_as_csv_and_json(tmp_path):
    write(tmp_path, REACH, "isolet", "s2gnn", {1: [80.0, 81.0, 85.0], 2: [82.0, 83.0, 84.0]})
    result = stored_sweep("reach", tmp_path)
    rows = list(csv.DictReader(sweep_csv(result).decode().splitlines()))
    assert list(rows[0]) == [
        "data", "model", "protocol", "value", "hops", "mean", "deviation", "half_width", "seeds", "budget",
    ]  # fmt: skip
    assert [(row["data"], row["protocol"], row["value"], row["hops"]) for row in rows] == [
        ("isolet", "released/fair", "1", "2"),
        ("isolet", "released/fair", "2", "2"),
    ]
    assert float(rows[0]["mean"]) == pytest.approx(82.0)
    assert float(rows[0]["deviation"]) == pytest.approx(np.std([80, 81, 85], ddof=1))
    content = json.loads(json.dumps(sweep_json(result), allow_nan=False))
    assert content["finding"] == REACH.conclude(result)
    assert sorted(content["points"][1]["accuracies"].values()) == pytest.approx([82.0, 83.0, 84.0])


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_every_format_shows_the_points(tmp_path, form):
    write(tmp_path, LABELS, "har", "s2gnn", {0.5: [61.25], 1: [72.5]})
    assert "61.25" in render(sweep_layout(stored_sweep("label-efficiency", tmp_path)), form)
