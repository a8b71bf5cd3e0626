import csv
import json

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.analysis import branch_weights
from s2gnn.experiments.figures import branches
from s2gnn.experiments.figures.branches import STUDY, summarize
from s2gnn.render import render


def row(data, fusion, accuracies, weights):
    return {"data": data, "fusion": fusion, "seeds": [1, 2], "accuracies": accuracies, "weights": weights}


# Two data sets, two seeds; layers of three branches, and of two.
ROWS = [
    row("cancer-b", "mlp", [0.9, 0.8], [[[1, 1, 2], [3, 1, 0]], [[1, 1, 2], [1, 1, 2]]]),
    row("20news", "linear", [0.7, 0.7], [[[1, 3]], [[1, 3]]]),
]
CONTENT = {"epochs": 5, "rows": ROWS}


def test_the_summary_counts():
    # Mean shares: (25, 25, 50), (50, 25, 25), (25, 75) %; of an equal share the identity has 0.75, 1.5 and 0.5.
    assert summarize(ROWS) == (
        "In 3 layers the identity branch, which ignores the graph, has 25 to 50 % of the weight, on average 0.92 times "
        "an equal share; it is the heaviest branch in 1 of them, and the highest order in 2. The heaviest Hadamard "
        "power is ρ = 1 in 2, ρ = 2 in 1."
    )


def test_shares_and_weights_are_shown_by_layer():
    text = render(STUDY.tabulate(CONTENT), "markdown")
    assert "| Cancer-B, mlp | 2 | **50.0 (25.0 to 75.0)** | 25.0 (25.0 to 25.0) | 25.0 (0.0 to 50.0) |" in text
    assert "| 20News, linear | 1 | 25.0 (25.0 to 25.0) | **75.0 (75.0 to 75.0)** | – |" in text
    assert "| 20News, linear | 1 | 1.000 (1.000 to 1.000) | **3.000 (3.000 to 3.000)** | – |" in text
    assert "5 epochs, 2 seeds; test accuracy Cancer-B 85.0 %, 20News 70.0 %." in text


def test_the_picture_has_a_panel_for_each_data_set_and_a_legend():
    figure = STUDY.draw(CONTENT)
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert titles == ["Cancer-B, MLP fusion", "20News, linear fusion"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["layer 1", "layer 2", "equal shares"]
    first, *_ = figure.axes[0].get_lines()
    np.testing.assert_allclose(first.get_ydata(), [0.75, 0.75, 1.5])  # shares of 25, 25 and 50 % in three branches


def test_the_study_trains_weighs_and_draws(tmp_path, monkeypatch, data_folder):
    monkeypatch.setattr(branches, "SEEDS", 2)
    monkeypatch.setattr(branches, "EPOCHS", 2)
    weighed = []
    monkeypatch.setattr(branches, "branch_weights", lambda model: weighed.append(model) or branch_weights(model))
    STUDY.run(tmp_path, "s2gnn study run branches", ("cancer-b",))
    (row,) = json.loads((tmp_path / "branches.json").read_text())["content"]["rows"]
    np.testing.assert_allclose(row["weights"], [branch_weights(model) for model in weighed])
    assert np.shape(row["weights"]) == (2, 2, 7)
    assert row["weights"][0] != row["weights"][1]
    lines = list(csv.reader((tmp_path / "branches.csv").read_text(encoding="utf-8").splitlines()))
    assert len(lines) == 1 + 2 * 2
    assert (tmp_path / "branches.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="branches has no data set 'cora': choose from cancer-b, cancer-m"):
        STUDY.run(tmp_path, "s2gnn study run branches", ("cora",))
