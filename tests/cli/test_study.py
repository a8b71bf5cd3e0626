import json
import sys
from contextlib import contextmanager
from itertools import chain

import pytest

from s2gnn.data import TEST_SEEDS
from s2gnn.experiments import Records, make_experiment
from s2gnn.experiments.protocols import BUDGETS
from s2gnn.experiments.registry import studies
from tests.experiments.made_records import append

pytestmark = pytest.mark.usefixtures("separate_cache")


SPREADING = ("study", "run", "--data", "digits", "--model", "label-spreading", "--protocol", "fair")


def test_an_experiment_is_printed_then_json_without_running_again(s2gnn, tmp_path):
    path = tmp_path / "new" / "runs.jsonl"
    arguments = [*SPREADING, "--records", path, "--seeds", 3, "--set", "alpha=0.9"]
    code, out, err = s2gnn(*arguments)
    assert code == 0, err
    records = Records(path).read()
    assert [record.seed for record in records] == list(TEST_SEEDS[:3])
    mean = sum(record.metrics["test_accuracy"] for record in records) / 3
    assert all(word in out for word in ("k-NN, k = 30", "label spreading", "fair", f"{100 * mean:.2f} ± "))
    assert "3 runs to train, about " in err
    code, out, err = s2gnn(*arguments, "--json")
    content = json.loads(out)
    assert len(path.read_text().splitlines()) == 3
    assert "all runs of 1 experiments are on record" in err
    assert (content["complete"], content["records"], content["metric"]) == (True, str(path), "test_accuracy")
    assert content["score"]["mean"] == pytest.approx(mean)
    assert content["experiment"]["arguments"]["alpha"] == 0.9
    assert content["command"].startswith("s2gnn study run --data digits --model label-spreading")
    assert content["key"] == records[0].key
    assert content["seeds"] == {str(record.seed): record.metrics for record in records}
    assert content["versions"]["torch"]


def test_no_time_says_how_to_resume(s2gnn, tmp_path):
    code, out, err = s2gnn(*SPREADING, "--records", tmp_path / "runs.jsonl", "--minutes", 0)
    assert (code, out) == (0, "")
    assert "0 of 50 runs finished; rerun the command to resume" in err


def test_an_interrupt_keeps_finished_seeds_and_says_how_to_resume(s2gnn, tmp_path, monkeypatch):
    @contextmanager
    def reporting():
        def report(event):
            if isinstance(event, str):
                print(event, file=sys.stderr)
            elif event.finished == 2:
                raise KeyboardInterrupt

        yield report

    monkeypatch.setattr("s2gnn.cli.study.reporting", reporting)
    path = tmp_path / "runs.jsonl"
    code, out, err = s2gnn(*SPREADING, "--records", path)
    assert (code, out) == (130, "")
    assert err.endswith("2 of 50 runs finished; rerun the command to resume\ns2gnn: interrupted\n")
    assert "Traceback" not in err
    assert len(Records(path).read()) == 2


@pytest.mark.parametrize("columns", [80, 100])
def test_the_list_fits_the_terminal_and_has_one_line_for_each_study_at_100_columns(s2gnn, columns):
    code, out, _ = s2gnn("study", "list", columns=columns)
    assert code == 0
    assert all(len(line) <= columns for line in out.splitlines())
    found = [line.split()[0] for line in out.splitlines() if line[:1].isalpha()]
    assert {*studies(), *BUDGETS} <= set(found)
    if columns == 100:
        assert not [line for line in out.splitlines() if line.startswith("  ")]


def test_a_failing_run_is_one_sentence_with_its_seed(s2gnn, tmp_path):
    arguments = ("--data", "digits", "--model", "mlp", "--records", tmp_path / "runs.jsonl", "--set", "lr=1e30")
    code, _, err = s2gnn("study", "run", *arguments)
    assert code == 1
    assert f"failed: digits knn mlp released, seed {TEST_SEEDS[0]}: NonFiniteLossError: the " in err
    assert "Traceback" not in err


