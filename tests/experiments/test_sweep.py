import csv
import json

import numpy as np
import pytest
import torch

from s2gnn import Graph, InputError
from s2gnn.experiments import BUDGETS, PUBLISHED
from s2gnn.experiments.protocols import FAIR, RELEASED
from s2gnn.experiments.registry import find_study, studies
from s2gnn.experiments.study import ALL, Selection
from s2gnn.experiments.sweep import SweepStudy
from s2gnn.experiments.table import load_table
from s2gnn.render import render
from tests.experiments.made_records import append

QUICK, SMOKE = BUDGETS["quick"], BUDGETS["smoke"]
ALPHA = find_study("alpha")
SWEEPS = [name for name, study in studies().items() if isinstance(study, SweepStudy)]


def experiment(sweep, data, model, value, budget=QUICK, seeds=None):
    """What is run at a point of the fair line of `model`."""
    cell = next(c for c in sweep.cells if (c.data, c.name, c.swept) == (data, model, value))
    return sweep.experiment(cell, sweep.line(model).protocol, budget, seeds)


def write(folder, name, data, model, accuracies, budget="quick", file=None, **metrics):
    """Records of accuracies in % by swept value, one for each seed, of the fair line of `model`."""
    for value, scores in accuracies.items():
        made = experiment(find_study(name), data, model, value, BUDGETS[budget], len(scores))
        append(folder / f"{file or name}.jsonl", made, scores, budget, **metrics)


def panels(folder, name="alpha", selection=ALL):
    return find_study(name).result(folder, selection).panels


def markdown(folder, name):
    return render(find_study(name).table(folder), "markdown")


def experiments(name, data=None, **selected):
    made = find_study(name).experiments(Selection(data, **selected), QUICK)
    return list({each.key: each for each in made}.values())


def test_epsilon_is_swept_as_in_figure_6():
    made = experiments("epsilon")
    assert len(made) == 5 * 21
    for data, published in PUBLISHED.items():
        found = [experiment for experiment in made if experiment.data == data]
        assert [round(10 * each.hyperparameters.model["epsilon"]) for each in found] == list(range(21))
        assert all(each.hyperparameters.with_values({"epsilon": 1.5}) == published for each in found)
        assert {(each.graph, each.model, len(each.seeds)) for each in found} == {("knn", "s2gnn", 3)}


def test_what_the_swept_value_is_to_each_model():
    assert [each.hyperparameters.model["alpha"] for each in experiments("alpha")] == [1, 2, 3, 4, 5, 6] * 5
    found = {(each.model, each.protocol.name, each.k) for each in experiments("neighbours", ["har"])}
    both = {("gcn", protocol, k) for protocol in ("released", "fair") for k in (10, 20, 30, 40)}
    mlp = {("mlp", protocol, 40) for protocol in ("released", "fair")}  # a level line
    assert found == {*(("s2gnn", "released", k) for k in (10, 20, 30, 40)), *both, *mlp}
    orders = {}
    for each in experiments("reach", ["isolet"], protocol="fair"):
        chosen = each.hyperparameters.model
        orders.setdefault(each.model, []).append(chosen.get("alpha", chosen.get("powers", chosen.get("K"))))
    assert list(orders) == ["s2gnn", "regular-sobolev", "sign", "cheby"]
    assert all(found == [1, 2, 3, 4, 5, 6] for found in orders.values())
    shares = experiments("label-efficiency", ["isolet"])
    assert [each.share for each in shares] == [0.005, 0.01, 0.02, 0.05, None, 0.2, 0.3] * 4
    assert {each.protocol.head for each in shares if each.model in ("gcn", "mlp")} == {"plain"}


def test_a_learned_epsilon_starts_at_four_values_next_to_seven_fixed_ones():
    made = experiments("learned-epsilon")
    assert len(made) == 4 * (7 + 4)
    found = [each.hyperparameters.model for each in made if each.data == "isolet"]
    assert [model["epsilon"] for model in found] == [0.5, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0, *["learn"] * 4]
    assert [model.get("initial_epsilon") for model in found] == [None] * 7 + [0.5, 1.0, 1.5, 2.0]
    figure = {each.key for each in experiments("epsilon")}
    assert all(each.key in figure for each in made if each.hyperparameters.model["epsilon"] != "learn")


