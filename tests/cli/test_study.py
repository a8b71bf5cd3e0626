import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from s2gnn.data import TEST_SEEDS
from s2gnn.errors import SeedError
from s2gnn.learning.protocol import named_protocol
from s2gnn.learning.records import Records
from s2gnn.learning.space import search_space
from s2gnn.search.study import SearchResult
from s2gnn.studies.budget import BUDGETS
from s2gnn.studies.sweeps.stored import SWEEPS


@pytest.fixture(autouse=True)
def _quick(tmp_path_factory, monkeypatch):
    """Few epochs, and graphs that are kept apart from the user's."""
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "studies-cache"))
    monkeypatch.setattr("s2gnn.studies.cell.named_protocol", lambda name: replace(named_protocol(name), epochs=8))


def test_a_row_then_json_without_training_again(s2gnn, tmp_path):
    path = tmp_path / "new" / "runs.jsonl"
    arguments = ["study", "run", "--data", "digits", "--model", "mlp", "--protocol", "fair", "--records", path]
    arguments += ["--seeds", 3, "--set", "hidden_channels=24", "--set", "lr=0.02"]
    code, out, err = s2gnn(*arguments)
    assert code == 0, err
    records = Records(path).read()
    assert [record.seed for record in records] == list(TEST_SEEDS[:3])
    mean = sum(record.metrics["test_accuracy"] for record in records) / 3
    row = next(line for line in out.splitlines() if "digits" in line)
    assert [word in row for word in ("knn, k = 30", "mlp", "fair", f"{100 * mean:.2f} ± ", "3 of 3")] == [True] * 5
    assert "digits knn mlp fair: seed" in err
    code, out, _ = s2gnn(*arguments, "--json")
    content = json.loads(out)
    assert len(Records(path).read()) == len(path.read_text().splitlines()) == 3
    assert content["complete"]
    assert content["score"]["mean"] == pytest.approx(mean)
    assert content["config"]["hyperparameters"]["lr"] == 0.02
    assert content["config"]["hyperparameters"]["model"]["hidden_channels"] == 24
    assert content["command"].startswith("s2gnn study run --data digits --model mlp")
    assert content["config_hash"] == records[0].config_hash


def test_no_time_is_an_empty_row_and_says_how_to_go_on(s2gnn, tmp_path):
    path = tmp_path / "runs.jsonl"
    code, out, err = s2gnn("study", "run", "--data", "digits", "--model", "mlp", "--records", path, "--minutes", 0)
    assert code == 0
    assert "0 of 50" in out
    assert f"0 of 50 seeds are in {path}; the same command goes on from there" in err


def test_an_interrupt_says_how_to_go_on(s2gnn, tmp_path, monkeypatch):
    @contextmanager
    def interrupting(cell):
        def update(progress):
            if progress.finished == 2:
                raise KeyboardInterrupt

        yield update

    monkeypatch.setattr("s2gnn.cli.study._progress", interrupting)
    path = tmp_path / "runs.jsonl"
    code, out, err = s2gnn("study", "run", "--data", "digits", "--model", "mlp", "--records", path)
    assert code == 130
    assert f"2 of 50 seeds are in {path}; the same command goes on from there" in err
    assert "Traceback" not in err
    assert out == ""


def test_a_failing_run_is_one_sentence_with_its_seed(s2gnn, tmp_path):
    path = tmp_path / "runs.jsonl"
    code, _, err = s2gnn("study", "run", "--data", "digits", "--model", "mlp", "--records", path, "--set", "lr=1e30")
    assert code == 1
    assert f"s2gnn: the run with seed {TEST_SEEDS[0]} failed: NonFiniteLossError: the " in err
    assert "Traceback" not in err


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
def test_bad_input_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, changes, message):
    arguments = {"--data": "digits", "--model": "mlp", "--records": tmp_path / "runs.jsonl"}
    arguments.update([changes])
    code, _, err = s2gnn("study", "run", *(word for pair in arguments.items() for word in pair))
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_a_study_runs_and_is_shown(s2gnn, tmp_path, monkeypatch, data_folder):
    run = (
        "study",
        "run",
        "table2-knn",
        "--models",
        "mlp,sign",
        "--data",
        "cancer-b",
        "--budget",
        "smoke",
        "--results",
        tmp_path,
    )
    code, out, err = s2gnn(*run)
    assert code == 0, err
    assert "table2-knn, budget smoke: 3 runs to train, about" in err
    row = next(line for line in out.splitlines() if "sign" in line)
    assert row.count("smoke") == 1
    assert "89.67 ± 0.39" in row
    assert "s2gnn" not in out.replace("s2gnn study", "")
    assert [record.config["model"] for record in Records(tmp_path / "table2-knn.jsonl").read()] == [
        "mlp",
        "mlp",
        "sign",
    ]
    code, _, err = s2gnn(*run)
    assert (code, "every run of 3 cells is on record" in err) == (0, True)
    code, out, _ = s2gnn("study", "show", "table2-knn", "--results", tmp_path, "--format", "json")
    assert json.loads(out)["study"] == "table2-knn"
    for form in ("text", "markdown", "latex", "html"):
        code, out, _ = s2gnn("study", "show", "table2-knn", "--results", tmp_path, "--format", form)
        assert (code, "93.39" in out) == (0, True)


