"""Explanations of single predictions."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_wine

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor
from s2gnn.errors import IdentifiersWarning
from s2gnn.estimator import TableModel, explanation, load_estimator, members, save_estimator
from s2gnn.estimator.known_labels import KnownLabels
from s2gnn.tables import encode_table

QUICK = {"max_epochs": 5, "n_networks": 1, "random_state": 0}
X, Y = load_wine(return_X_y=True)
LABELS = np.where(np.arange(178) % 12 == 0, Y, -1)
VALUES = np.where(np.arange(178) % 8 == 0, X[:, 0], np.nan)


@pytest.fixture(scope="module")
def classifier():
    return S2GNNClassifier(**QUICK).fit(X, LABELS)


@pytest.fixture(scope="module")
def regressor():
    return S2GNNRegressor(**QUICK).fit(X[:, 1:], VALUES)


@pytest.mark.parametrize("row", [5, 12, X[60] * 1.01])  # unlabelled, labelled, new
def test_members_add_up_to_the_prediction(classifier, regressor, row):
    found = classifier.explain(row)
    expected = classifier.label_distributions_[row] if isinstance(row, int) else classifier.predict_proba([row])[0]
    assert found.probability == pytest.approx(expected.max())
    assert found.prediction == classifier.classes_[expected.argmax()]
    assert sum(found.members.values()) == pytest.approx(found.probability)
    value = regressor.explain(row if isinstance(row, int) else row[1:])
    assert sum(value.members.values()) == pytest.approx(value.prediction)
    assert value.probability is None


def test_labels_that_matter_are_those_whose_absence_matters(classifier):
    """Against fits without one label each, with the weights of the blend kept as they are."""
    rows = np.array([5, 40, 65, 90, 130, 170])
    classes = classifier.label_distributions_[rows].argmax(axis=1)

    def blended(predictions):
        return np.tensordot(classifier.blend_.weights, predictions[:, rows, classes], 1)

    changes = []
    for row in range(len(classifier.labelled_)):
        others = KnownLabels(classifier.labelled_, classifier.targets_).without(np.array([row]))
        members = classifier._learn(others, None)
        changes.append(blended(classifier.predictions_) - blended(members.predictions))
    found = np.stack([classifier.explain(int(row)).influence for row in rows], axis=1)
    correlations = [spearmanr(*pair).statistic for pair in zip(found.T, np.array(changes).T, strict=True)]
    assert np.mean(correlations) > 0.6


def test_a_new_row_is_influenced_as_the_row_it_is_next_to(classifier, regressor):
    new, old = classifier.explain(X[65] * (1 + 1e-9)), classifier.explain(65)
    assert (new.row, old.row) == (None, 65)
    assert np.corrcoef(new.influence, old.influence)[0, 1] > 0.95
    assert classifier.explain(X[65]).row == classifier.explain(pd.Series(X[65])).row == 65
    new, old = regressor.explain(X[65, 1:] * (1 + 1e-9)), regressor.explain(65)
    assert np.corrcoef(new.influence, old.influence)[0, 1] > 0.9


def test_columns_are_the_change_without_them(classifier):
    row = X[65] * 1.01
    without = row.copy()
    without[9] = X[:, 9].mean()
    place = classifier.predict_proba([row])[0].argmax()
    p, q = classifier.predict_proba([row, without])[:, place]
    expected = np.log(p / (1 - p)) - np.log(q / (1 - q))
    assert classifier.explain(row).columns["column 9"] == pytest.approx(expected)
    assert classifier.explain(65, {"both": [0, 9]}).columns.keys() == {"both"}


def test_a_loaded_model_explains_the_same(classifier, regressor, tmp_path):
    for estimator in (classifier, regressor):
        save_estimator(estimator, tmp_path / "model")
        loaded, _ = load_estimator(tmp_path / "model")
        pd.testing.assert_frame_equal(loaded.explain(5).frame(), estimator.explain(5).frame())


def test_many_rows_at_once_are_explained_as_one_by_one(classifier, regressor, monkeypatch):
    monkeypatch.setattr(explanation, "VALUES_AT_ONCE", 3 * 4 * 178)  # three rows
    rows = np.vstack([X[[5, 12]], X[[60, 61, 62]] * 1.01])
    for estimator, features in ((classifier, rows), (regressor, rows[:, 1:])):
        together = list(estimator.explain_rows(features))
        assert [found.row for found in together] == [5, 12, None, None, None]
        for found, row in zip(together, features, strict=True):
            pd.testing.assert_frame_equal(found.frame(), estimator.explain(row).frame())
        numbered = [found.frame() for found in estimator.explain_rows([5, 12])]
        pd.testing.assert_frame_equal(pd.concat(numbered), pd.concat([found.frame() for found in together[:2]]))


def test_the_values_of_columns_are_those_of_the_row(tmp_path):
    frame = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 1] > 2, "a", "b"), "hue": X[:, 10]})
    frame.loc[5, "size"] = np.nan
    classifier = S2GNNClassifier(**QUICK).fit(frame, np.where(np.arange(178) % 4 == 0, Y, -1))
    save_estimator(classifier, tmp_path / "model")
    for estimator in (classifier, load_estimator(tmp_path / "model")[0]):
        for row in (5, frame.loc[[5]]):
            assert estimator.explain(row).values == {"size": None, "kind": frame["kind"][5], "hue": X[5, 10]}
        lines = estimator.explain(frame.loc[5]).frame().set_index(["kind", "name"])["value"]
        assert lines["column", "size"] == "missing"
        assert lines["column", "hue"] == X[5, 10]
        assert estimator.explain(frame.loc[[6]] * 1).values["size"] == X[6, 0]
    gaps = np.where(np.eye(178, 13, dtype=bool), np.nan, X)
    numbers = S2GNNClassifier(**QUICK).fit(gaps, np.where(np.arange(178) % 4 == 0, Y, -1))
    assert numbers.explain(2).values["column 2"] is None
    assert numbers.explain(gaps[3] * 1.1).values["column 3"] is None
    assert numbers.explain(gaps[3] * 1.1).values["column 2"] == pytest.approx(1.1 * X[3, 2])


def test_columns_of_wide_tables_are_explained_in_blocks(monkeypatch):
    """All changed rows at once would be the square of the number of columns."""
    wide = np.random.default_rng(0).normal(size=(40, 150))
    classifier = S2GNNClassifier(**QUICK).fit(wide, np.where(np.arange(40) % 4 == 0, wide[:, 0] > 0, -1))
    expected = classifier.explain(wide[7] + 0.1).columns
    sizes, predicted = [], members.Members._predicted
    monkeypatch.setattr(members, "VALUES_AT_ONCE", 5 * 152 * 30)  # thirty rows
    monkeypatch.setattr(
        members.Members, "_predicted", lambda self, rows: sizes.append(len(rows)) or predicted(self, rows)
    )
    assert classifier.explain(wide[7] + 0.1).columns == pytest.approx(expected, abs=1e-9)
    assert sizes == [1, 30, 30, 30, 30, 30, 1]


def test_what_cannot_be_explained(classifier):
    with pytest.raises(InputError, match="the number of a training row is 178, but it must be at most 177"):
        classifier.explain(178)
    with pytest.raises(InputError, match="the number of a training row is 2.5, but it must be an integer"):
        classifier.explain(2.5)
    assert list(classifier.explain_rows([])) == []
    with pytest.raises(InputError, match="explain takes one row, but there are 2: use explain_rows"):
        classifier.explain(X[:2])
    alone = S2GNNClassifier(network="s2gnn", **QUICK).fit(X, LABELS)
    with pytest.raises(InputError, match="networks alone .* cannot be explained"):
        alone.explain(3)


def test_columns_and_identifiers_of_tables():
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 60)
    frame = pd.DataFrame({
        "patient": [f"P{number}" for number in range(60)],
        "length": rng.normal(size=60) + 3 * (kind == "b"),
        "colour": rng.choice(["red", "green", "blue"], 60),
        "kind": np.where(np.arange(60) % 4 == 0, kind, None),
    })  # fmt: skip
    model = TableModel.fit(encode_table(frame, "kind", identifier="patient"), **QUICK)
    first, *others = model.explain(frame, most=3)
    assert list(first) == ["patient", "predicted_kind", "kind", "name", "value", "effect", "unit"]
    assert set(first["name"][first["kind"] == "column"]) == {"length", "colour"}
    effects = pd.concat([first, *others]).query("kind == 'column'").groupby("name")["effect"]
    assert effects.agg(lambda values: values.abs().mean()).idxmax() == "length"
    labels = first[first["kind"] == "labelled row"].set_index("name")["value"]
    assert labels.tolist() == frame.set_index("patient")["kind"][labels.index].tolist()
    own = first[first["kind"] == "column"].set_index("name")["value"]
    assert {name: frame[name][0] for name in own.index} == {**own, "length": pytest.approx(float(own["length"]))}
    assert list(first["unit"].unique()) == ["probability", "probability before calibration", "log-odds"]
    with pytest.warns(IdentifiersWarning, match="'P7' in rows 1 and 2"):
        visits = pd.concat(model.explain(frame[7:9].assign(patient="P7"), most=1))
    assert list(visits)[:2] == ["patient", "row"]
    assert set(zip(visits["patient"], visits["row"], strict=True)) == {("P7", 1), ("P7", 2)}
    kinds = TableModel.fit(encode_table(frame.rename(columns={"patient": "name"}), "kind", identifier="name"), **QUICK)
    assert next(kinds.explain(frame.rename(columns={"patient": "name"}))).columns[0] == "identifier"
    unnamed = next(model.explain(frame.drop(columns="patient")))
    assert unnamed["row"][0] == 1