def test_a_model_without_a_head_is_one_line_and_the_cell_of_the_table():
    labels = {name: [line.label for line in find_study(name).lines] for name in SWEEPS}
    assert labels["epsilon"] == labels["alpha"] == ["S2-GNN"]
    assert labels["neighbours"] == ["S2-GNN", "GCN, released", "GCN, fair", "MLP, released", "MLP, fair"]
    assert labels["reach"] == ["S2-GNN", "matrix powers", "SIGN", "Cheby, released", "Cheby, fair"]
    assert labels["label-efficiency"] == ["S2-GNN", "GCN", "MLP", "label spreading"]
    assert labels["learned-epsilon"] == ["ε fixed", "ε learned from this initial value"]
    table = load_table("table2-knn")
    (cell,) = table.select(Selection(["har"], ["s2gnn"])).cells
    theirs = table.experiment(cell, table.protocols[1], QUICK)
    for name, value in (("epsilon", 1.5), ("alpha", 6), ("neighbours", 40), ("label-efficiency", 10)):
        assert experiment(find_study(name), "har", "s2gnn", value) == theirs
    sweep = find_study("neighbours")
    assert (sweep.line("gcn").protocol, sweep.line("gcn", RELEASED).protocol) == (FAIR, RELEASED)
    assert sweep.select(Selection(models=["mlp"])).line("gcn") is None


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection(["cora"]), "reach has no data set 'cora': choose from cancer-b, cancer-m"),
        (Selection(models=["gat"]), "reach has no model 'gat': choose from s2gnn, regular-sobolev"),
        (Selection(protocol="strict"), "reach has no protocol 'strict': choose from released, fair"),
    ],
)
def test_what_a_sweep_does_not_have_is_named(selection, message):
    with pytest.raises(InputError, match=message):
        find_study("reach").select(selection)


def test_points_are_runs_and_a_curve_has_their_means(tmp_path):
    write(tmp_path, "alpha", "har", "s2gnn", {1: [90.0, 92.0, 94.0], 6: [95.0, 94.0, 96.0]})
    (panel,) = panels(tmp_path)
    (line,) = ALPHA.lines
    assert panel.points[line, 1].deviation() == pytest.approx(np.std([90, 92, 94], ddof=1))
    assert panel.curve(line) == {1: pytest.approx(92.0), 6: pytest.approx(95.0)}
    assert panel.runs(line, 3).mean is None


def test_a_curve_has_one_budget_and_the_seeds_that_most_of_its_points_have(tmp_path):
    write(tmp_path, "alpha", "har", "s2gnn", {order: [90.0, 91.0, 92.0] for order in (1, 2, 3, 4, 5)})
    write(tmp_path, "alpha", "har", "s2gnn", {6: [90.0, 91.0, 92.0, *[99.0] * 20]}, file="elsewhere")
    write(tmp_path, "alpha", "har", "s2gnn", {1: [80.0] * 9, 6: [80.0] * 9}, budget="long", file="elsewhere")
    (panel,) = panels(tmp_path)
    assert panel.budget.name == "quick"
    assert set(map(len, panel.points.values())) == {3}
    assert panel.curve(ALPHA.lines[0])[6] == pytest.approx(91.0)
    write(tmp_path, "alpha", "har", "s2gnn", {order: [80.0] * 9 for order in (2, 3, 4, 5)}, budget="long")
    assert panels(tmp_path)[0].budget.name == "long"


def test_one_value_is_no_curve_and_smoke_is_shown_only_on_request(tmp_path):
    write(tmp_path, "alpha", "har", "s2gnn", {6: [90.0]})
    write(tmp_path, "neighbours", "har", "mlp", {10: [90.0]})
    write(tmp_path, "alpha", "isolet", "s2gnn", {1: [90.0], 2: [91.0]}, budget="smoke")
    assert panels(tmp_path) == panels(tmp_path, "neighbours") == ()
    assert [panel.data for panel in panels(tmp_path, selection=Selection(budgets=[SMOKE]))] == ["isolet"]


def test_runs_of_other_studies_alone_are_no_record_of_a_sweep(tmp_path):
    write(tmp_path, "alpha", "har", "s2gnn", {1: [90.0], 2: [91.0]}, file="elsewhere")
    assert panels(tmp_path) == ()
    write(tmp_path, "alpha", "har", "s2gnn", {3: [92.0]})
    assert panels(tmp_path)[0].coverage == (3, 3)


@pytest.mark.parametrize("name", SWEEPS)
def test_without_records_a_sweep_says_how_to_make_them(tmp_path, name):
    assert f"No records yet: s2gnn study run {name}" in markdown(tmp_path, name)
    assert find_study(name).json(tmp_path)["points"] == []


