import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.labelling.labels import LabelledCopy
from s2gnn.tables import read_table
from tests.labelling.conftest import write_blobs


def test_labels_go_to_a_copy_and_the_table_stays(tmp_path):
    path = tmp_path / "blobs.csv"
    write_blobs(path, labelled=(0, 39))
    before = path.read_bytes()
    LabelledCopy.open(path, "kind").set(5, "a")
    assert path.read_bytes() == before
    copy = LabelledCopy.open(path, "kind")
    assert copy.path == tmp_path / "blobs.labelled.csv"
    assert {row: label for row, label in enumerate(copy.labels) if label} == {0: "a", 5: "a", 39: "b"}
    copy.set(5, "")
    assert copy.path.read_bytes() == before


def test_odd_values_survive_the_copy(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('a;b;kind\n2,5;"x ""y""\n;z";\n3,5;=1+1;c\n', encoding="utf-8")
    LabelledCopy.open(path, "kind").set(0, "ü, d")
    copy = LabelledCopy.open(path, "kind")
    assert copy.labels.tolist() == ["ü, d", "c"]
    again = read_table(copy.path)
    assert again.numbers("a", "", "").tolist() == [2.5, 3.5]
    assert again.column("b").tolist() == ['x "y"\n;z', "=1+1"]


def test_numbers_of_an_archive_survive_the_copy(tmp_path):
    path = tmp_path / "points.npz"
    X = np.array([[1 / 3, 1e-20], [2.0, np.nan]])
    np.savez(path, X=X, y=np.array([-1, 4]))
    LabelledCopy.open(path, "y").set(0, "7")
    copy = LabelledCopy.open(path, "y")
    assert (copy.path.name, copy.labels.tolist()) == ("points.labelled.csv", ["7", "4"])
    np.testing.assert_array_equal(read_table(copy.path).numbers("x0", "", ""), X[:, 0])


def test_a_missing_column_is_only_added_on_request(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("x\n1\n2\n")
    with pytest.raises(InputError, match="has no column 'kind': .*; to add the column, name its classes"):
        LabelledCopy.open(path, "kind")
    LabelledCopy.open(path, "kind", new_column=True).set(1, "a")
    assert (tmp_path / "bare.labelled.csv").read_text() == "x,kind\n1,\n2,a\n"


def test_a_copy_of_another_table_is_refused(tmp_path):
    path = tmp_path / "blobs.csv"
    path.write_text("x,kind\n1,\n2,\n")
    LabelledCopy.open(path, "kind").set(0, "a")
    for text, problem in {
        "x,kind\n1,\n3,\n": "row 2 of .* has another value of 'x'",
        "x,kind\n1,\n": "has 2 rows, but .* has 1: rename or remove it",
        "z,kind\n1,\n2,\n": "has other columns",
    }.items():
        path.write_text(text)
        with pytest.raises(InputError, match=problem):
            LabelledCopy.open(path, "kind")


def test_a_label_that_cannot_be_written_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "blobs.csv"
    write_blobs(path)
    copy = LabelledCopy.open(path, "kind")

    def full(*_):
        raise OSError(28, "No space left on device", "blobs.labelled.csv")

    monkeypatch.setattr("s2gnn.labelling.labels.write_atomically", full)
    with pytest.raises(OSError, match="No space left"):
        copy.set(0, "a")
    assert copy.labels[0] == ""
