import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from s2gnn.data import TEST_SEEDS
from s2gnn.learning.protocol import named_protocol
from s2gnn.learning.records import Records


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
