import copy
import json

import numpy as np
import pandas as pd
import pytest

from s2gnn import InputError
from s2gnn.estimator import TableModel, load_estimator, save_estimator
from s2gnn.tables import Table, encode_table, read_table
from tests.cli.tables import diabetes_table, iris_table

QUICK = {"max_epochs": 30, "n_networks": 1, "random_state": 0}


def fitted(table, label):
    return TableModel.fit(encode_table(table, label), **QUICK)


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """A model of iris with a tenth of the labels, its table, and the true species."""
    path = tmp_path_factory.mktemp("tables") / "iris.csv"
    truth = iris_table(path)
    table = read_table(path)
    return fitted(table, "species"), table, truth


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "diabetes.csv"
    truth = diabetes_table(path)
    table = read_table(path)
    return fitted(table, "progression"), table, truth


def test_classes_and_their_probabilities_are_those_of_the_estimator(flowers):
    model, table, truth = flowers
    prediction = model.predict(table)
    assert list(prediction) == ["predicted_species", "probability"]
    assert np.mean(prediction["predicted_species"] == truth) > 0.85
    np.testing.assert_array_equal(prediction["predicted_species"], model.estimator.transduction_)
    likeliest = model.estimator.label_distributions_.max(axis=1)
    np.testing.assert_allclose(prediction["probability"], likeliest, atol=1e-2)  # two flowers are equal
    np.testing.assert_array_equal(model.transduction()["predicted_species"], prediction["predicted_species"])


def test_quantities_have_no_probabilities(patients):
    model, table, _ = patients
    prediction = model.predict(table)
    assert list(prediction) == ["predicted_progression"]
    np.testing.assert_array_equal(prediction["predicted_progression"], model.estimator.transduction_)
    np.testing.assert_array_equal(model.transduction(), prediction)


def test_scores_are_of_the_rows_that_have_a_label(flowers, patients):
    model, table, truth = flowers
    known = ~table.missing("species")
    accuracy, *_ = model.scores(table, model.predict(table), "again")
    right = model.predict(table)["predicted_species"][known] == truth[known]
    assert (accuracy.name, accuracy.rows, accuracy.how) == ("accuracy", 15, "again")
    assert accuracy.value == pytest.approx(right.mean())
    model, table, truth = patients
    error, r2 = model.scores(table, model.predict(table), "again")
    residuals = (model.predict(table)["predicted_progression"] - truth)[~table.missing("progression")]
    assert (error.name, error.rows, r2.name) == ("mean absolute error", 100, "R²")
    assert error.value == pytest.approx(np.abs(residuals).mean())
    assert r2.value == pytest.approx(1 - np.sum(residuals**2) / np.sum((truth[1::2] - truth[1::2].mean()) ** 2))


def test_scores_need_labels_and_an_unknown_class_is_wrong(flowers):
    model, table, _ = flowers
    frame = table.to_frame().iloc[:1].drop(columns="species")
    for changes, values in (({}, []), ({"species": "?"}, []), ({"species": "rose"}, [0.0])):
        new = Table.from_frame(frame.assign(**changes))
        assert [score.value for score in model.scores(new, model.predict(new), "")] == values


def test_numbers_as_classes_are_the_same_with_and_without_a_fraction():
    """A data frame writes 1 as 1.0 in a column with missing labels, and as 1 in one without."""
    x = np.random.default_rng(0).normal(size=40) + np.repeat([0, 8], 20)
    labels = ["0.0", "", "0.0", ""] * 5 + ["1.0", "", "1.0", ""] * 5
    model = fitted(pd.DataFrame({"x": x, "y": labels}), "y")
    new = Table.from_frame(pd.DataFrame({"x": [0.1, 7.9], "y": ["0", "1"]}))
    assert model.predict(new)["predicted_y"].tolist() == ["0", "1"]
    assert model.scores(new, model.predict(new), "")[0].value == 1


@pytest.mark.parametrize("which", ["flowers", "patients"])
def test_a_loaded_model_answers_alike(which, request, tmp_path):
    model, table, _ = request.getfixturevalue(which)
    model.save(tmp_path / "model")
    loaded = TableModel.load(tmp_path / "model")
    assert (loaded.label, loaded.task) == (model.label, model.task)
    assert loaded.encoder.state() == model.encoder.state()
    assert (loaded.source, loaded.missing, loaded.left_out) == (model.source, model.missing, model.left_out)
    pd.testing.assert_frame_equal(loaded.predict(table), model.predict(table))


@pytest.mark.parametrize(
    "changes",
    [
        None,
        [],
        {"task": "cluster"},
        {"task": "regress"},
        {"label": 7},
        {"label": None},
    ],
)
def test_a_description_that_does_not_belong_is_refused(flowers, tmp_path, changes):
    flowers[0].save(tmp_path / "model")
    path = tmp_path / "model" / "estimator.json"
    described = json.loads(path.read_text())
    table = described["extra"]["table"]
    described["extra"]["table"] = {**table, **changes} if changes else changes
    path.write_text(json.dumps(described))
    with pytest.raises(InputError, match="model") as error:
        TableModel.load(tmp_path / "model")
    assert "\n" not in str(error.value)


DAMAGED_ENCODERS = [
    {},
    {"numeric": [], "categorical": []},
    {"numeric": [{"column": "a", "median": 0, "mean": 0, "scale": 1}], "categorical": []},
]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("encoder", [None, *DAMAGED_ENCODERS])
def test_columns_are_read_where_any_release_stored_them(flowers, tmp_path, early, encoder):
    """Early releases stored the encoder next to the label, not with the estimator."""
    model, table, _ = flowers
    model.save(tmp_path / "model")
    stored = model.encoder.state() if encoder is None else encoder
    if early:
        estimator = copy.copy(model.estimator)
        estimator.encoder_, estimator.n_features_in_ = None, model.encoder.n_features
        del estimator.feature_names_in_
        extra = {"label": model.label, "task": model.task, "columns": stored}
        save_estimator(estimator, tmp_path / "model", {"table": extra})
    else:
        path = tmp_path / "model" / "estimator.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "encoder": stored}))
    if encoder is None:
        pd.testing.assert_frame_equal(TableModel.load(tmp_path / "model").predict(table), model.predict(table))
    else:
        with pytest.raises(InputError, match="model.*damaged"):
            TableModel.load(tmp_path / "model")


def test_an_estimator_without_columns_is_no_model_of_a_table(flowers, tmp_path):
    save_estimator(flowers[0].estimator, tmp_path / "model")
    with pytest.raises(InputError, match="an estimator without the columns of a table"):
        TableModel.load(tmp_path / "model")
    assert load_estimator(tmp_path / "model")[1] == {}


def test_a_data_frame_is_the_same_table(flowers):
    model, table, _ = flowers
    frame = table.to_frame().replace("", None)
    again = fitted(frame.drop(columns=""), "species")
    np.testing.assert_array_equal(again.estimator.label_distributions_, model.estimator.label_distributions_)
    pd.testing.assert_frame_equal(again.predict(frame), model.predict(table))
