import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from s2gnn import knn_graph
from s2gnn.estimator import TableModel, learners, load_estimator
from s2gnn.graphs import save_graph
from tests.cli.interrupts import heed_interrupts
from tests.cli.tables import IRIS, diabetes_table, iris_table


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_from_a_table_to_a_model_and_predictions(s2gnn, tmp_path):
    truth = iris_table(tmp_path / "iris.csv")
    code, out, err = s2gnn(
        "fit", tmp_path / "iris.csv", "--label", "species", "--out", tmp_path / "model",
        "--folds", 2, "--predictions", tmp_path / "p.csv",
    )  # fmt: skip
    assert code == 0, err
    for text in ["150", "15 (setosa: ", *IRIS, "size", "(no name) (the names of the rows)", "knn", "edges", "accuracy"]:
        assert text in out
    assert (
        "training on 15 labelled of 150 rows with 6 features; about 2 s of processor time, expected peak memory " in err
    )
    for bar in ("finding neighbours", "training", "predicting hidden labels"):
        assert re.search(rf"^{bar} .* 100% ", err, re.MULTILINE), bar
    assert re.search(r"^peak memory +(\d+ MiB|\d+\.\d GiB)$", out, re.MULTILINE)
    predicted = rows_of(tmp_path / "p.csv")
    assert len(predicted) == 135
    assert list(predicted[0]) == ["row", "", *IRIS, "size", "species", "predicted_species", "probability"]
    right = [line["predicted_species"] == truth[int(line["row"]) - 1] for line in predicted]
    assert np.mean(right) > 0.85
    assert all(1 / 3 <= float(line["probability"]) <= 1 for line in predicted)
    card = (tmp_path / "model" / "README.md").read_text()
    for text in [
        "species of iris.csv",
        "Trained on 150 rows of iris.csv, 15 with a label: ",
        "s2gnn fit",
        "accuracy",
        "petal width",
    ]:
        assert text in card


def test_json_and_the_same_seed_the_same_model(s2gnn, tmp_path):
    iris_table(tmp_path / "iris.csv")
    summaries = []
    for name, folds in (("one", 2), ("two", 0)):
        code, out, err = s2gnn(
            "fit", tmp_path / "iris.csv", "--label", "species", "--features", "petal length, size", "--k", 7,
            "--folds", folds, "--seed", 3, "--out", tmp_path / name, "--json",
        )  # fmt: skip
        assert (code, err) == (0, "")
        summaries.append(json.loads(out))
    first = summaries[0]
    assert first["numeric"] == ["petal length"]
    assert first["categorical"] == ["size"]
    assert first["left_out"]["sepal width"] == "not requested"
    assert first["rows"] == 150
    assert 2**20 < first["peak_bytes"] < 2**34
    assert sum(first["labels"].values()) == first["labelled_rows"] == 15
    score = first["scores"][0]
    assert score["name"] == "accuracy"
    assert score["rows"] == 15
    assert 0.5 < score["value"] <= 1
    assert 0.5 < score["low"] < score["value"] <= score["high"] <= 1
    assert summaries[1]["scores"][0]["rows"] == 15  # of the folds that training itself predicts
    assert summaries[1]["graph_gain"]["measure"] == "accuracy"
    one, two = (load_estimator(tmp_path / name)[0] for name in ("one", "two"))
    np.testing.assert_array_equal(one.label_distributions_, two.label_distributions_)


def test_quantities_and_a_learned_graph(s2gnn, tmp_path):
    truth = diabetes_table(tmp_path / "d.csv")
    code, out, err = s2gnn(
        "fit", tmp_path / "d.csv", "--label", "progression", "--graph", "smooth", "--k", 8, "--folds", 2,
        "--out", tmp_path / "model", "--predictions", tmp_path / "p.tsv",
    )  # fmt: skip
    assert code == 0, err
    for text in ["regression", "smooth, k = 8", "mean absolute error", "R²"]:
        assert text in out
    lines = (tmp_path / "p.tsv").read_text().splitlines()
    assert lines[0].split("\t")[-2:] == ["progression", "predicted_progression"]
    predicted = np.array([float(line.split("\t")[-1]) for line in lines[1:]])
    assert np.corrcoef(predicted, truth[::2])[0, 1] > 0.4


