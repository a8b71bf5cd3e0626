import json

import numpy as np
from sklearn.datasets import load_iris

from s2gnn import S2GNNClassifier
from s2gnn.estimator import TableModel, load_estimator, save_estimator
from s2gnn.estimator.folder import read_folder
from s2gnn.tables import encode_table, read_table
from tests.cli.tables import iris_table
from tests.pages import Outline


def test_from_a_table_to_a_report(s2gnn, tmp_path):
    truth = iris_table(tmp_path / "iris.csv")
    fit = ["fit", tmp_path / "iris.csv", "--label", "species", "--folds", 2, "--out", tmp_path / "model"]
    code, out, err = s2gnn(*fit, "--report", tmp_path / "first.html", "--json")
    assert code == 0, err
    assert json.loads(out)["report"] == str(tmp_path / "first.html")
    first = (tmp_path / "first.html").read_text()
    assert "Predicting species in iris.csv" in Outline(first).text
    estimator, _, card = read_folder(tmp_path / "model")
    assert [estimator.classes_[code] for code in estimator.targets_] == truth[estimator.labelled_].tolist()
    assert card.missing["sepal width"] == 17
    assert card.left_out == {"": "the names of the rows"}
    assert estimator.evaluation_.answers.shape == (15, 3)

    code, out, err = s2gnn("report", tmp_path / "model")
    assert code == 0, err
    assert "How accurate is it? Accuracy on 15\N{NO-BREAK SPACE}hidden labels" in out
    assert out.rstrip().endswith(str(tmp_path / "model" / "report.html"))
    assert (tmp_path / "model" / "report.html").read_text() == first
    assert load_estimator(tmp_path / "model")[0].n_labelled_ == 15


def test_python_writes_the_same_folder_and_the_same_report(s2gnn, tmp_path):
    iris_table(tmp_path / "iris.csv")
    fit = ["fit", tmp_path / "iris.csv", "--label", "species", "--folds", 2, "--seed", 4, "--json"]
    code, out, err = s2gnn(*fit, "--out", tmp_path / "cli" / "model")
    assert code == 0, err
    model = TableModel.fit(encode_table(read_table(tmp_path / "iris.csv"), "species"), random_state=4)
    evaluation = model.estimator.evaluate(2, seed=4)
    assert evaluation.scores[0].value == json.loads(out)["scores"][0]["value"]
    model.save(tmp_path / "python" / "model", command=read_folder(tmp_path / "cli" / "model")[2].command)
    for name in ("model.safetensors", "training.npz", "evidence.npz", "README.md", "estimator.json"):
        cli, python = ((tmp_path / folder / "model" / name).read_bytes() for folder in ("cli", "python"))
        assert cli == python, name
    pages = []
    for folder in ("cli", "python"):
        assert s2gnn("report", tmp_path / folder / "model")[0] == 0
        pages.append((tmp_path / folder / "model" / "report.html").read_text())
    assert pages[0] == pages[1]


def test_an_estimator_of_arrays_is_reported_on(s2gnn, tmp_path):
    X, y = load_iris(return_X_y=True)
    known = np.where(np.arange(150) % 10 == 0, y, -1)
    estimator = S2GNNClassifier(network="s2gnn", max_epochs=20, n_networks=1, random_state=0).fit(X, known)
    for evaluated, finding in (
        (False, "call evaluate()"),
        (True, "on 15\N{NO-BREAK SPACE}hidden labels"),
    ):
        if evaluated:
            estimator.evaluate(2)
        save_estimator(estimator, tmp_path / "model")
        code, out, err = s2gnn("report", tmp_path / "model", "--out", tmp_path / "r.html", "--json")
        assert (code, err) == (0, "")
        found = json.loads(out)
        assert found["report"] == str(tmp_path / "r.html")
        assert finding in found["findings"]["How accurate is it?"]
    assert "| accuracy |" in (tmp_path / "model" / "README.md").read_text()


def test_wrong_input_is_one_sentence(s2gnn, tmp_path):
    for arguments, message in [
        (["report", tmp_path / "nothing"], "nothing does not exist: give a folder written by s2gnn fit"),
        (["report", tmp_path, "--out", tmp_path / "r.pdf"], "r.pdf does not end in .html"),
        (["report", tmp_path], "is missing or not a plain file"),
        (["fit", tmp_path / "t.csv", "--label", "y", "--out", tmp_path / "m", "--report", "r.txt"], "end in .html"),
    ]:
        code, _, err = s2gnn(*arguments)
        assert code == 2
        assert message in err
        assert err.startswith("s2gnn: ")
        assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
