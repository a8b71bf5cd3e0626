import json

from s2gnn.estimator import save_estimator
from s2gnn.estimator.evidence import load_evidence
from s2gnn.estimator.folder import EVIDENCE, load_estimator
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
    estimator, _ = load_estimator(tmp_path / "model")
    evidence = load_evidence(tmp_path / "model", estimator)
    assert [estimator.classes_[code] for code in evidence.targets] == truth[evidence.labelled].tolist()
    assert evidence.missing["sepal width"] == 17
    assert evidence.left_out == {"": "the names of the rows"}
    assert evidence.hidden.answers.shape == (15, 3)

    code, out, err = s2gnn("report", tmp_path / "model")
    assert code == 0, err
    assert "How accurate is it? Accuracy on 15\N{NO-BREAK SPACE}hidden labels" in out
    assert out.rstrip().endswith(str(tmp_path / "model" / "report.html"))
    assert (tmp_path / "model" / "report.html").read_text() == first
    assert load_estimator(tmp_path / "model")[0].n_labelled_ == 15


def test_an_estimator_saved_from_python(s2gnn, tmp_path):
    iris_table(tmp_path / "iris.csv")
    s2gnn("fit", tmp_path / "iris.csv", "--label", "species", "--folds", 0, "--out", tmp_path / "model")
    estimator, _ = load_estimator(tmp_path / "model")
    save_estimator(estimator, tmp_path / "plain")
    assert not (tmp_path / "plain" / EVIDENCE).exists()
    code, out, err = s2gnn("report", tmp_path / "plain", "--out", tmp_path / "r.html", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["report"] == str(tmp_path / "r.html")
    assert "This folder contains no labels" in found["findings"]["How accurate is it?"]


def test_wrong_input_is_one_sentence(s2gnn, tmp_path):
    for arguments, message in [
        (["report", tmp_path / "nothing"], "nothing is not a folder: give a folder that s2gnn fit"),
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