def test_folds_are_shown_with_their_deviation(s2gnn, tmp_path):
    path = tmp_path / "folds.jsonl"
    append(path, make_experiment("mutag", "gcn", "ten-fold"), [70.0, 90.0])
    arguments = ("--data", "mutag", "--model", "gcn", "--protocol", "ten-fold", "--seeds", "2", "--records", path)
    code, out, err = s2gnn("study", "run", *arguments)  # both are on record
    assert code == 0, err
    assert "80.00 ± 10.00" in out
    assert "2 folds" in out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--data", "mnist"], "there is no data set 'mnist'"),
        (["--model", "mpl"], "there is no model 'mpl'"),
        (["--records", "runs.csv"], "runs.csv does not end in .jsonl"),
        (["--set", "lr"], "--set lr is not of the form NAME=VALUE, such as epsilon=1.5"),
        (["--set", "lr=fast"], "lr is 'fast', but it must be a finite number"),
        (["--set", "alpha=3"], "mlp has no hyperparameter 'alpha'"),
        (["--graph", "grid"], "Invalid value for '--graph'"),
        (["--jobs", "0"], "Invalid value for '--jobs'"),
        (["--seeds", "51"], "Invalid value for '--seeds'"),
        (["--graph", "given"], "digits has no given graph"),
    ],
)
def test_an_unusable_experiment_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, changes, message):
    arguments = {"--data": "digits", "--model": "mlp", "--records": tmp_path / "runs.jsonl"}
    code, _, err = s2gnn("study", "run", *chain(*{**arguments, **dict([changes])}.items()))
    assert code == 2
    assert message in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("data_folder")
def test_a_table_runs_and_is_shown(s2gnn, tmp_path):
    chosen = ("--models", "mlp,sign", "--data", "cancer-b", "--budget", "smoke", "--results", tmp_path)
    code, out, err = s2gnn("study", "run", "table2-knn", *chosen)
    assert code == 0, err
    assert "budget smoke: 3 runs to train, about" in err
    row = next(line for line in out.splitlines() if "SIGN" in line)
    assert row.count("smoke") == 1
    assert "89.67 ± 0.39" in row
    assert "s2gnn" not in out.replace("s2gnn study", "")
    records = Records(tmp_path / "table2-knn.jsonl").read()
    assert [record.experiment["model"] for record in records] == ["mlp", "mlp", "sign"]
    code, _, err = s2gnn("study", "run", "table2-knn", *chosen)
    assert (code, "budget smoke: all runs of 3 experiments are on record" in err) == (0, True)
    code, out, _ = s2gnn("study", "show", "table2-knn", "--results", tmp_path, "--format", "json")
    assert json.loads(out)["study"] == "table2-knn"
    for form in ("text", "markdown", "latex", "html"):
        code, out, _ = s2gnn("study", "show", "table2-knn", "--results", tmp_path, "--format", form)
        assert (code, "93.39" in out) == (0, True)


@pytest.mark.usefixtures("data_folder")
def test_links_run_and_are_shown(s2gnn, tmp_path):
    run = ("study", "run", "links", "--data", "cora", "--models", "mlp", "--budget", "smoke", "--results", tmp_path)
    code, out, err = s2gnn(*run)
    assert code == 0, err
    assert "budget smoke: 2 runs to train" in err
    assert "2 runs, 1 s of training: s2gnn study run links --data cora --models mlp --budget smoke (1 seed)" in out
    records = Records(tmp_path / "links.jsonl").read()
    assert [record.experiment["decoder"] for record in records] == ["dot", "mlp"]
    assert all(0.4 < record.metrics["test_roc_auc"] <= 1 for record in records)
    code, out, err = s2gnn(*run, "--json")
    assert [(cell["model"], cell["decoder"]) for cell in json.loads(out)["cells"]] == [("mlp", "dot"), ("mlp", "mlp")]
    code, out, _ = s2gnn("study", "show", tmp_path / "links.jsonl", "--format", "json")
    summary = json.loads(out)[0]
    assert (summary["metric"], summary["changed"]["decoder"], summary["published"]) == ("test_roc_auc", "dot", None)


@pytest.mark.usefixtures("data_folder")
def test_a_sweep_runs_resumes_and_is_drawn(s2gnn, tmp_path):
    run = ("study", "run", "neighbours", "--data", "cancer-b", "--budget", "smoke", "--results", tmp_path)
    code, _, err = s2gnn(*run, "--models", "s2gnn")
    assert code == 0, err
    assert "budget smoke: 4 runs to train, about" in err
    code, out, err = s2gnn(*run, "--models", "s2gnn,gcn")
    assert code == 0, err
    assert "budget smoke: 8 runs to train" in err
    assert f"wrote {tmp_path / 'neighbours'} as csv, png, svg" in err.replace("\n", "")
    assert "GCN, released" in out
    (tmp_path / "neighbours.png").unlink()
    code, out, _ = s2gnn("study", "draw", "--results", tmp_path)
    assert (code, out.split()[1]) == (0, str(tmp_path / "neighbours"))
    assert (tmp_path / "neighbours.png").is_file()
    records = Records(tmp_path / "neighbours.jsonl").read()
    found = [(record.experiment["model"], record.experiment["k"]) for record in records]
    assert sorted(found) == sorted((model, k) for model in ("s2gnn", "gcn", "gcn") for k in (10, 20, 30, 40))
    code, out, err = s2gnn(*run, "--models", "gcn", "--protocol", "fair", "--json")
    assert "all runs of 4 experiments are on record" in err
    assert [point["protocol"] for point in json.loads(out)["points"]] == ["fair"] * 4


