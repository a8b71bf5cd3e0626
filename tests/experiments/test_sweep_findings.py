import pytest

from s2gnn.experiments.registry import find_study
from tests.experiments.test_sweep import markdown, write


def finding(folder, name="learned-epsilon"):
    return find_study(name).json(folder)["finding"]


def test_where_epsilon_matters_most(tmp_path):
    write(tmp_path, "epsilon", "cancer-m", "s2gnn", {0: [60.0, 62.0], 1.5: [68.0, 70.0]})
    write(tmp_path, "epsilon", "har", "s2gnn", {0: [93.0, 94.0], 1.5: [93.5, 94.5], 2: [93.0, 93.0]})
    text = finding(tmp_path, "epsilon")
    assert text == (
        "The mean accuracies at the best and the worst ε differ by 8.00 points on Cancer-M (best at 1.5, worst at 0, "
        "standard deviation over seeds 1.41); 1.00 points on HAR (best at 1.5, worst at 2, standard deviation over "
        "seeds 0.47). No test compares these extremes of many means, so the differences may be noise. "
        "The difference is largest on Cancer-M, as in the paper."
    )
    assert text in markdown(tmp_path, "epsilon")


def test_a_finding_that_differs_from_the_papers_and_one_seed_without_a_finding(tmp_path):
    write(tmp_path, "epsilon", "har", "s2gnn", {0: [80.0, 80.0], 1.5: [90.0, 90.0]})
    write(tmp_path, "epsilon", "cancer-m", "s2gnn", {0: [60.0], 1.5: [80.0]})
    text = finding(tmp_path, "epsilon")
    assert "20.00 points on Cancer-M (best at 1.5, worst at 0, one seed)" in text
    assert "largest" not in text
    write(tmp_path, "epsilon", "cancer-m", "s2gnn", {0: [60.0, 60.5], 1.5: [80.0, 61.5]})
    write(tmp_path, "epsilon", "har", "s2gnn", {2: [10.0, 10.0]})
    assert "The difference is largest on HAR, in the paper on Cancer-M." in finding(tmp_path, "epsilon")


def test_changes_and_paired_tests_are_counted(tmp_path):
    write(tmp_path, "neighbours", "har", "s2gnn", {10: [90.0, 91.0, 92.0], 40: [92.0, 93.0, 94.1]})
    write(tmp_path, "neighbours", "har", "gcn", {10: [85.0, 86.1, 87.0], 40: [92.0, 93.2, 94.0]})
    write(tmp_path, "neighbours", "har", "mlp", {10: [95.0, 96.1, 97.0]})
    text = finding(tmp_path, "neighbours")
    assert (
        "From 10 to 40 the mean accuracy changes by +2.03 points (S2-GNN, 1 data set), +7.03 points (GCN, fair" in text
    )
    assert "ahead / level / undecided / behind (p < 0.05 after Holm's correction)" in text
    assert "against GCN, fair 1 / 1 / 0 / 0, against MLP, fair 0 / 0 / 0 / 2." in text
    write(tmp_path, "alpha", "har", "s2gnn", {1: [90.0, 91.0, 92.0], 6: [92.0, 93.2, 94.1]})
    write(tmp_path, "alpha", "isolet", "s2gnn", {1: [90.0, 91.0, 92.0], 2: [92.0, 93.2, 84.1]})
    assert finding(tmp_path, "alpha") == (
        "The published α against α = 1: ahead on HAR (α = 6) +2.10; undecided on Isolet (α = 2) -1.23 (points; p < "
        "0.05 after Holm's correction)."
    )


def test_the_largest_share_at_which_a_graph_leads_the_mlp(tmp_path):
    mlp = {0.5: [40.0, 41.0, 42.0], 2: [60.0, 61.0, 62.0], 10: [80.0, 81.0, 82.0], 30: [90.0, 91.0, 92.0]}
    ahead = {share: [score + 5 + 0.1 * seed for seed, score in enumerate(mlp[share])] for share in (0.5, 2, 10)}
    name = "label-efficiency"
    write(tmp_path, name, "isolet", "mlp", mlp, train_nodes=27)
    write(tmp_path, name, "isolet", "s2gnn", {**ahead, 30: [91.0, 90.0, 92.5]})
    write(tmp_path, name, "isolet", "label-spreading", {0.5: [30.0, 32.0, 30.0], 2: [50.0, 52.0, 50.0]})
    write(tmp_path, name, "har", "mlp", mlp)
    write(tmp_path, name, "har", "s2gnn", {30: [91.0, 90.0, 92.5]})
    test = "leads the MLP (p < 0.05 after Holm's correction)"
    assert finding(tmp_path, name) == (
        f"The largest share of labelled nodes at which S2-GNN {test}: HAR none, Isolet 10 % (ahead at 3 of 4 shares). "
        f"The largest share of labelled nodes at which label spreading {test}: HAR not run, Isolet none. "
        "Every class has at least one label, so more nodes have one: Isolet 27 at 0.5 %."
    )