def test_one_line_has_a_column_for_each_data_set(tmp_path):
    write(tmp_path, "epsilon", "cancer-m", "s2gnn", {0: [60.0, 62.0], 1.5: [68.0, 70.0]})
    write(tmp_path, "epsilon", "har", "s2gnn", {0: [93.0, 94.0], 1.5: [93.5, 94.5], 2: [93.0, 93.0]})
    text = markdown(tmp_path, "epsilon")
    for row in (
        "| ε | Cancer-M | HAR |",
        "| 0 | 61.00 ± 1.41 | 93.50 ± 0.71 |",
        "| 1.5 | **69.00 ± 1.41** | **94.00 ± 0.71** |",
        "| 2 | – | 93.00 ± 0.00 |",
        "relatively important effect on Cancer-M",
        "S2-GNN, with searched hyperparameters, at Cancer-M 68.48, HAR 93.92.",
        "10 runs, 0.1 hours of training: s2gnn study run epsilon --budget quick (2 seeds). Commit abc.",
    ):
        assert row in text


def test_several_lines_have_a_block_for_each_data_set_and_their_hops(tmp_path):
    for model, shift in (("s2gnn", 2.0), ("regular-sobolev", 0.0), ("cheby", 1.0)):
        scores = {order: [80.0 + shift, 81.5 + shift, 82.2 + shift] for order in (1, 2)}
        write(tmp_path, "reach", "cancer-m", model, scores)
    text = markdown(tmp_path, "reach")
    assert "**Accuracy on Cancer-M (%), quick, 3 seeds**" in text
    # three layers of S2-GNN, two of Cheby
    assert "| 2 | **83.23 ± 1.12 [3]** | 81.23 ± 1.12 [6] | – | – | 82.23 ± 1.12 [2] |" in text


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_every_format_shows_the_points(tmp_path, form):
    write(tmp_path, "label-efficiency", "har", "s2gnn", {0.5: [61.25], 1: [72.5]})
    assert "61.25" in render(find_study("label-efficiency").table(tmp_path), form)


def test_the_numbers_as_csv_and_json_and_the_pictures(tmp_path):
    study = find_study("reach")
    assert study.draw(tmp_path, SMOKE) == ()
    assert list(tmp_path.iterdir()) == []
    write(tmp_path, "reach", "isolet", "s2gnn", {1: [50.0], 2: [51.0]}, budget="smoke")
    assert study.draw(tmp_path, SMOKE) == ("csv", "png", "svg")
    svg = (tmp_path / "reach.svg").read_bytes()
    assert b"Isolet (1 seed)" in svg  # a comment before the outlines of the letters
    assert (tmp_path / "reach.png").read_bytes().startswith(b"\x89PNG")
    study.draw(tmp_path, SMOKE)
    assert (tmp_path / "reach.svg").read_bytes() == svg
    write(tmp_path, "reach", "isolet", "s2gnn", {1: [80.0, 81.0, 85.0], 2: [82.0, 83.0, 84.0]})
    study.draw(tmp_path, SMOKE)  # does not replace what is shown
    rows = list(csv.DictReader((tmp_path / "reach.csv").read_text().splitlines()))
    assert list(rows[0]) == [
        "data", "model", "protocol", "value", "hops", "mean", "deviation", "half_width", "seeds", "budget",
    ]  # fmt: skip
    assert [(row["data"], row["protocol"], row["value"], row["hops"], row["budget"]) for row in rows] == [
        ("isolet", "released/fair", "1", "2", "quick"),
        ("isolet", "released/fair", "2", "2", "quick"),
    ]
    assert float(rows[0]["mean"]) == pytest.approx(82.0)
    assert float(rows[0]["deviation"]) == pytest.approx(np.std([80, 81, 85], ddof=1))
    content = json.loads(json.dumps(study.json(tmp_path), allow_nan=False))
    assert content.keys() == {"study", "title", "paper", "axis", "values", "printed", "finding", "points"}
    assert sorted(content["points"][1]["accuracies"].values()) == pytest.approx([82.0, 83.0, 84.0])


NODES = 30


def farthest_that_matters(network, graph, x):
    """How far from node 0 of a path the inputs are that its output depends on, by differences."""
    network.eval()
    with torch.no_grad():
        reference = network(*network.prepare(x.numpy(), graph))[0]
        changed = x.unsqueeze(0).repeat(NODES, 1, 1)
        changed[torch.arange(NODES), torch.arange(NODES)] += 1.0
        outputs = [network(*network.prepare(each.numpy(), graph))[0] for each in changed]
    return max(node for node in range(NODES) if not torch.equal(outputs[node], reference))


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("model", find_study("reach").models)
def test_hops_are_how_far_a_network_sees(tmp_path, model, order):
    graph = Graph.from_edge_list([(node, node + 1) for node in range(NODES - 1)])
    network = experiment(find_study("reach"), "cancer-m", model, order).new_network(6, 24).double()
    write(tmp_path, "reach", "cancer-m", model, {order: [90.0], 5: [90.0]})
    shown = find_study("reach").json(tmp_path)["points"][0]["hops"]
    assert farthest_that_matters(network, graph, torch.randn(NODES, 6, dtype=torch.float64)) == shown
