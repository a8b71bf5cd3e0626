import csv

import numpy as np
import pytest

from s2gnn import InputError, S2GNNClassifier
from s2gnn.estimator import load_estimator, save_estimator
from s2gnn.estimator.folder import EVIDENCE
from s2gnn.labelling import suggest
from s2gnn.report.model import load_model
from tests.cli.tables import IRIS


@pytest.fixture(scope="module")
def table(classifier_folder):
    with (classifier_folder.parent / "iris.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_values_of_the_table_come_back(classifier, table):
    model = classifier.model
    columns = {column.name: column for column in model.columns}
    assert list(columns) == [*IRIS, "size"]
    assert columns["size"].texts(model.estimator.features_) == [row["size"] for row in table]
    widths = model.texts(columns["sepal width"], np.arange(150))
    assert [row for row, text in enumerate(widths) if text == "missing"] == list(range(4, 150, 9))
    known = [float(row["sepal width"]) for row in table if row["sepal width"]]
    expected = [float(row["sepal width"] or np.median(known)) for row in table]
    np.testing.assert_allclose(columns["sepal width"].values(model.estimator.features_), expected, atol=1e-12)
    assert model.columns[model.informative_columns[0]].name in ("petal length", "petal width [cm]")


def test_rows_to_label_are_those_that_s2gnn_label_suggests(classifier, table):
    model = classifier.model
    unlabelled = np.array([row["species"] == "" for row in table])
    np.testing.assert_array_equal(model.unlabelled, np.flatnonzero(unlabelled))
    np.testing.assert_array_equal(model.rows_to_label, suggest(model.estimator, 12))
    (best, probability), (_, other) = model.likely_classes(model.rows_to_label[0])
    assert best == model.estimator.transduction_[model.rows_to_label[0]]
    assert [probability, other] == np.sort(model.predictions[model.rows_to_label[0]])[:0:-1].tolist()


def test_values_are_uncertain_where_the_networks_differ(regressor):
    model = regressor.model
    assert model.classes is None
    assert (model.rows_to_label % 2 == 0).all()
    uncertainty = model.uncertainty[model.rows_to_label]
    assert uncertainty[0] >= uncertainty[-1] > 0


def test_an_older_folder_has_no_labels(classifier_folder, tmp_path):
    for path in classifier_folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / EVIDENCE).unlink()
    model = load_model(tmp_path)
    assert model.card is None
    assert len(model.unlabelled) == 150
    assert len(model.rows_to_label) == 12


def test_an_estimator_without_a_table(classifier_folder, tmp_path):
    estimator = load_estimator(classifier_folder)[0]
    save_estimator(estimator, tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert model.label is None
    assert [column.name for column in model.columns] == estimator.feature_names_in_.tolist()
    numbers = S2GNNClassifier(max_epochs=1).fit(estimator.features_, estimator.transduction_)
    save_estimator(numbers, tmp_path / "model")
    assert [column.name for column in load_model(tmp_path / "model").columns] == [f"x{index}" for index in range(6)]


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="is missing or not a plain file"):
        load_model(tmp_path)