def fixed(folder, accuracies, bad=None):
    """Seven fixed values, of which 0.8 has the best validation score."""
    for value in (0.5, 0.8, 1.0, 1.2, 1.5, 1.8, 2.0):
        validation = {"val_accuracy": 0.9 if value == 0.8 else 0.8}
        scores = {value: (bad or {}).get(value, accuracies)}
        write(folder, "learned-epsilon", "isolet", "s2gnn", scores, **validation)


def learned(folder, accuracies, others=None):
    for start in (0.5, 1.0, 1.5, 2.0):
        scores = {start: (others or {}).get(start, accuracies)}
        write(folder, "learned-epsilon", "isolet", "learned", scores, val_accuracy=0.8, epsilon=0.7)


def test_the_table_shows_where_epsilon_ends(tmp_path):
    fixed(tmp_path, [86.0, 87.0, 88.0])
    learned(tmp_path, [86.5, 87.2, 87.9])
    write(tmp_path, "learned-epsilon", "isolet", "learned", {0.5: [1.0] * 3}, epsilon=0.1)  # the first record counts
    text = markdown(tmp_path, "learned-epsilon")
    assert "| ε, or its initial value | ε fixed | ε learned from this initial value |" in text
    assert "| 0.8 | **87.00 ± 1.00** | – |" in text
    assert "| 2 | 87.00 ± 1.00 | **87.20 ± 0.70 [ε 0.70]** |" in text
    assert "in brackets the smallest and the largest learned ε" in text
    points = find_study("learned-epsilon").json(tmp_path)["points"]
    assert [row["learned_epsilon"] for row in points if row["model"] == "learned"] == pytest.approx([0.7] * 4)


def test_learning_epsilon_replaces_the_search_where_nothing_matters(tmp_path):
    fixed(tmp_path, [86.1, 86.9, 88.0], {0.8: [86.0, 87.0, 88.0]})
    learned(tmp_path, [86.4, 86.7, 88.1])
    text = finding(tmp_path)
    assert "ε = 0.8 (test 87.00 %)" in text
    assert "has +0.07 (undecided), ending at 0.70; 1 has +0.07 (undecided), ending at 0.70" in text
    assert (
        "Isolet: learning ε replaces the search, to within 1 point: no initial value is significantly behind the "
        "chosen ε, and no fixed value is. In the worst case, from 0.5, the difference is between -0.8" in text
    )


def test_learning_epsilon_replaces_the_search_where_a_fixed_value_is_bad(tmp_path):
    fixed(tmp_path, [86.0, 87.0, 88.0], {2.0: [80.0, 81.1, 82.2]})
    learned(tmp_path, [86.4, 86.7, 88.1])
    text = finding(tmp_path)
    assert "0.5 has +0.00 (level); 1 has +0.00 (level); 1.5 has +0.00 (level); 2 has -5.90 (behind)" in text
    assert "significantly behind the chosen ε, but some fixed values are. In the worst case" in text


def test_learning_epsilon_does_not_replace_the_search_where_it_stays_behind(tmp_path):
    fixed(tmp_path, [86.0, 87.0, 88.0])
    learned(tmp_path, [86.4, 86.7, 88.1], {2.0: [80.0, 81.1, 82.2]})
    assert "learning ε does not replace the search: from 2 it stays behind." in finding(tmp_path)


def test_few_noisy_seeds_do_not_show_it(tmp_path):
    fixed(tmp_path, [86.0, 87.0, 88.0])
    learned(tmp_path, [85.9, 86.8, 87.9], {1.0: [84.2, 88.0, 88.7]})  # its mean is not the lowest, its interval is
    text = finding(tmp_path)
    assert "In the worst case, from 1, the difference is between -" in text
    assert (
        "3 seeds do not show whether learning ε replaces the search: no initial value is significantly behind" in text
    )
    assert "replaces the search, to within" not in text


def test_one_seed_or_one_line_does_not_show_it(tmp_path):
    fixed(tmp_path, [86.0])
    assert "Isolet: not run." in finding(tmp_path)
    learned(tmp_path, [86.0])
    assert "one seed does not show whether learning ε replaces the search." in finding(tmp_path)
