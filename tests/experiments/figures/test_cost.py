from dataclasses import replace

import numpy as np
import pytest

from s2gnn.experiments.figures import cost
from s2gnn.experiments.figures.cost import QUANTITIES, STUDY
from s2gnn.experiments.protocols import BUDGETS
from s2gnn.nn import MODELS, make_model
from s2gnn.render import render
from s2gnn.resources import LimitError

SECONDS, BYTES = 1e-3, 2**20


def row(model, nodes, p, value, seeds=2, stopped=None):
    """A row of a network that takes `value` ms and MiB, on a prepared graph a tenth."""
    measured = [
        {
            "seed": seed,
            "edges": round(p * nodes**2 / 2) + seed,
            "new_graph_seconds": (value + 2 * seed - 1) * SECONDS,
            "prepared_seconds": value * SECONDS / 10,
            "new_graph_bytes": value * BYTES,
            "prepared_bytes": value * BYTES / 10,
        }
        for seed in range(seeds)
    ]
    return {
        "data": f"er-{nodes}",
        "nodes": nodes,
        "p": p,
        "model": model,
        "measured": measured,
        "stopped": stopped,
    }


def content(rows):
    return {
        "seeds": 2,
        "features": 16,
        "classes": 10,
        "models": {one["model"]: cost.model_sizes(one["model"]) for one in rows},
        "threads": 2,
        "kernel": "torch",
        "limits": {"seconds": 120.0, "resident": 4 * 2**30},
        "enough_seconds": 20.0,
        "patience_seconds": 1.0,
        "repetitions": 10,
        "rows": rows,
    }


ROWS = [
    *(row("s2gnn", n, p, n * p) for n in (500, 1_000) for p in (0.03, 0.06)),
    *(row("gcn", n, p, n * p / 2) for n in (500, 1_000) for p in (0.03, 0.06)),
    *(row("gat", n, p, n * p * 4) for n in (500, 1_000) for p in (0.03, 0.06)),
    *(row("sgc", n, p, n * p / 3) for n in (500, 1_000) for p in (0.03, 0.06)),
    *(row("mlp", n, p, 1.0) for n in (500, 1_000) for p in (0.03, 0.06)),
    row("regular-sobolev", 500, 0.03, 70.0, seeds=1),
    row("regular-sobolev", 500, 0.06, 0.0, seeds=0, stopped="more than 120 s"),
    *(row("regular-sobolev", 1_000, p, 0.0, seeds=0, stopped="more than 4 GiB") for p in (0.03, 0.06)),
]


def test_the_grid_and_the_features_are_the_papers():
    assert list(cost.NODES.values()) == [500, 1_000, 5_000, 10_000]
    assert cost.PROBABILITIES == (0.03, 0.04, 0.05, 0.06)
    assert (cost.FEATURES, cost.PAPER_SEEDS) == (16, 30)


@pytest.mark.parametrize("model", MODELS)
def test_every_network_has_two_layers_of_the_same_width(model):
    sizes = cost.model_sizes(model)
    assert (sizes["hidden_channels"], sizes["num_layers"]) == (32, 2)
    make_model(model, cost.FEATURES, cost.CLASSES, **sizes)
    own = {"s2gnn": {"alpha": 4}, "cheby": {"K": 2}, "sign": {"powers": 2}, "gatv2": {"heads": 3}}
    assert own.get(model, {}).items() <= sizes.items()


def test_a_table_of_ranges_over_p_with_dashes_and_their_reasons():
    layout = STUDY.tabulate(content(ROWS))
    assert layout.header == ("network", "N = 500", "N = 1,000")
    assert [block.heading for block in layout.blocks] == [f"{q.title} ({q.unit})" for q in QUANTITIES]
    texts = {line[0].text: [entry.text for entry in line[1:]] for line in layout.blocks[0].rows}
    assert texts["S2-GNN"] == ["15 – 30", "30 – 60"]
    assert texts["MLP"] == ["1", "1"]
    assert texts["matrix powers"] == ["69 (to p = 0.03)", "–"]
    prepared = {line[0].text: line[1].text for line in layout.blocks[3].rows}
    assert prepared["GAT"] == "6 – 12"
    text = render(layout, "markdown")
    assert "Not measured: more than 120 s (matrix powers at N = 500, p = 0.06)." in text
    assert "more than 4 GiB (matrix powers at N = 1,000, p = 0.03; matrix powers at N = 1,000, p = 0.06)." in text
    assert "Seeds: 1; a run takes more than 20 s (matrix powers at N = 500, p = 0.03)." in text
    assert "means over 2 seeds (the paper: 30)" in text
    assert "hidden_channels = 32, num_layers = 2, alpha = 4" in text


