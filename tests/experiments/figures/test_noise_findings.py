import numpy as np
import pytest

from s2gnn.analysis import EdgeNoise
from s2gnn.experiments.figures.noise_findings import (
    ADDED,
    contribution_shares,
    findings,
    mean_lost,
    mean_power,
    measured_together,
    points_lost,
    points_lost_without,
    strongest,
)
from tests.experiments.figures.noise_rows import noise_content, noise_row, published_row

PUBLISHED = published_row([2.0, 1.0, 1.0], [3.0, 0.0, 1.0], [6.0, 1.0, 3.0], [0.7, 0.85, 0.8])


def test_the_strongest_noise_of_each_kind():
    noises = strongest(noise_content(noise_row("gcn")))
    assert noises == [EdgeNoise("weights", 5.0), EdgeNoise("dropped", 0.5), ADDED]
    np.testing.assert_allclose(points_lost(noise_row("gcn", 0.02), ADDED), [2, 2])
    np.testing.assert_allclose(points_lost(noise_row("gcn", 0.02), EdgeNoise("added", 0.1)), [0.2, 0.2])


def test_models_are_compared_on_the_data_sets_of_s2gnn():
    content = noise_content(
        noise_row("s2gnn", 0.01),
        noise_row("gcn", 0.05),
        noise_row("gat", 0.02),
        noise_row("mlp", 0.0),
        PUBLISHED,
        noise_row("s2gnn", 0.03, data="har"),
        noise_row("gcn", 0.15, data="har"),
        noise_row("mlp", 0.0, data="har"),
        noise_row("gcn", 0.9, data="isolet"),
    )
    assert measured_together(content) == (["cancer-b", "har"], ["s2gnn", "gcn", "mlp"])
    assert mean_lost(content, ADDED) == pytest.approx({"s2gnn": 2.0, "gcn": 10.0})
    assert list(mean_lost(content, ADDED)) == ["s2gnn", "gcn"]


def test_shares_and_powers_of_the_branches():
    np.testing.assert_allclose(contribution_shares(PUBLISHED, None), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(contribution_shares(PUBLISHED, ADDED), [0.75, 0, 0.25])
    np.testing.assert_allclose(contribution_shares(PUBLISHED, ADDED, trained=True), [0.6, 0.1, 0.3])
    assert mean_power(np.array([0.6, 0.1, 0.3])) == pytest.approx(1.75)
    np.testing.assert_allclose(points_lost_without(PUBLISHED, None), [20, 5, 10])
    np.testing.assert_allclose(points_lost_without(PUBLISHED, ADDED), [18, 3, 8])


def test_sentences_follow_the_numbers():
    content = noise_content(
        noise_row("s2gnn", 0.01),
        PUBLISHED,
        noise_row("gcn", 0.05, clean=0.8),
        noise_row("gat", 0.02),
        noise_row("mlp", 0.0, clean=0.875),
    )
    *losses, better, contributions, ablations = findings(content)
    assert len(losses) == 3
    assert losses[2] == (
        "With noise on the edges (50 % added) S2-GNN loses 1.00 points on average over 1 data set, rank 1 of 3 models "
        "that use the graph. Of the others, GAT loses the least (2.00) and GCN the most (5.00)."
    )
    assert better == (
        "Under the strongest noises the mean accuracy of S2-GNN is higher than that of the MLP, which sees no graph, "
        "in 3 of 3 cases, significantly in 3 (paired t-tests, p < 0.05 after Holm's correction); of the other models "
        "with the same data sets, GAT in 3, the most."
    )
    assert contributions == (
        "With published hyperparameters, the branch of S2-GNN that ignores the graph has this share of what the "
        "branches contribute, mean over 1 data set: 50 % without noise, 75 % with 50 % added, 60 % after training on "
        "such a graph. The mean power ρ of the other branches is 1.50 without noise, 2.00 with 50 % added, 1.75 after "
        "training on such a graph."
    )
    assert ablations == (
        "Removed from all layers of these networks, without noise the identity branch costs 20.0 points and the most "
        "important power 10.0; with 50 % added the identity branch costs 18.0 points and the most important power 8.0."
    )


def test_a_configuration_that_ignores_the_graph_is_named_and_not_compared():
    rows = [noise_row("s2gnn"), noise_row("gcn", 0.05), noise_row("gat", 0.02), noise_row("cheby", 0.0)]
    assert list(mean_lost(noise_content(*rows), ADDED)) == ["s2gnn", "gat", "gcn"]
    *_, named = findings(noise_content(*rows))
    assert named == "With their hyperparameters these ignore the graph and lose nothing: Cheby on Cancer-B."
    used = [noise_row("s2gnn", data="har"), noise_row("cheby", 0.1, data="har")]
    assert mean_lost(noise_content(*rows, *used), ADDED)["cheby"] == pytest.approx(5.0)  # the mean over both


def test_nothing_is_said_about_what_is_not_measured():
    assert list(findings(noise_content(noise_row("gcn")))) == []
    assert list(findings(noise_content(noise_row("s2gnn"), noise_row("gcn")))) == []
    (alone,) = findings(noise_content(noise_row("s2gnn"), noise_row("mlp", 0.0, clean=0.95)))
    assert "in 0 of 3 cases, significantly in 0 (" in alone
    rows = [noise_row("s2gnn"), noise_row("gcn"), noise_row("mlp", 0.0, clean=0.95)]
    (none,) = findings(noise_content(*rows))
    assert none.endswith("of the other models with the same data sets, none is significantly ahead in any.")


def test_a_higher_mean_is_not_yet_significant():
    ours = {**noise_row("s2gnn"), "clean": [0.9, 0.8]}
    ours["noises"] = [{**noise, "accuracies": [[0.9] * 3, [0.8] * 3]} for noise in ours["noises"]]
    (found,) = findings(noise_content(ours, noise_row("mlp", 0.0, clean=0.82)))
    assert "in 3 of 3 cases, significantly in 0 (" in found
