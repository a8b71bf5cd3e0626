import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from s2gnn.labelling.labels import LabelledCopy
from tests.cli.tables import iris_table


def test_rows_to_label_are_printed(s2gnn, tmp_path):
    path = tmp_path / "iris.csv"
    iris_table(path, every=15)
    code, out, err = s2gnn("label", path, "--label", "species", "--list", "4", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    labelled = LabelledCopy.open(path, "species").labels != ""
    assert len({row["number"] for row in rows}) == 4
    assert not any(labelled[row["number"] - 1] for row in rows)
    code, out, _ = s2gnn("label", path, "--label", "species", "--id", "", "--list", "4")
    assert code == 0
    assert re.search(r"flower \d+ +(setosa|versicolor|virginica) +0\.\d\d", out)
    assert list(tmp_path.iterdir()) == [path]


def test_a_table_without_labels_gets_rows_that_cover_it(s2gnn, tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("x\n" + "\n".join(f"{value}" for value in [*range(10), *range(50, 60)]) + "\n")
    code, out, _ = s2gnn("label", path, "--label", "kind", "--classes", "a,b", "--list", "2", "--json")
    first, second = json.loads(out)["rows"]
    assert (code, first["prediction"]) == (0, None)
    assert (first["number"] <= 10) != (second["number"] <= 10)


def test_a_labelled_table_has_no_row_left(s2gnn, tmp_path):
    (tmp_path / "done.csv").write_text("x,kind\n1,a\n2,b\n")
    code, out, _ = s2gnn("label", tmp_path / "done.csv", "--label", "kind", "--list", "3")
    assert (code, out) == (0, "No row is left to label.\n")


def test_wrong_input_is_one_sentence(s2gnn, tmp_path):
    path = tmp_path / "iris.csv"
    iris_table(path)
    for arguments, problem in (
        (["--label", "specie", "--list", "3"], "did you mean 'species'"),
        (["--label", "species", "--json"], "add --list 20"),
        (["--label", "species", "--image", "size", "--text", "size"], "choose one"),
        (["--label", "species", "--id", "species"], "is both the label and"),
    ):
        code, _, err = s2gnn("label", path, *arguments)
        assert (code, err.count("\n")) == (2, 1)
        assert problem in err


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (
            ["18.5", "21", ""],
            "the labels in column 'mpg' of {path} are quantities, but s2gnn label is for classes: use ",
        ),
        (["", "0.5", ""], "are quantities"),
        ([str(1000 + 37 * i) for i in range(12)], "may be quantities"),
    ],
)
def test_quantities_are_refused_unless_they_are_named_as_classes(s2gnn, tmp_path, labels, problem):
    path = tmp_path / "cars.csv"
    path.write_text("x,mpg\n" + "".join(f"{row * row % 7},{label}\n" for row, label in enumerate([*labels, "", ""])))
    code, out, err = s2gnn("label", path, "--label", "mpg")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert problem.format(path=path) in err
    assert list(tmp_path.iterdir()) == [path]
    assert s2gnn("label", path, "--label", "mpg", "--classes", "21", "--list", 1)[0] == 0


def test_the_page_is_served_to_one_session_and_ends_with_ctrl_c(tmp_path):
    path = tmp_path / "iris.csv"
    iris_table(path)
    command = [sys.executable, "-m", "s2gnn.cli", "label", str(path), "--label", "species", "--no-browser"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as first:
        address = first.stdout.readline().split()[-1]
        with urllib.request.urlopen(address, timeout=20) as page:
            assert "Label species in iris.csv" in page.read().decode()
        second = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
        assert second.returncode == 2
        assert "is being labelled in another window" in second.stderr
        first.send_signal(signal.SIGINT)
        assert first.wait(60) == 130
        assert first.stderr.read() == f"s2gnn: interrupted: the labels are saved in {tmp_path / 'iris.labelled.csv'}\n"
