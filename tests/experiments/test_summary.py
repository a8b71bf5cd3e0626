import json

import pytest

from s2gnn.experiments import Records, make_experiment
from s2gnn.experiments.summary import HEADER, runs_of_experiments, summary_json, summary_row, summary_table
from s2gnn.render import render
from tests.experiments.made_records import append


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "runs.jsonl"
    append(path, make_experiment("cancer-b", "s2gnn", changes={"epsilon": 0.5}), [90.0, 92.0], seconds=2.0)
    append(path, make_experiment("digits", "mlp", "fair"), [80.0], seconds=2.0)
    return path


def markdown(path):
    return render(summary_table(path), "markdown")


def test_one_row_for_each_experiment_next_to_the_papers_number(records):
    first, second = runs_of_experiments(Records(records))
    assert (len(first), first.mean) == (2, pytest.approx(91))
    assert dict(zip(HEADER, summary_row(first), strict=True))["difference"] == "-2.39"
    assert summary_row(second)[4:] == ("–", "80.00", "–", "–", "1", "2.0")
    text = markdown(records)
    assert "| Cancer-B | k-NN, k = 30 | S2-GNN | released | epsilon=0.5 | 91.00 ± 1.00 | 93.39 ± 0.41 |" in text
    assert "`, commit abc; each run 500 epochs on 1 thread(s)" in text
    assert "No records yet" in markdown(records.parent / "none.jsonl")


def test_a_share_of_labels_and_a_decoder_are_changes_and_links_are_not_in_the_paper(records):
    append(records, make_experiment("digits", "label-spreading", share=0.05), [70.0])
    append(records, make_experiment("cora", "gcn", "fair", graph="given", decoder="dot"), [1.0], test_roc_auc=0.9)
    few, links = (summary_json(runs.experiment, runs) for runs in runs_of_experiments(Records(records))[-2:])
    assert (few["changed"], links["changed"]) == ({"share": 0.05}, {"decoder": "dot"})
    score = links["score"]["mean"]
    assert (links["metric"], score, links["published"]) == ("test_roc_auc", pytest.approx(0.9), None)


def test_folds_are_shown_as_folds_with_their_deviation(tmp_path):
    path = tmp_path / "folds.jsonl"
    append(path, make_experiment("mutag", "gcn", "ten-fold"), [70.0, 90.0], seconds=2.0)
    (found,) = runs_of_experiments(Records(path))
    assert summary_row(found)[5:] == ("80.00 ± 10.00", "–", "–", "2 folds", "2.0")
    assert summary_json(found.experiment, found)["deviation"] == pytest.approx(0.1)


def test_models_that_were_still_improving_are_named(tmp_path):
    path = tmp_path / "runs.jsonl"
    append(path, make_experiment("cancer-b", "gcn", "fair-converged", seeds=2), [90.0] * 2, epoch=2999)
    text = markdown(path)
    assert "Still improving at the last epoch in most runs" in text
    assert ": GCN (Cancer-B, fair-converged)." in text
    assert "each run at most 3000 epochs on 1 thread(s)." in text


def test_the_numbers_for_programs(records):
    experiment = make_experiment("cancer-b", "s2gnn", changes={"epsilon": 0.5})
    runs, _ = runs_of_experiments(Records(records))
    content = json.loads(json.dumps(summary_json(runs.experiment, runs), allow_nan=False))
    expected = {
        "data": "cancer-b", "graph": "knn, k = 30", "model": "s2gnn", "protocol": "released",
        "changed": {"epsilon": 0.5}, "metric": "test_accuracy", "deviation": None, "seeds": 2, "seconds": 2.0,
        "commits": ["abc"], "budgets": [{"name": "quick", "epochs": 500, "threads": 1}], "patience": None,
        "unfinished": False, "published": [93.39, 0.41], "key": experiment.key, "experiment": experiment.describe(),
    }  # fmt: skip
    assert content.pop("score") == {"mean": pytest.approx(0.91), "half_width": pytest.approx(0.01), "n": 2}
    assert content == expected