def test_rows_are_identified_in_predictions_folder_and_report(s2gnn, tmp_path):
    iris_table(tmp_path / "iris.csv")
    text = (tmp_path / "iris.csv").read_text()
    (tmp_path / "iris.csv").write_text("flower" + text)
    code, _, err = s2gnn(
        "fit", tmp_path / "iris.csv", "--label", "species", "--id", "flower", "--out", tmp_path / "model",
        "--folds", 0, "--predictions", tmp_path / "p.csv", "--report", tmp_path / "report.html", "--json",
    )  # fmt: skip
    assert code == 0, err
    predicted = rows_of(tmp_path / "p.csv")
    assert next(iter(predicted[0])) == "flower"
    assert "row" not in predicted[0]
    assert predicted[0]["flower"] in (tmp_path / "report.html").read_text()
    model = TableModel.load(tmp_path / "model")
    assert model.identifiers.column == "flower"
    assert list(model.identifiers.values) == [line.split(",")[0] for line in text.splitlines()[1:]]
    lines = text.splitlines()
    (tmp_path / "new.csv").write_text("\n".join(",".join(line.split(",")[1:] + line.split(",")[:1]) for line in lines))
    (tmp_path / "new.csv").write_text((tmp_path / "new.csv").read_text().replace("species,\n", "species,flower\n", 1))
    code, _, err = s2gnn("predict", tmp_path / "model", tmp_path / "new.csv", "--out", tmp_path / "q.csv")
    assert code == 0, err
    assert next(iter(rows_of(tmp_path / "q.csv")[0])) == "flower"


def test_names_of_columns_may_have_commas(s2gnn, tmp_path):
    iris_table(tmp_path / "iris.csv")
    lines = (tmp_path / "iris.csv").read_text().replace("petal length", '"Länge, Blatt"', 1)
    (tmp_path / "iris.csv").write_text(lines)
    code, out, err = s2gnn(
        "fit", tmp_path / "iris.csv", "--label", "species", "--features", '"Länge, Blatt", sepal width', "--folds", 0,
        "--out", tmp_path / "model", "--json",
    )  # fmt: skip
    assert code == 0, err
    assert json.loads(out)["numeric"] == ["Länge, Blatt", "sepal width"]


UNUSUAL = ["a, b", 'say "x"', "two\nlines", "[red]Öl → 油[/red]", "`|` ```", "=1+1", "-1", "None", "{0}", "\\n"]


