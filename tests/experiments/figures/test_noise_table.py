from s2gnn.experiments.figures.noise_figure import draw_robustness
from s2gnn.experiments.figures.noise_table import tabulate_robustness
from s2gnn.render import render
from tests.experiments.figures.noise_rows import noise_content, noise_row, published_row

CONTENT = noise_content(
    noise_row("s2gnn", 0.01),
    published_row([2.0, 1.0, 1.0], [3.0, 0.0, 1.0], [6.0, 1.0, 3.0], [0.7, 0.85, 0.8]),
    noise_row("gcn", 0.05, clean=0.8),
    noise_row("gat", 0.02),
    noise_row("mlp", 0.0, clean=0.95),
    noise_row("gcn", 0.15, data="har"),
)


def test_a_block_for_each_kind_of_noise_and_four_on_s2gnn():
    text = render(tabulate_robustness(CONTENT), "markdown")
    headings = [line.strip("*") for line in text.splitlines() if line.startswith("**")]
    assert headings == [
        "Accuracy without noise (%)",
        "Points lost: weights at 5 dB",
        "Points lost: 50 % dropped",
        "Points lost: 50 % added",
        "S2-GNN, published: share of the identity branch (%)",
        "S2-GNN, published: mean power ρ of the other branches",
        "S2-GNN, published: accuracy on the noisy graph (%)",
        "S2-GNN, published: points lost without a branch",
    ]
    assert "| MLP | 95.00 ± 0.00 | – | – |" in text  # the best, but without a graph it is not ranked
    lost = text.partition("Points lost: 50 % added")[2]
    assert "| S2-GNN | **1.00 ± 0.00** | – | – |" in lost
    assert "| S2-GNN, published | 2.00 ± 0.00 | – | – |" in lost
    assert "| GCN | 5.00 ± 0.00 | 15.00 ± 0.00 | 10.00 |" in lost
    assert "| GAT | *2.00 ± 0.00* | – | – |" in lost
    assert "| trained with 50 % added | 60.0 | – | – |" in lost
    assert "| trained with 10 % added | 89.00 | – | – |" in lost
    assert "| 50 % added | 2.00 | – | – |" in lost
    assert "| most important power, no noise | 10.00 | – | – |" in lost
    assert "18 of 24 cells are not measured yet." in text
    assert "these hyperparameters: search of budget standard on Cancer-B: S2-GNN, " in text
    assert "; published on Cancer-B: S2-GNN published" in text


def test_a_model_that_ignores_the_graph_is_not_ranked_and_zero_has_no_sign():
    rows = [noise_row(model, lost) for model, lost in (("s2gnn", 0.01), ("gcn", 0.03), ("gat", 0.02), ("cheby", 0.0))]
    rows[-1]["clean"] = [0.9 - 1e-9] * 2
    lost = render(tabulate_robustness(noise_content(*rows)), "markdown").partition("Points lost: 50 % added")[2]
    assert "| Cheby | 0.00 ± 0.00 | 0.00 |" in lost
    assert "| S2-GNN | **1.00 ± 0.00** | 1.00 |" in lost
    assert "| GAT | *2.00 ± 0.00* | 2.00 |" in lost


def test_without_published_hyperparameters_there_are_no_branches():
    table = tabulate_robustness(noise_content(noise_row("gcn")))
    assert len(table.blocks) == 4
    assert len(draw_robustness(noise_content(noise_row("gcn"))).axes) == 3


def test_the_figure_shows_every_model_and_stacks_shares_to_a_hundred():
    *losses, branches = draw_robustness(CONTENT).axes
    assert [axes.get_title() for axes in losses] == [
        "noise on weights, 5 dB",
        "50 % of edges dropped",
        "50 % spurious edges",
    ]
    assert [label.get_text() for label in losses[0].get_yticklabels()] == [
        "S2-GNN", "S2-GNN, published", "GCN", "GAT", "MLP",
    ]  # fmt: skip
    ends = [bar.get_x() + bar.get_width() for bar in branches.patches]
    assert len(ends) == 3 * 3  # three states, three branches
    assert [round(end) for end in ends[2::3]] == [100, 100, 100]