def test_the_sentence_compares_on_the_largest_graph_with_networks_on_graphs():
    sentence = STUDY.tabulate(content(ROWS)).notes[0]
    assert sentence.startswith(
        "S2-GNN at N = 1,000, p = 0.06 (30,000 edges), compared with the other networks on graphs."
    )
    ratios = "2 times GCN, 3 times SGC (lowest), 25 % of GAT (highest); rank 3 of 4."
    assert f"Time on a new graph: 60 ms, {ratios}" in sentence
    assert f"Peak memory on a prepared graph: 6 MiB, {ratios}" in sentence
    assert "The paper reports that S2-GNN is among the most efficient" in sentence


def test_the_picture_labels_every_curve_and_joins_graphs_of_one_size_only():
    figure = STUDY.draw(content(ROWS))
    assert len(figure.axes) == len(QUANTITIES)
    names = ["S2-GNN", "GCN", "GAT", "SGC", "MLP", "matrix powers"]
    for axes, quantity in zip(figure.axes, QUANTITIES, strict=True):
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert axes.get_title() == f"{quantity.title} ({quantity.unit})"
        curves = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
        assert list(curves) == names
        assert np.isnan(curves["GCN"]).tolist() == 2 * [False, False, True]
        assert np.isnan(curves["matrix powers"]).tolist() == [False, True]
        labels = [text for text in axes.texts if text.get_text() in names]
        assert len(labels) == len(names)
        heights = sorted(text.get_position()[1] for text in labels)
        assert min(np.diff(heights)) > 0.03  # of the height of the panel


@pytest.fixture
def small(monkeypatch):
    """Two networks on graphs of 60 nodes, measured in this process."""
    monkeypatch.setattr(cost, "NODES", {"er-60": 60})
    monkeypatch.setattr(cost, "PROBABILITIES", (0.2,))
    monkeypatch.setattr(cost, "MODELS", {"s2gnn": MODELS["s2gnn"], "gcn": MODELS["gcn"]})
    monkeypatch.setattr(cost, "in_own_process", lambda measure, *arguments, **_: measure(*arguments))
    return replace(STUDY, data=("er-60",))


def measured(study, folder, report=lambda _: None):
    study.run(folder, "s2gnn study run cost", report=report)
    return study.json(folder)["content"]


def test_networks_are_measured_on_the_same_graphs(small, tmp_path):
    said = []
    found = measured(small, tmp_path, said.append)
    assert found["seeds"] == 3
    assert said[:3] == ["er-60", *(f"N = 60, p = 0.2, seed 1 of 3: {model}" for model in ("s2gnn", "gcn"))]
    ours, theirs = found["rows"]
    assert [one["seed"] for one in ours["measured"]] == [0, 1, 2]
    assert [one["edges"] for one in ours["measured"]] == [one["edges"] for one in theirs["measured"]]
    assert (ours["data"], ours["model"], theirs["model"], ours["stopped"]) == ("er-60", "s2gnn", "gcn", None)
    assert "S2-GNN at N = 60, p = 0.2" in STUDY.tabulate(found).notes[0]


def test_what_takes_too_much_is_stopped_and_not_tried_again(small, tmp_path, monkeypatch):
    tried = []

    def exceed(measure, model, *_, limits, **__):
        tried.append(model)
        assert (limits.seconds, limits.resident) == (60, 4 * 2**30)
        raise LimitError("more than 120 s")

    monkeypatch.setattr(cost, "in_own_process", exceed)
    monkeypatch.setattr(cost, "available_bytes", lambda: 8 * 2**30)
    found = measured(small, tmp_path)
    assert tried == ["s2gnn", "gcn"]
    assert [(row["measured"], row["stopped"]) for row in found["rows"]] == [([], "more than 120 s")] * 2
    assert STUDY.tabulate(found).blocks[0].rows[0][1].text == "–"


def test_a_slow_network_has_one_seed(small, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "SLOW", 0.0)
    found = measured(small, tmp_path)
    assert [len(row["measured"]) for row in found["rows"]] == [1, 1]
    assert "Seeds: 1; a run takes more than 0 s (S2-GNN at N = 60, p = 0.2; GCN" in STUDY.tabulate(found).notes[-1]


def test_a_budget_chooses_the_seeds_up_to_the_papers():
    assert [STUDY.settings(BUDGETS[name])["seeds"] for name in ("smoke", "quick", "full")] == [1, 3, 30]
