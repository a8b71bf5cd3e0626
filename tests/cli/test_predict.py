import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from s2gnn.cli import main
from s2gnn.estimator import TableModel
from tests.cli.interrupts import heed_interrupts
from tests.cli.tables import IRIS, diabetes_table, iris_table


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["s2gnn", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    return exit_info.value.code or 0


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model of 100 flowers, a table of the 50 others, and their species."""
    folder = tmp_path_factory.mktemp("iris")
    iris_table(folder / "iris.csv", every=5, rows=slice(100))
    truth = iris_table(folder / "new.csv", every=1, rows=slice(100, None))
    with pytest.MonkeyPatch.context() as patch:
        fit = ["fit", folder / "iris.csv", "--label", "species", "--folds", 0, "--out", folder / "model", "--json"]
        assert run(patch, *fit) == 0
    return folder, truth


def test_new_rows_and_their_scores(s2gnn, tmp_path, fitted):
    folder, truth = fitted
    code, out, err = s2gnn("predict", folder / "model", folder / "new.csv", "--out", tmp_path / "p.csv")
    assert code == 0, err
    lines = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert list(lines[0]) == ["", *IRIS, "size", "species", "predicted_species", "probability"]
    right = np.mean([line["predicted_species"] for line in lines] == truth)
    assert right > 0.85
    assert "50 rows predicted" in out
    assert f"accuracy: {100 * right:.1f} % (95 % interval" in out
    given = list(csv.DictReader(io.StringIO((folder / "new.csv").read_text())))
    assert [{name: line[name] for name in given[0]} for line in lines] == given


def test_rows_equal_to_training_rows_are_scored_separately(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    truth = iris_table(tmp_path / "all.csv", every=1)  # 100 rows of training, 20 of them with a label there, and 50 new
    code, out, err = s2gnn("predict", folder / "model", tmp_path / "all.csv", "--out", tmp_path / "p.csv")
    assert code == 0, err
    lines = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    right = np.array([line["predicted_species"] for line in lines]) == truth
    features = [tuple(line[name] for name in (*IRIS, "size")) for line in lines]
    taught = {features[row] for row in range(0, 100, 5)}
    learned = np.array([row in taught for row in features])
    assert learned.sum() >= 20
    assert f"\naccuracy: {100 * right[~learned].mean():.1f} % (95 % interval" in out
    assert f"not scored: {learned.sum()} of 150 labelled rows, which equal a labelled training row\n" in out
    assert f"on {150 - learned.sum()} labelled rows" in out
    code, out, _ = s2gnn("predict", folder / "model", tmp_path / "all.csv", "--out", tmp_path / "p.csv", "--json")
    summary = json.loads(out)
    assert summary["learned_rows"] == learned.sum()
    assert summary["scores"][0]["value"] == pytest.approx(right.mean())
    assert summary["other_scores"][0]["value"] == pytest.approx(right[~learned].mean())


def test_a_table_of_training_rows_only_and_a_folder_that_keeps_no_labels(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    known = s2gnn("predict", folder / "model", folder / "iris.csv")
    assert "not scored: 20 of 20 labelled rows, which equal a labelled training row; the README.md" in known[2]
    assert "accuracy" not in known[2]
    shutil.copytree(folder / "model", tmp_path / "older")
    (tmp_path / "older" / "evidence.npz").unlink()
    iris_table(tmp_path / "taught.csv", every=1, rows=slice(100))
    older = s2gnn("predict", tmp_path / "older", tmp_path / "taught.csv")
    assert "not scored: 100 of 100 labelled rows, which equal a training row" in older[2]


def test_one_row_equal_to_a_training_row(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    lines = (folder / "iris.csv").read_text().splitlines()
    (tmp_path / "one.csv").write_text("\n".join(lines[:2]))
    err = s2gnn("predict", folder / "model", tmp_path / "one.csv")[2]
    assert "not scored: 1 of 1 labelled rows, which equals a labelled training row" in err


def test_other_order_missing_columns_and_unseen_categories(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    (tmp_path / "odd.csv").write_text(
        "size;more;petal width [cm];petal length;sepal width;sepal length\n"
        "giant;x;0,2;1,4;3,5;5,1\n?;x;1,4;4,7;;7\nsmall;x;2,5;NA;3,3;6,3\n"
    )
    code, out, err = s2gnn("predict", folder / "model", tmp_path / "odd.csv")
    assert (code, err) == (0, "")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [line["predicted_species"] for line in lines] == ["setosa", "versicolor", "virginica"]
    assert lines[0]["petal width [cm]"] == "0,2"


def test_a_row_does_not_depend_on_the_others(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    header, *rows = (folder / "new.csv").read_text().splitlines()
    answers = []
    for chosen in (rows, rows[7:8]):
        (tmp_path / "some.csv").write_text("\n".join([header, *chosen]))
        code, out, _ = s2gnn("predict", folder / "model", tmp_path / "some.csv")
        assert code == 0
        answers.append(out.splitlines())
    assert answers[0][8] == answers[1][1]


def test_json_and_tsv(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    code, out, err = s2gnn("predict", folder / "model", folder / "new.csv", "--out", tmp_path / "p.tsv", "--json")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert summary["rows"] == summary["scores"][0]["rows"] == 50
    assert summary["learned_rows"] + summary["other_scores"][0]["rows"] == 50
    assert (tmp_path / "p.tsv").read_text().splitlines()[0].endswith("species\tpredicted_species\tprobability")


def test_quantities(s2gnn, tmp_path):
    truth = diabetes_table(tmp_path / "d.csv")
    fit = ["fit", tmp_path / "d.csv", "--label", "progression", "--folds", 0, "--out", tmp_path / "m", "--json"]
    assert s2gnn(*fit)[0] == 0
    code, out, err = s2gnn("predict", tmp_path / "m", tmp_path / "d.csv")
    assert code == 0
    lines = list(csv.DictReader(io.StringIO(out)))
    assert list(lines[0])[-2:] == ["progression", "predicted_progression"]
    assert np.corrcoef([float(line["predicted_progression"]) for line in lines], truth)[0, 1] > 0.4
    assert "not scored: 100 of 100 labelled rows" in err
    code, out, err = s2gnn("predict", tmp_path / "m", tmp_path / "d.csv", "--interval", 0.9)
    assert code == 0, err
    lines = list(csv.DictReader(io.StringIO(out)))
    assert list(lines[0])[-2:] == ["predicted_progression_low", "predicted_progression_high"]
    low, high = (np.array([float(line[f"predicted_progression_{end}"]) for line in lines]) for end in ("low", "high"))
    assert np.mean((low <= truth) & (truth <= high)) > 0.85
    assert max(len(line["predicted_progression"]) for line in lines) <= len("-0.1234567")


def test_a_row_of_empty_cells_is_predicted_too(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    header, first, second, *_ = (folder / "new.csv").read_text().splitlines()
    (tmp_path / "gaps.csv").write_text("\n".join([header, first, "," * header.count(","), "", second]))
    code, out, _ = s2gnn("predict", folder / "model", tmp_path / "gaps.csv")
    assert (code, len(list(csv.DictReader(io.StringIO(out))))) == (0, 3)


def test_classes_have_no_intervals(s2gnn, fitted):
    code, _, err = s2gnn("predict", fitted[0] / "model", fitted[0] / "new.csv", "--interval", 0.9)
    assert code == 2
    assert "intervals are for quantities, but 'species' has classes with probabilities" in err


def test_quantities_may_have_a_column_called_probability(s2gnn, tmp_path):
    (tmp_path / "t.csv").write_text("x,probability,y\n" + "".join(f"{i},{i * i},{i / 2 or ''}\n" for i in range(12)))
    fit = ["fit", tmp_path / "t.csv", "--label", "y", "--folds", 0, "--out", tmp_path / "m"]
    assert s2gnn(*fit, "--predictions", tmp_path / "p.csv")[0] == 0
    assert (tmp_path / "p.csv").read_text().startswith("row,x,probability,y,predicted_y\n1,0,0,,")
    assert s2gnn("predict", tmp_path / "m", tmp_path / "t.csv")[0] == 0


@pytest.mark.parametrize(
    ("model", "table", "options", "text"),
    [
        ("nowhere", "new.csv", [], "nowhere"),
        (".", "new.csv", [], "estimator.json"),
        ("torn", "new.csv", [], "torn"),
        ("foreign", "new.csv", [], "is damaged: label, task or columns do not belong to the estimator"),
        ("bare", "new.csv", [], "holds an estimator without the columns of a table"),
        ("model", "few.csv", [], "few.csv has no column 'sepal width'"),
        (
            "model",
            "text.csv",
            [],
            "column 'petal width [cm]' of text.csv is 'wide' in row 2, but a value here must be a number",
        ),
        ("model", "again.csv", [], "again.csv already has a column 'predicted_species'"),
        ("model", "new.csv", ["--out", "new.csv"], "new.csv is the table itself, which predictions would replace"),
        ("model", "new.csv", ["--out", "p.pdf"], "p.pdf does not end in .csv or .tsv"),
        ("model", "new.csv", ["--out", "new.csv/p.csv"], "cannot be written"),
        ("model", "new.csv", ["--out", "model/p.csv"], "model/p.csv lies in the model folder model, which s2gnn fit"),
        ("model/", "new.csv", ["--out", "bare/../model/deep/p.csv"], "lies in the model folder model, which s2gnn fit"),
        ("model", "new.csv", ["--json"], "set --out for them"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(s2gnn, tmp_path, monkeypatch, fitted, model, table, options, text):
    folder, _ = fitted
    monkeypatch.chdir(tmp_path)
    shutil.copy(folder / "new.csv", "new.csv")
    for name in ("model", "torn", "foreign", "bare"):
        shutil.copytree(folder / "model", name)
    (tmp_path / "torn" / "model.safetensors").write_bytes(b"torn")
    described = json.loads((tmp_path / "model" / "estimator.json").read_text())
    (tmp_path / "bare" / "estimator.json").write_text(json.dumps({**described, "extra": {}}))
    described["extra"]["table"]["task"] = "regress"
    (tmp_path / "foreign" / "estimator.json").write_text(json.dumps(described))
    (tmp_path / "few.csv").write_text("sepal length,size\n1,small\n")
    columns = ",".join([*IRIS, "size"])
    (tmp_path / "text.csv").write_text(f"{columns}\n1,2,3,4,small\n1,2,3,wide,small\n")
    (tmp_path / "again.csv").write_text(f"{columns},predicted_species\n1,2,3,4,small,setosa\n")
    before = sorted(tmp_path.iterdir())
    code, out, err = s2gnn("predict", model, table, *options)
    assert (code, out) == (2, "")
    assert text in err
    assert err.startswith("s2gnn: ")
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def large_table(folder, path):
    header, *lines = (folder / "new.csv").read_text().splitlines()
    path.write_text("\n".join([header, *(lines * 200)[:10_000]]))


def test_a_large_table_is_announced_with_its_memory(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    large_table(folder, tmp_path / "large.csv")
    code, out, err = s2gnn("predict", folder / "model", tmp_path / "large.csv", "--out", tmp_path / "p.csv")
    assert code == 0
    assert err.startswith("predicting 10,000 rows; expected peak memory ")
    assert "100%" in err
    assert re.search(r"^10,000 rows predicted: .*p\.csv \(\d+ s, (\d+ MiB|\d+\.\d GiB) of memory\)$", out, re.MULTILINE)


@pytest.mark.skipif(sys.platform == "win32", reason="sends an interrupt as POSIX does")
def test_ctrl_c_leaves_nothing_behind(tmp_path, fitted):
    folder, _ = fitted
    large_table(folder, tmp_path / "large.csv")
    command = [sys.executable, "-u", "-m", "s2gnn.cli", "predict", str(folder / "model"), "large.csv", "--out", "p.csv"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=heed_interrupts,
    )
    assert b"predicting 10,000 rows" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["large.csv"]


def test_codes_may_be_categories(s2gnn, tmp_path):
    lines = [f"{i % 3 + 1},{i / 7},{'ab'[i % 3 == 1] if i % 2 else ''}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["site,x,kind", *lines]) + "\n")
    fit = ("fit", tmp_path / "t.csv", "--label", "kind", "--folds", 0, "--out", tmp_path / "model", "--json")
    code, out, err = s2gnn(*fit, "--categorical", "site")
    assert (code, err) == (0, "")
    assert json.loads(out)["categorical"] == ["site"]
    assert TableModel.load(tmp_path / "model").encoder.categories == {"site": ("1", "2", "3")}
    (tmp_path / "new.csv").write_text("x,site\n1,1\n1,2.0\n")
    code, out, _ = s2gnn("predict", tmp_path / "model", tmp_path / "new.csv")
    assert [line.split(",")[2] for line in out.splitlines()[1:]] == ["a", "b"]
    code, _, err = s2gnn(*fit, "--categorical", "sites")
    assert (code, "t.csv has no column 'sites': did you mean 'site'?" in err) == (2, True)
    code, out, err = s2gnn("label", tmp_path / "t.csv", "--label", "kind", "--categorical", "site", "--list", 2)
    assert (code, err) == (0, "")


def test_explanations_are_written(s2gnn, tmp_path, fitted):
    folder, _ = fitted
    given = list(csv.DictReader(io.StringIO((folder / "new.csv").read_text())))[:3]
    with (tmp_path / "three.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*IRIS, "size"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(given)
    arguments = ["predict", folder / "model", tmp_path / "three.csv", "--out", tmp_path / "p.csv"]
    code, _, err = s2gnn(*arguments, "--explain", tmp_path / "why.csv", "--probabilities")
    assert code == 0, err
    lines = list(csv.DictReader(io.StringIO((tmp_path / "why.csv").read_text())))
    predicted = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert {line["row"] for line in lines} == {"1", "2", "3"}
    species = ["setosa", "versicolor", "virginica"]
    for number, line in enumerate(predicted, start=1):
        of_classes = {name: float(line[f"probability_{name}"]) for name in species if f"probability_{name}" in line}
        assert sum(of_classes.values()) == pytest.approx(1, abs=2e-6)
        assert of_classes[line["predicted_species"]] == max(of_classes.values()) == float(line["probability"])
        parts = [one for one in lines if (one["row"], one["kind"]) == (str(number), "member")]
        assert {one["predicted_species"] for one in parts} == {line["predicted_species"]}
        assert sum(float(one["effect"]) for one in parts) == pytest.approx(float(line["probability"]))
    code, _, err = s2gnn(*arguments, "--explain", tmp_path / "p.csv")
    assert code == 2
    assert "--out and --explain are both" in err
