import json
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from s2gnn.data import TEST_SEEDS
from s2gnn.experiments import Records, make_experiment
from s2gnn.experiments.search_space import draw_values, search_space
from tests.experiments.made_records import append

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _separate_cache(tmp_path_factory, monkeypatch):
    """Keep the graphs of these tests apart from the user's."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "experiments-cache"))


def interrupt(*_):
    raise KeyboardInterrupt


def words(arguments):
    return [word for pair in arguments.items() for word in pair]


SPREADING = ("study", "run", "--data", "digits", "--model", "label-spreading", "--protocol", "fair")


def test_an_experiment_is_printed_then_json_without_running_again(s2gnn, tmp_path):
    path = tmp_path / "new" / "runs.jsonl"
    arguments = [*SPREADING, "--records", path, "--seeds", 3, "--set", "alpha=0.9"]
    code, out, err = s2gnn(*arguments)
    assert code == 0, err
    records = Records(path).read()
    assert [record.seed for record in records] == list(TEST_SEEDS[:3])
    mean = sum(record.metrics["test_accuracy"] for record in records) / 3
    assert all(word in out for word in ("knn, k = 30", "label-spreading", "fair", f"{100 * mean:.2f} ± "))
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

    monkeypatch.setattr("s2gnn.cli.study._reporting", reporting)
    path = tmp_path / "runs.jsonl"
    code, out, err = s2gnn(*SPREADING, "--records", path)
    assert (code, out) == (130, "")
    assert "2 of 50 runs finished; rerun the command to resume" in err
    assert "Traceback" not in err
    assert len(Records(path).read()) == 2


def test_names_are_not_cut_in_a_narrow_list(s2gnn, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = s2gnn("study", "list")
    assert code == 0
    assert "graph-classification-ten-fold " in out
    assert "1 line × 6 values" in out


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
    code, _, err = s2gnn("study", "run", *words({**arguments, **dict([changes])}))
    assert code == 2
    assert message in err
    assert "Traceback" not in err


@pytest.mark.usefixtures("data_folder")
def test_a_table_runs_and_is_shown(s2gnn, tmp_path):
    chosen = ("--models", "mlp,sign", "--data", "cancer-b", "--budget", "smoke", "--results", tmp_path)
    code, out, err = s2gnn("study", "run", "table2-knn", *chosen)
    assert code == 0, err
    assert "budget smoke: 3 runs to train, about" in err
    row = next(line for line in out.splitlines() if "sign" in line)
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
def test_a_search_for_link_prediction(s2gnn, tmp_path):
    options = ("--data", "cora", "--decoder", "dot", "--graph", "given", "--model", "mlp", "--seeds", 1, "--trials", 1)
    search = ("study", "search", *options, "--patience", 1, "--storage", tmp_path / "search.db", "--json")
    code, out, err = s2gnn(*search)
    assert code == 0, err
    assert json.loads(out)["experiment"]["decoder"] == "dot"
    assert json.loads(out)["finished"] == 1


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
    assert "gcn, released" in out
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


def test_studies_and_budgets_are_listed(s2gnn):
    code, out, _ = s2gnn("study", "list")
    assert code == 0
    names = ("table1", "table2-knn", "table2-learned", "table3", "links", "epsilon", "smoke", "quick", "full")
    assert all(name in out for name in names)
    code, out, _ = s2gnn("study", "list", "--json")
    assert json.loads(out)["budgets"][1]["patience"] == 100


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
        (("show", "table3"), "results is not a folder"),
        (("show", "table3", "--budget", "huge", "--results", "."), "there is no budget 'huge'"),
        (("show", "/dev/null.jsonl"), "/dev/null.jsonl has no records"),
        (("document", "missing.md"), "missing.md is not a file"),
    ],
)
def test_what_a_study_cannot_do_is_one_sentence(s2gnn, arguments, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = s2gnn("study", *arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert not list(tmp_path.iterdir())


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "runs.jsonl"
    append(path, make_experiment("cancer-b", "s2gnn", changes={"epsilon": 0.5}), [90.0, 92.0])
    append(path, make_experiment("digits", "mlp", "fair"), [80.0])
    return path


def test_a_file_of_records_is_shown(records, s2gnn):
    code, out, _ = s2gnn("study", "show", records, "--format", "markdown")
    assert code == 0
    assert "| cancer-b | knn, k = 30 | s2gnn | released | epsilon=0.5 | 91.00 ± 1.00 | 93.39 ± 0.41 |" in out
    code, out, _ = s2gnn("study", "show", records, "--format", "json")
    assert [summary["data"] for summary in json.loads(out)] == ["cancer-b", "digits"]
    code, out, _ = s2gnn("study", "show", records)
    assert (code, "runs.jsonl" in out) == (0, True)
    records.write_text("")
    code, _, err = s2gnn("study", "show", records)
    assert (code, "runs.jsonl has no records" in err) == (2, True)


def test_tables_are_written_into_a_document(records, s2gnn):
    folder = records.parent
    page = folder / "page.md"
    page.write_text("<!-- record: runs.jsonl -->\n<!-- end -->\n<!-- record: bench-graphs.json -->\n<!-- end -->\n")
    code, _, err = s2gnn("study", "document", page, "--results", folder)
    assert code == 0, err
    assert "| digits | knn, k = 30 | mlp | fair |" in page.read_text()
    assert f"No record yet: run `s2gnn bench graphs --record {folder.name}`" in page.read_text()
    (folder / "bench-graphs.json").write_text("{")
    code, _, err = s2gnn("study", "document", page, "--results", folder)
    assert (code, "bench-graphs.json is damaged" in err) == (2, True)
    page.write_bytes(b"\xff\xfe\x00")
    code, _, err = s2gnn("study", "document", page, "--results", folder)
    assert (code, "page.md is not text" in err) == (2, True)


def test_a_search_is_a_table_then_json_without_training_again(s2gnn, tmp_path):
    path = tmp_path / "new" / "search.db"
    arguments = ["study", "search", "--data", "digits", "--model", "mlp", "--sampler", "random", "--storage", path]
    arguments += ["--trials", 3, "--seeds", 2, "--patience", 1]
    code, out, err = s2gnn(*arguments)
    assert code == 0, err
    row = next(line for line in out.splitlines() if "3 of 3" in line)
    assert row.split()[3:7] == ["3", "0", "0", "0"]
    assert f"optuna-dashboard sqlite:///{path}" in out
    assert "digits knn mlp fair: 0 running, best" in err
    assert "Warning" not in err
    assert "A new study created" not in err
    code, again, _ = s2gnn(*arguments, "--json")
    content = json.loads(again)
    assert (content["complete"], content["failed"], content["finished"], content["trials"]) == (3, 0, 3, 3)
    assert content["study"].startswith("digits knn mlp fair random ")
    best = {"lr": content["best"]["lr"], "weight_decay": content["best"]["weight_decay"], **content["best"]["model"]}
    assert best in [draw_values(search_space("mlp"), 0, index) for index in range(3)]
    assert f"--set lr={best['lr']} " in out
    assert f"{100 * content['score']:.2f}" in row


def test_a_search_without_time_or_interrupted_says_how_to_resume(s2gnn, tmp_path, monkeypatch):
    arguments = ("study", "search", "--data", "digits", "--storage", tmp_path / "search.db", "--trials", 4)
    code, out, err = s2gnn(*arguments, "--minutes", 0)
    assert (code, "0 of 4" in out) == (0, True)
    assert "0 of 4 trials finished; rerun the command to resume" in err
    monkeypatch.setattr("s2gnn.experiments.search.load_task", interrupt)
    code, out, err = s2gnn(*arguments)
    assert (code, out) == (130, "")
    assert "0 of 4 trials finished; rerun the command to resume" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--data", "mnist"], "there is no data set 'mnist'"),
        (["--model", "mpl"], "there is no model 'mpl'"),
        (["--protocol", "strict"], "there is no protocol 'strict'"),
        (["--sampler", "grid"], "Invalid value for '--sampler'"),
        (["--seeds", "6"], "Invalid value for '--seeds'"),
        (["--trials", "0"], "Invalid value for '--trials'"),
        (["--storage", "search.csv"], "search.csv does not end in .db"),
        (["--storage", "ftp://me:secret@host/x"], "the storage ftp://me:***@host/x cannot be opened"),
        (["--storage", "ftp://host/x?user=me&password=secret"], "ftp://host/x?user=me&password=*** cannot be opened"),
    ],
)
def test_an_unusable_search_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, changes, message):
    arguments = {"--data": "digits", "--model": "mlp", "--storage": tmp_path / "search.db"}
    code, _, err = s2gnn("study", "search", *words({**arguments, **dict([changes])}))
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert "secret" not in err


@pytest.mark.parametrize("study", ["alpha", "links", "graph-classification-ten-fold"])
def test_a_study_without_a_search_has_no_runs_after_one(s2gnn, study):
    code, _, err = s2gnn("study", "show", study, "--budget", "full", "--results", ROOT / "results")
    assert code == 2
    assert f"s2gnn: {study} " in err
    assert "so it has no runs of a budget with a search: choose from smoke, quick, long" in err


def documented_searches():
    """The architecture searches of docs/hyperparameters.md, as words after `s2gnn`."""
    lines = (ROOT / "docs" / "hyperparameters.md").read_text(encoding="utf-8").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if "--model s2gnn+" in line]


@pytest.mark.parametrize("number", [0, 1], ids=["graphs", "links"])
def test_the_documented_architecture_searches_run_with_a_tiny_budget(s2gnn, tmp_path, data_folder, number):
    command = documented_searches()[number]
    command[command.index("--trials") + 1] = "2"
    command[command.index("--storage") + 1] = str(tmp_path / "search.db")
    code, out, err = s2gnn(*command, "--seeds", 1, "--patience", 2)
    assert code == 0, err
    assert "2 of 2" in out
    assert "best: --set " in out
