import csv

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.estimator import load_estimator, save_estimator
from s2gnn.estimator.folder import EVIDENCE
from s2gnn.report.glance import glance
from s2gnn.report.subject import load_subject
from s2gnn.report.unsure import doubt, least_sure
from tests.cli.tables import IRIS


@pytest.fixture(scope="module")
def subject(classifier_folder):
    return load_subject(classifier_folder)


@pytest.fixture(scope="module")
def table(classifier_folder):
    with (classifier_folder.parent / "iris.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_values_of_the_table_come_back(subject, table):
    columns = {column.name: column for column in subject.columns}
    assert list(columns) == [*IRIS, "size"]
    assert columns["size"].texts(subject.features) == [row["size"] for row in table]
    known = [float(row["sepal width"]) for row in table if row["sepal width"]]
    expected = [float(row["sepal width"] or np.median(known)) for row in table]
    np.testing.assert_allclose(columns["sepal width"].numbers(subject.features), expected, atol=1e-12)
    assert columns["petal length"].texts(subject.features[:1]) == [table[0]["petal length"].removesuffix(".0")]


def test_the_table_at_a_glance(subject, table):
    found = glance(subject)
    assert (found.n_rows, found.n_labelled) == (150, 30)
    missing = sum(row["sepal width"] == "" for row in table)
    assert {column.name: column.missing for column in found.columns} == {
        **dict.fromkeys([*IRIS, "size"], 0), "sepal width": missing,
    }  # fmt: skip
    assert found.n_missing == missing
    assert found.columns[0].name in ("petal length", "petal width [cm]")
    size = next(column for column in found.columns if column.name == "size")
    small = sum(row["size"] == "small" for row in table)
    assert size.summary == f"small {small}, large {150 - small}"
    assert size.bars == (small, 150 - small)
    assert found.left_out == {"": "the names of the rows"}
    assert [group.name for group in found.classes] == ["setosa", "versicolor", "virginica"]
    assert sum(group.predicted for group in found.classes) == 150
    labels = [row["species"] for row in table]
    assert [group.labelled for group in found.classes] == [labels.count(group.name) for group in found.classes]


def test_the_least_sure_rows_are_those_with_the_least_likely_class(subject, table):
    rows = least_sure(subject, limit=5)
    probabilities = subject.estimator.label_distributions_.max(axis=1)
    unlabelled = np.array([row["species"] == "" for row in table])
    expected = np.sort(probabilities[unlabelled])[:5]
    np.testing.assert_allclose([row.sureness for row in rows], expected)
    assert all(unlabelled[row.row] for row in rows)
    first = rows[0]
    ordered = np.sort(subject.answers[first.row])[::-1]
    assert first.sureness + first.second[1] == pytest.approx(ordered[:2].sum())
    assert first.answer == subject.estimator.transduction_[first.row]


def test_quantities_are_doubted_where_the_networks_differ(regressor_folder):
    subject = load_subject(regressor_folder)
    assert subject.classes is None
    networks = subject.estimator._trained_.networks
    estimates = networks.logits.mean(axis=2) * subject.estimator._width_
    np.testing.assert_allclose(doubt(subject), estimates.std(axis=0))
    np.testing.assert_allclose(estimates.mean(axis=0) + subject.estimator._centre_, subject.estimator.transduction_)
    rows = least_sure(subject)
    assert all(row.row % 2 == 0 for row in rows)
    assert rows[0].sureness >= rows[-1].sureness > 0


def test_an_older_folder_is_reported_on_without_labels(classifier_folder, tmp_path):
    for path in classifier_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / EVIDENCE).unlink()
    subject = load_subject(tmp_path)
    assert subject.evidence is None
    found = glance(subject)
    assert found.n_labelled == 30
    assert found.n_missing is None
    assert found.classes[0].labelled is None
    assert len(least_sure(subject)) == 12


def test_an_estimator_without_a_table(classifier_folder, tmp_path):
    save_estimator(load_estimator(classifier_folder)[0], tmp_path / "model")
    subject = load_subject(tmp_path / "model")
    assert subject.label is None
    assert [column.name for column in subject.columns] == [f"x{place}" for place in range(6)]


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="is missing or not a plain file"):
        load_subject(tmp_path)