def test_labels_of_any_text_come_back_unchanged(s2gnn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(learners, "N_TREES", 100)
    corners = 10 * np.array([(x, y, (x + y) % 2) for x in range(5) for y in range(2)])
    with Path("t.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["x", "y", "z", "kind"])
        for place in range(8):
            writer.writerows(
                [*corner + 0.1 * place * np.array([1, 1, 2]), kind if place < 4 else ""]
                for corner, kind in zip(corners, UNUSUAL, strict=True)
            )
    code, out, err = s2gnn("fit", "t.csv", "--label", "kind", "--k", 4, "--out", "model", "--predictions", "p.csv")
    assert code == 0, err
    assert "labelled rows         40 (" in out
    assert [line["predicted_kind"] for line in rows_of(tmp_path / "p.csv")] == UNUSUAL * 4
    code, out, err = s2gnn("predict", "model", "t.csv", "--out", "q.csv")
    assert (code, err) == (0, "")
    assert "not scored: 40 of 40 labelled rows" in out
    assert [line["predicted_kind"] for line in rows_of(tmp_path / "q.csv")] == UNUSUAL * 8


@pytest.mark.parametrize("form", ["csv", "npz"])
def test_a_given_graph(s2gnn, tmp_path, form):
    iris_table(tmp_path / "iris.csv")
    graph = knn_graph(load_iris(return_X_y=True)[0], 4)
    if form == "npz":
        save_graph(graph, tmp_path / "edges.npz")
        options = []
    else:
        pairs, weights = graph.to_edge_list()
        lines = [f"flower {i},flower {j},{w!r}" for (i, j), w in zip(pairs.tolist(), weights.tolist(), strict=True)]
        (tmp_path / "edges.csv").write_text("\n".join(["from,to,weight", *lines]))
        (tmp_path / "iris.csv").write_text("name" + (tmp_path / "iris.csv").read_text())
        options = ["--id", "name"]
    code, out, err = s2gnn(
        "fit", tmp_path / "iris.csv", "--label", "species", "--edges", tmp_path / f"edges.{form}", *options,
        "--folds", 0, "--out", tmp_path / "model",
    )  # fmt: skip
    assert code == 0, err
    assert f"{graph.n_edges:,} edges" in out
    assert "On 15 hidden labels, the graph" in " ".join(out.split())
    assert load_estimator(tmp_path / "model")[0].graph_.n_edges == graph.n_edges


def test_npz_and_copies_of_rows(s2gnn, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = np.repeat(X[::5], 3, axis=0), np.repeat(y[::5], 3)
    y[1::3] = y[2::3] = -1
    np.savez(tmp_path / "t.npz", X=X, y=y)
    code, out, err = s2gnn(
        "fit", tmp_path / "t.npz", "--label", "y", "--folds", 0, "--out", tmp_path / "model", "--json"
    )
    assert code == 0, err
    assert json.loads(out)["labels"] == {"0": 10, "1": 10, "2": 10}


def test_a_model_is_replaced_and_other_folders_are_not(s2gnn, tmp_path):
    iris_table(tmp_path / "iris.csv")
    for k in (4, 9):
        assert s2gnn(
            "fit", tmp_path / "iris.csv", "--label", "species", "--k", k, "--folds", 0, "--out", tmp_path / "m"
        )[0] == 0  # fmt: skip
    assert load_estimator(tmp_path / "m")[0].k == 9
    (tmp_path / "m" / "notes.txt").write_text("mine")
    code, _, err = s2gnn("fit", tmp_path / "iris.csv", "--label", "species", "--out", tmp_path / "m")
    assert code == 2
    assert "such as notes.txt" in err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    code, _, err = s2gnn("fit", tmp_path / "iris.csv", "--label", "species", "--out", tmp_path / "mine")
    assert code == 2
    assert "holds files other than a model, such as thesis.tex: choose a new folder" in err
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("out", [".", "..", "../void"])
def test_the_folder_one_is_in_is_not_replaced(s2gnn, tmp_path, monkeypatch, out):
    iris_table(tmp_path / "iris.csv")
    (tmp_path / "outer" / "void").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "outer" / "void")
    code, _, err = s2gnn("fit", tmp_path / "iris.csv", "--label", "species", "--out", out)
    assert code == 2
    assert "which cannot be replaced: choose another" in err or "such as void: choose a new folder" in err
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        ("iris.csv", ["--label", "speices"], "iris.csv has no column 'speices': did you mean 'species'?"),
        ("iris.csv", ["--features", "size,"], "a feature of iris.csv has an empty name"),
        ("iris.csv", ["--task", "regress"], "column 'species' of iris.csv is 'versicolor' in row"),
        ("iris.csv", ["--edges", "e.csv", "--k", "3"], "--edges gives the graph: omit --graph and --k"),
        ("iris.csv", ["--k", "9999"], "--k is 9999, but 150 rows have at most 149 neighbours each: give at most 149"),
        ("iris.csv", ["--edges", "e.csv"], "e.csv does not exist"),
        ("iris.csv", ["--id", "species"], "the column 'species' is both the label and the identifier"),
        ("iris.csv", ["--out", "iris.csv"], "iris.csv is a file or a symlink, but a model is a folder"),
        ("iris.csv", ["--out", "iris.csv/model"], "cannot be written"),
        ("iris.csv", ["--predictions", "p.xlsx"], "p.xlsx does not end in .csv or .tsv"),
        ("iris.csv", ["--predictions", "iris.csv/p.csv"], "cannot be written"),
        ("iris.csv", ["--predictions", "iris.csv"], "iris.csv is the table itself, which predictions would replace"),
        ("iris.csv", ["--predictions", "model/p.csv"], "model/p.csv lies in the model folder"),
        ("iris.csv", ["--probabilities"], "--probabilities adds columns to the predictions: set --predictions"),
        (
            "iris.csv",
            ["--probabilities", "--label", "sepal length", "--task", "regress"],
            "is a quantity: omit the",
        ),
        ("binary.csv", [], "binary.csv is not a table in UTF-8: line 2 has the byte 0x80: save it as UTF-8"),
        ("one-class.csv", [], "every labelled row of one-class.csv is 'x' in column 'species': a classifier needs"),
        ("constant.csv", [], "constant.csv has no column to learn from besides 'species' ('a': the same number in"),
        ("large.csv", [], "column 'a' of large.csv is 1e+300 in row 2, too large to compute with"),
        ("predicted.csv", ["--predictions", "p.csv"], "predicted.csv already has a column 'probability'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, monkeypatch, table, arguments, message):
    monkeypatch.chdir(tmp_path)
    iris_table(tmp_path / "iris.csv")
    for name, content in {
        "binary.csv": bytes(range(256)),
        "one-class.csv": b"a,species\n1,x\n2,x\n3,\n",
        "constant.csv": b"a,species\n1,x\n1,y\n1,\n",
        "large.csv": b"a,species\n1,x\n1e300,y\n3,\n",
        "predicted.csv": b"a,species,probability\n1,x,1\n2,y,1\n4,,1\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    given = [*arguments]
    given += ["--label", "species"] if "--label" not in given else []
    given += ["--out", "model"] if "--out" not in given else []
    before = sorted(tmp_path.iterdir())
    code, out, err = s2gnn("fit", table, *given)
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("s2gnn: ")
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="sends an interrupt as POSIX does")
def test_ctrl_c_leaves_nothing_behind(tmp_path):
    iris_table(tmp_path / "iris.csv")
    before = sorted(tmp_path.iterdir())
    command = [sys.executable, "-u", "-m", "s2gnn.cli", "fit", "iris.csv", "--label", "species", "--folds", "1000"]
    process = subprocess.Popen(
        [*command, "--out", "model", "--predictions", "p.csv"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=heed_interrupts,
    )  # fmt: skip
    assert b"training on" in process.stderr.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err.endswith(b"\ns2gnn: interrupted\n")
    assert b"Traceback" not in err
    assert sorted(tmp_path.iterdir()) == before


def test_the_rows_of_a_group_are_hidden_together(s2gnn, tmp_path):
    iris_table(tmp_path / "iris.csv", every=2, rows=slice(60))
    lines = (tmp_path / "iris.csv").read_text().splitlines()
    patients = ["patient", *(f"P{row // 4}" for row in range(60))]
    table = tmp_path / "patients.csv"
    table.write_text("\n".join(f"{line},{patient}" for line, patient in zip(lines, patients, strict=True)))
    arguments = ("fit", table, "--label", "species", "--out", tmp_path / "model", "--group", "patient")
    code, out, err = s2gnn(*arguments, "--id", "patient")
    assert code == 0, err
    assert "15 groups kept together" in " ".join(out.split())
    assert "has duplicate values" not in err
    model = TableModel.load(tmp_path / "model")
    assert "patient" not in model.encoder.columns
    np.testing.assert_array_equal(model.estimator.groups_, np.arange(60)[::2] // 4)
    _, out, _ = s2gnn(*arguments)
    assert "patient" not in out
    code, _, err = s2gnn(*arguments, "--features", "size,patient")
    assert code == 2
    assert "--group and --features both name 'patient'" in err
    table.write_text(table.read_text().replace(",P3\n", ",\n"))
    code, _, err = s2gnn(*arguments)
    assert code == 2
    assert "column 'patient' of " in err
    assert "is empty in row 13, but every labelled row needs a group" in err
