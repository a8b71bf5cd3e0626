import numpy as np
import pytest
from scipy import stats

from s2gnn.experiments import BUDGETS, Records, Runs, make_experiment
from s2gnn.experiments.compare import KnownRuns, Tally, commits_text, counted, lead_text, made_by, most, span, verdicts
from s2gnn.experiments.records import Record
from s2gnn.learning.metrics import bootstrap_confidence
from tests.experiments.made_records import append, made_record

EXPERIMENT = make_experiment("digits", "mlp", "fair")


def runs(*accuracies, seeds=None, **metrics):
    seeds = seeds or range(len(accuracies))
    return Runs.of(made_record(EXPERIMENT, *pair, **metrics) for pair in zip(seeds, accuracies, strict=True))


def test_runs_have_a_mean_an_interval_and_a_deviation_in_percent():
    found = runs(90.0, 92.0, 94.0, val_accuracy=0.5, epsilon=0.7)
    assert found.scores == pytest.approx({0: 90, 1: 92, 2: 94})
    assert (found.mean, len(found), found.seconds, found.commits) == (pytest.approx(92), 3, 36.0, ["abc"])
    assert found.score == bootstrap_confidence(list(found.scores.values()))
    assert found.deviation() == pytest.approx(np.std([90, 92, 94], ddof=1))
    assert (found.validation, found.values("epsilon")) == (pytest.approx(50), (0.7,) * 3)
    assert found.text() == f"92.00 ± {found.score.half_width:.2f}"
    assert found.text(folds=True) == f"92.00 ± {np.std([90, 92, 94]):.2f}"
    assert runs(90.0).text() == "90.00"
    assert runs(90.0).deviation() is None


def test_without_runs_there_is_nothing():
    none = Runs.of([])
    assert (none.score, none.mean, none.validation, none.seconds, none.text()) == (None, None, None, None, "–")
    assert runs(90.0).lead(none) is None


def test_another_metric_of_the_same_runs():
    found = runs(90.0, 92.0, test_roc_auc=0.8)
    assert (found.metric, found.mean) == ("test_roc_auc", pytest.approx(80))
    assert found.by("test_accuracy").mean == pytest.approx(91)
    assert found.by("test_f1").score is None


def test_a_lead_is_a_paired_test_on_common_seeds():
    lead = runs(95.0, 94.0, 96.0).lead(runs(90.0, 92.0, 94.0, 10.0))
    assert (lead.n, lead.mean_difference) == (3, pytest.approx(3))
    assert lead.p_t == pytest.approx(stats.ttest_rel([95, 94, 96], [90, 92, 94]).pvalue)
    assert lead_text(lead, "undecided") == f"+3.00 ({lead.low:+.2f} to {lead.high:+.2f}), undecided"
    assert lead_text(runs(91.0).lead(runs(90.0)), "undecided") == "+1.00, undecided"
    assert runs(91.0).lead(runs(90.0, seeds=[7])) is None


def test_verdicts_are_corrected_for_the_number_of_comparisons():
    base = runs(90.0, 91.0, 92.0, 93.0)
    leads = {
        "ahead": runs(95.0, 96.1, 97.0, 98.0).lead(base),
        "behind": runs(85.0, 86.1, 87.0, 88.0).lead(base),
        "level": runs(90.1, 90.9, 92.0, 93.1).lead(base),
        "undecided": runs(85.0, 96.0, 92.0, 95.0).lead(base),
    }
    assert verdicts(leads) == {name: name for name in leads}
    near = runs(91.0, 91.3, 93.2, 93.6).lead(base)  # p = 0.03: decides alone, not among four others
    assert verdicts({"alone": near}) == {"alone": "ahead"}
    assert verdicts({**leads, "near": near})["near"] == "undecided"
    tally = Tally.of({**leads, "near": near, "not run": None})
    assert (tally.where("undecided"), tally.counts) == (["undecided", "near"], "1 / 1 / 2 / 1")
    assert (tally.on(["near", "level"]).verdicts, Tally.of({}).counts) == ({"near": "undecided", "level": "level"}, "–")


@pytest.mark.parametrize(
    ("protocol", "epochs", "late"),
    [
        ("fair", [499, 490, 3], True),
        ("fair", [499, 489, 3], False),
        ("fair", [3, 3, 3], False),
        ("released-last", [499, 499, 499], False),  # the last epoch is tested, whether it is the best or not
    ],
)
def test_runs_are_still_improving_if_most_best_epochs_are_among_the_last(protocol, epochs, late):
    experiment = make_experiment("digits", "mlp", protocol)
    found = Runs.of(made_record(experiment, seed, epoch=epoch) for seed, epoch in enumerate(epochs))
    assert found.still_improving == late


def test_runs_are_found_by_experiment_and_after_a_search_by_everything_but_hyperparameters(tmp_path):
    path = tmp_path / "r.jsonl"
    searched = make_experiment("digits", "mlp", "fair", changes={"lr": 0.0123})
    append(path, EXPERIMENT, [80.0])
    append(path, searched, [90.0, 91.0], budget="full")
    append(path, make_experiment("digits", "mlp", "fair", changes={"lr": 0.02}), [99.0], budget="full")
    known = KnownRuns(Records(path).read())
    assert list(known.of(EXPERIMENT).scores.values()) == pytest.approx([80])
    assert list(known.of(EXPERIMENT, BUDGETS["full"]).scores.values()) == pytest.approx([90, 91])
    assert len(known.of(make_experiment("digits", "gcn", "fair"), BUDGETS["full"])) == 0


def test_of_equal_counts_the_most_thorough_budget():
    assert most({"quick": 3, "long": 3, "full": 0}) == "long"
    assert most({"quick": 3, "long": 1}) == "quick"
    assert most({"quick": 0, "long": 0}) is None


def record(commit, hour, seed=0):
    return Record("0", seed, {}, {"test_accuracy": 1.0}, 1800.0, {}, f"2024-01-01T{hour:02d}:00:00+00:00", commit, {})


@pytest.mark.parametrize(
    ("commits", "text"),
    [
        ({1: "b"}, "commit b"),
        ({3: "a", 1: "b"}, "commits b, a"),
        ({3: "a", 1: "b", 2: None, 4: "b"}, "commits b, unknown, a"),
        ({3: "a", 1: "b", 2: "c", 9: "e+", 5: "d", 10: "b"}, "5 commits, b to e+"),
    ],
)
def test_commits_are_in_the_order_of_time_and_few_are_named(commits, text):
    assert commits_text(record(commit, hour) for hour, commit in commits.items()) == text


def test_runs_hours_commands_and_commits():
    records = [record(commit, hour, seed=hour) for hour, commit in enumerate("abcd")]
    shown = [("quick", Runs.of(records[:3])), ("quick", Runs.of(records[3:])), ("long", Runs.of([]))]
    assert made_by("table3", [*shown, shown[0]]) == (
        "4 runs, 2.0 hours of training: s2gnn study run table3 --budget quick (1 to 3 seeds). 4 commits, a to d."
    )


@pytest.mark.parametrize(
    ("values", "form", "text"),
    [([3, 1, 2], "", "1 to 3"), ([5, 5], "", "5"), ([0.501, 0.499], ".2f", "0.50"), ([0.5, 1], ".2f", "0.50 to 1.00")],
)
def test_a_span_of_numbers(values, form, text):
    assert span(values, form) == text


@pytest.mark.parametrize(("counts", "text"), [([1], "1 fold"), ([1, 10], "1 to 10 folds"), ([5, 5], "5 folds")])
def test_a_span_with_its_noun(counts, text):
    assert counted(counts, "fold") == text
