import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

from s2gnn import Graph, S2GNNClassifier, knn_graph
from s2gnn.cli import analyse
from s2gnn.data import load_dataset
from s2gnn.estimator import save_estimator
from s2gnn.graphs import save_graph
from tests.cli.tables import diabetes_table, iris_table


@pytest.fixture
def model(s2gnn, tmp_path):
    iris_table(tmp_path / "iris.csv")
    assert s2gnn("fit", tmp_path / "iris.csv", "--label", "species", "--folds", 0, "--out", tmp_path / "model")[0] == 0
    return tmp_path / "model"


def test_a_model_without_labels(s2gnn, model):
    code, out, err = s2gnn("analyse", "stability", model, "--seeds", 2)
    assert code == 0, err
    for text in ["edges dropped", "weights at 5 dB", "50 % added", "classes changed (%)", "the 150 training rows"]:
        assert text in out
    assert "The model is " in out
    assert "accuracy" not in out


def test_new_rows_with_labels_as_files(s2gnn, tmp_path, model):
    iris_table(tmp_path / "iris.csv", every=1)
    out = tmp_path / "found" / "here"
    arguments = ["analyse", "stability", model, "--table", tmp_path / "iris.csv", "--seeds", 2, "--out", out]
    code, printed, err = s2gnn(*arguments)
    assert code == 0, err
    record = json.loads((out / "stability.json").read_text())
    assert record["command"].startswith("s2gnn analyse stability")
    content = record["content"]
    assert content["score"] > 0.85
    assert content["seeds"] == [0, 1]
    assert f"{tmp_path / 'iris.csv'}, 150 of them seen in training and 150 labelled" in content["looked_at"]
    assert len(content["rows"]) == 15
    assert content["verdict"] in " ".join(printed.split())
    rows = list(csv.reader((out / "stability.csv").read_text().splitlines()))
    assert rows[0] == ["", "noise", "classes changed (%)", "change of probabilities (%)", "accuracy (%)"]
    assert len(rows) == 16
    assert (out / "stability.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "stability.svg").read_text()
    code, printed, err = s2gnn(*arguments, "--json")
    assert (code, err) == (0, "")
    assert json.loads(printed)["content"] == content


def test_quantities(s2gnn, tmp_path):
    diabetes_table(tmp_path / "d.csv")
    fit = ["fit", tmp_path / "d.csv", "--label", "progression", "--folds", 0, "--out", tmp_path / "model"]
    assert s2gnn(*fit)[0] == 0
    code, out, err = s2gnn("analyse", "stability", tmp_path / "model", "--table", tmp_path / "d.csv", "--seeds", 1)
    assert code == 0, err
    for text in ["change (% of the spread)", "mean absolute error", "the predictions move by at most", "100 labelled"]:
        assert text in " ".join(out.split())


def test_the_spectrum_of_a_file_and_of_a_data_set(s2gnn, tmp_path, monkeypatch):
    monkeypatch.setenv("S2GNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(analyse, "load_dataset", lambda name: load_dataset(name).restricted(np.arange(90), None))
    save_graph(knn_graph(load_iris(return_X_y=True)[0], 5), tmp_path / "iris.npz")
    code, out, err = s2gnn("analyse", "spectrum", tmp_path / "iris.npz", "--out", tmp_path / "found")
    assert code == 0, err
    for text in ["Condition number", "│ iris, ε = 0.1", "(L + εI)^(ρ) at 0.1, 0.5, 1, 1.5, 2", "Theorem 2"]:
        assert text in out
    assert sorted(path.name for path in (tmp_path / "found").iterdir()) == [
        "spectrum.csv", "spectrum.json", "spectrum.png", "spectrum.svg",
    ]  # fmt: skip
    code, out, err = s2gnn("analyse", "spectrum", "digits", "--k", 4, "--json")
    assert code == 0, err
    (row,) = json.loads(out)["content"]["rows"]
    assert row["data"] == "digits"
    assert np.all(row["conditioning"]["definite_laplacian"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["stability", "nowhere"], "nowhere does not exist: give a folder written by s2gnn fit or save_estimator"),
        (["stability", "."], "estimator.json is missing or not a plain file"),
        (["stability", "bare", "--table", "t.csv"], "bare holds an estimator without the columns of a table"),
        (["stability", "bare", "--out", "t.csv"], "t.csv is a file, but results are written into a folder"),
        (["stability", "bare", "--out", "t.csv/found"], "cannot be written"),
        (["stability", "model", "--table", "missing.csv"], "missing.csv does not exist"),
        (["stability", "model", "--table", "t.csv"], "t.csv has no column 'sepal length'"),
        (["spectrum", "nothing.npz"], "nothing.npz is neither a file nor a data set: give a graph file, or one of"),
        (["spectrum", "t.csv"], "t.csv is damaged or not a graph written by s2gnn"),
        (["spectrum", "g.npz", "--k", "3"], "--kind and --k are for a data set, but g.npz is a graph already"),
        (["spectrum", "lonely.npz"], "the graph has no edges"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, monkeypatch, request, arguments, message):
    monkeypatch.chdir(tmp_path)
    if arguments[1] == "model":
        request.getfixturevalue("model")
    (tmp_path / "t.csv").write_text("a,species\n1,x\n2,y\n")
    X, y = load_iris(return_X_y=True)
    if arguments[1] == "bare":
        save_estimator(S2GNNClassifier(max_epochs=2, n_networks=1).fit(X, y), tmp_path / "bare")
    save_graph(knn_graph(X, 5), "g.npz")
    save_graph(Graph.from_edge_list([], n_nodes=3), "lonely.npz")
    code, out, err = s2gnn("analyse", *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("s2gnn: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["stability", "spectrum"])
def test_every_command_has_help_with_an_example(s2gnn, command):
    code, out, _ = s2gnn("analyse", command, "--help")
    assert code == 0
    assert f"Example: s2gnn analyse {command}" in out