@pytest.mark.usefixtures("data_folder")
def test_the_full_budget_searches_first_where_a_study_has_a_search(s2gnn, tmp_path):
    budget = ("--budget", "full", "--results", tmp_path, "--minutes", 0)
    code, _, err = s2gnn("study", "run", "table2-knn", "--models", "sign", "--data", "cancer-b", *budget)
    assert (code, "0 of 550 runs finished; rerun the command to resume" in err) == (0, True)
    name = "graph-classification-ten-fold"
    code, out, err = s2gnn("study", "run", name, "--data", "mutag", "--models", "s2gnn", *budget)
    assert f"{name} uses the same hyperparameters in all folds: full is long here" in err
    assert (code, "budget long: 10 runs to train" in err, "s2gnn" in out) == (0, True, True)


@pytest.mark.usefixtures("data_folder")
def test_a_measured_study_is_run_and_shown(s2gnn, tmp_path):
    code, out, err = s2gnn("study", "run", "table1", "--data", "cancer-b", "--results", tmp_path)
    assert code == 0, err
    assert "25,734 " in out
    assert "19,163 " in out
    code, out, _ = s2gnn("study", "show", "table1", "--results", tmp_path, "--format", "json")
    assert [row["graph"] for row in json.loads(out)["content"]["rows"]] == ["knn", "smooth"]
    (tmp_path / "table1.json").write_text("{")
    code, _, err = s2gnn("study", "show", "table1", "--results", tmp_path)
    assert (code, "table1.json is damaged" in err) == (2, True)


def test_studies_and_budgets_are_listed_as_json(s2gnn):
    code, out, _ = s2gnn("study", "list", "--json")
    listed = json.loads(out)
    assert code == 0
    assert [study["name"] for study in listed["studies"]] == list(studies())
    assert listed["budgets"][1]["patience"] == 100
    assert "1 line × 6 values" in next(study["size"] for study in listed["studies"] if study["name"] == "alpha")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("run", "table9"), "there is no study 'table9': did you mean 'table3'? Choose from "),
        (("run", "table3", "--budget", "huge"), "there is no budget 'huge'"),
        (("run", "table3", "--models", "no-hadamard"), "table3 has no model 'no-hadamard'"),
        (("run", "table3", "--data", "har"), "table3 has no data set 'har'"),
        (("run", "table3", "--protocol", "fair"), "no protocol 'fair': choose from released-citation, fair-citation"),
        (("run", "table3", "--k", "3"), "--k is for one experiment"),
        (("run", "table3", "--set", "lr=1"), "--set is for one experiment"),
        (("run", "table3", "--model", "gcn"), "--model is for one experiment"),
        (("run",), "nothing to run: name a study"),
        (("run", "--data", "cora", "--records", "x.jsonl", "--models", "gcn"), "--models is for a study"),
        (("run", "--data", "cora", "--records", "x.jsonl", "--budget", "long"), "--budget is for a study"),
        (("run", "table1", "--seeds", "3"), "--seeds has no effect on table1"),
        (("run", "table1", "--models", "gcn"), "--models has no effect on table1"),
        (("run", "trained-stability", "--models", "gin"), "trained-stability has no model 'gin'"),
        (("run", "table1", "--budget", "quick"), "table1"),
        (("run", "epsilon", "--models", "gcn"), "epsilon has no model 'gcn': choose from s2gnn"),
        (("run", "label-efficiency", "--protocol", "released"), "no protocol 'released': choose from fair"),
        (("run", "cost", "--budget", "huge"), "there is no budget 'huge'"),
        (
            ("run", "cost", "--data", "er-2000"),
            "cost has no data set 'er-2000': did you mean 'er-5000'?",
        ),
        (("run", "links", "--models", "gat"), "links has no model 'gat': choose from s2gnn, gcn, mlp"),
        (("show", "table9"), "there is no study 'table9'"),
        (("show", "x.jsonl", "--data", "har"), "--data is for a study: omit it for a file of records"),
        (("show", "table3"), "results does not exist"),
        (("show", "table3", "--budget", "huge", "--results", "."), "there is no budget 'huge'"),
        (("show", "/dev/null.jsonl"), "/dev/null.jsonl has no records"),
        (("document", "missing.md"), "missing.md does not exist"),
        (("draw", "table9", "--results", "."), "there is no study 'table9'"),
        (("draw", "cost", "--results", "."), "has no records to draw cost from"),
    ],
)
def test_what_a_study_cannot_do_is_one_sentence(s2gnn, arguments, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = s2gnn("study", *arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert not list(tmp_path.iterdir())