def test_the_table_of_data_sets_is_measured_and_shown(s2gnn, tmp_path, data_folder):
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
    assert all(
        name in out
        for name in ("table1", "table2-knn", "table2-learned", "table3", "epsilon", "smoke", "quick", "full")
    )
    code, out, _ = s2gnn("study", "list", "--json")
    assert json.loads(out)["budgets"][1]["patience"] == 100


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("run", "table9"), "there is no study 'table9': choose from table1, "),
        (("run", "table3", "--budget", "huge"), "there is no budget 'huge'"),
        (("run", "table3", "--models", "sign"), "table3 has no model 'sign'"),
        (("run", "table3", "--data", "har"), "table3 has no data set 'har'"),
        (("run", "table3", "--protocol", "fair"), "no protocol 'fair': choose from released-citation, fair-citation"),
        (("run", "table3", "--k", "3"), "--k is for one cell"),
        (("run", "table3", "--set", "lr=1"), "--set is for one cell"),
        (("run",), "nothing to run: name a study"),
        (("run", "--data", "cora", "--records", "x.jsonl", "--models", "gcn"), "--models is for a study"),
        (("show", "table9"), "there is no study 'table9'"),
        (("show", "x.jsonl", "--data", "har"), "--data is for a study: leave it out for a file of results"),
        (("show", "table3"), "results is not a folder"),
        (("run", "table3", "--model", "gcn"), "--model is for one cell"),
        (("run", "table1", "--seeds", "3"), "--seeds means nothing to table1"),
        (("run", "epsilon", "--models", "gcn"), "epsilon has no model 'gcn': choose from s2gnn"),
        (("run", "label-efficiency", "--protocol", "released"), "no protocol 'released': choose from fair"),
        (("run", "table1", "--budget", "quick"), "--budget means nothing to table1"),
        (("run", "cost", "--budget", "huge"), "there is no budget 'huge'"),
        (("run", "cost", "--data", "er-2000"), "cost has no data set 'er-2000': choose from er-500, er-1000"),
        (("run", "--data", "cora", "--records", "x.jsonl", "--budget", "long"), "--budget is for a study"),
        (("show", "/dev/null.jsonl"), "is not a file"),
    ],
)
def test_what_a_study_cannot_do_is_said_in_a_sentence(s2gnn, arguments, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = s2gnn("study", *arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert not list(tmp_path.iterdir())


def test_the_full_budget_searches_first_and_runs_what_was_found(s2gnn, tmp_path, monkeypatch, data_folder):
    small = replace(BUDGETS["full"], seeds=2, epochs=3, trials=2)
    monkeypatch.setattr("s2gnn.cli.study_runs.named_budget", {"full": small}.get)
    run = ("study", "run", "table2-knn", "--models", "sign", "--data", "cancer-b", "--budget", "full")
    code, _, err = s2gnn(*run, "--results", tmp_path / "new", "--minutes", 0)
    assert (code, "0 of 2 trials; the search goes on next time" in err) == (0, True)
    code, _, err = s2gnn(*run, "--results", tmp_path)
    assert code == 0, err
    assert "1 searches of 2 trials with 5 seeds: 2 trials left, about" in err
    assert "; then the test seeds, about" in err
    records = Records(tmp_path / "table2-knn.jsonl").read()
    assert [(record.budget["name"], record.config["protocol"]["epochs"]) for record in records] == [("full", 3)] * 2
    drawn = [search_space("sign", "released").draw(0, index) for index in range(2)]
    assert records[0].config["hyperparameters"]["lr"] in [values["lr"] for values in drawn]
    code, _, err = s2gnn(*run, "--results", tmp_path)
    assert (code, "every run of 1 cells is on record" in err) == (0, True)


def test_a_search_that_fails_does_not_stop_the_others(s2gnn, tmp_path, monkeypatch, data_folder):
    small = replace(BUDGETS["full"], seeds=1, epochs=2, trials=1)
    monkeypatch.setattr("s2gnn.cli.study_runs.named_budget", {"full": small}.get)

    def search(cell, config, *_):
        if cell.model == "mlp":
            raise SeedError("trial 0 of the search failed")
        return SearchResult(cell, "name", 1, complete=1, score=0.5)

    monkeypatch.setattr("s2gnn.cli.study_runs.search", search)
    chosen = ("--models", "mlp,sign", "--data", "cancer-b", "--protocol", "fair")
    code, _, err = s2gnn("study", "run", "table2-knn", *chosen, "--budget", "full", "--results", tmp_path)
    assert (code, "failed: search of cancer-b knn mlp fair: trial 0 of the search failed" in err) == (1, True)
    assert [record.config["model"] for record in Records(tmp_path / "table2-knn.jsonl").read()] == ["sign"]


@pytest.fixture
def digits_sweep(monkeypatch):
    """A sweep of two models over k, on data that needs no folder, trained for a few epochs."""
    sweep = replace(SWEEPS["neighbours"], values=(5, 10), models={"s2gnn": "k", "gcn": "k"}, data=("digits",))
    monkeypatch.setattr("s2gnn.cli.study_runs.SWEEPS", {"neighbours": sweep})
    monkeypatch.setattr("s2gnn.studies.sweeps.stored.SWEEPS", {"neighbours": sweep})
    short = replace(BUDGETS["quick"], seeds=2, epochs=3, patience=None)
    monkeypatch.setattr("s2gnn.studies.budget.named_budget", lambda name: replace(short, name=name))
    return sweep


def test_a_sweep_runs_goes_on_and_is_drawn(s2gnn, tmp_path, digits_sweep):
    run = ("study", "run", "neighbours", "--results", tmp_path)
    code, _, err = s2gnn(*run, "--models", "s2gnn", "--budget", "smoke")
    assert code == 0, err
    assert "neighbours, budget smoke: 4 runs to train, about" in err
    code, out, err = s2gnn(*run, "--budget", "smoke")
    assert code == 0, err
    assert "neighbours, budget smoke: 8 runs to train" in err
    assert f"wrote {tmp_path / 'neighbours'} as csv, png, svg" in err.replace("\n", "")
    assert "gcn, released" in out
    records = Records(tmp_path / "neighbours.jsonl").read()
    assert [(r.config["model"], r.config["k"]) for r in records[::2]] == [
        ("s2gnn", 5),
        ("s2gnn", 10),
        *(("gcn", k) for _ in ("released", "fair") for k in (5, 10)),
    ]
    code, out, err = s2gnn(*run, "--budget", "smoke", "--protocol", "fair", "--json")
    assert "every run of 4 cells is on record" in err
    assert [point["protocol"] for point in json.loads(out)["points"]] == ["fair"] * 4


def test_a_sweep_has_no_search_and_is_shown_without_records(s2gnn, tmp_path):
    code, out, err = s2gnn("study", "run", "alpha", "--budget", "full", "--results", tmp_path, "--storage", "x.db")
    assert (code, "--storage means nothing to alpha, which has no search" in err) == (2, True)
    code, out, _ = s2gnn("study", "show", "alpha", "--results", tmp_path)
    assert (code, "No record yet: s2gnn study run alpha" in out) == (0, True)
    code, out, _ = s2gnn("study", "show", "alpha", "--results", tmp_path, "--format", "json")
    assert json.loads(out)["points"] == []


def test_what_is_no_document_and_no_record_is_refused(s2gnn, tmp_path):
    binary = tmp_path / "page.md"
    binary.write_bytes(b"\xff\xfe\x00")
    code, _, err = s2gnn("study", "document", binary, "--results", tmp_path)
    assert (code, "page.md is no text" in err) == (2, True)
    empty = tmp_path / "runs.jsonl"
    empty.touch()
    code, _, err = s2gnn("study", "show", empty)
    assert (code, "runs.jsonl has no record" in err) == (2, True)


def test_a_cross_validation_has_no_search(s2gnn, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "s2gnn.cli.study_runs._train", lambda _request, _budget, cells, _records: asked.extend(cells) or []
    )
    code, output, errors = s2gnn(
        *("study", "run", "graph-classification-ten-fold", "--data", "mutag", "--models", "s2gnn"),
        *("--budget", "full", "--results", tmp_path),
    )
    assert code == 0
    assert "graph-classification-ten-fold holds hyperparameters over its folds: full is long here" in errors
    (cell,) = asked
    assert (cell.seeds, cell.protocol.epochs, cell.protocol.patience) == (tuple(range(10)), 500, None)
    assert "| s2gnn" in output.replace("│", "|")
