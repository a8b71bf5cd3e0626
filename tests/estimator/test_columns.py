"""Data frames and missing values in `fit` and `predict`."""

import pickle

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor
from s2gnn.estimator import TableModel, load_estimator, save_estimator
from s2gnn.tables import encode_table

QUICK = {"max_epochs": 5, "n_networks": 1, "random_state": 0}
N = 60


@pytest.fixture(scope="module")
def frame():
    """Numbers, text, categories, booleans and a nullable integer, each with missing values, and names of the rows."""
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b"], N // 2)
    size = pd.Series(rng.normal(size=N) + 2 * (kind == "a"))
    size[5] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "colour": np.where(np.arange(N) % 7 == 0, None, np.where(rng.random(N) < 0.8, kind, "red")),
            "code": pd.Categorical(rng.integers(1, 4, N), categories=[1, 2, 3]),
            "wet": pd.array(np.where(np.arange(N) % 11 == 0, None, rng.random(N) < 0.5), dtype="boolean"),
            "count": pd.array(np.where(np.arange(N) % 9 == 0, None, rng.integers(0, 30, N)), dtype="Int64"),
            "name": [f"row {i}" for i in range(N)],
        }
    )


@pytest.fixture(scope="module")
def labels():
    return pd.Series(np.where(np.arange(N) % 3 == 0, np.repeat(["a", "b"], N // 2), None), dtype="string")


@pytest.fixture(scope="module")
def classifier(frame, labels):
    return S2GNNClassifier(**QUICK).fit(frame, labels)


def test_a_frame_is_encoded_as_the_command_line_does(frame, labels, classifier):
    model = TableModel.fit(encode_table(frame.assign(kind=labels), "kind"), **QUICK)
    np.testing.assert_array_equal(classifier.features_, model.estimator.features_)
    np.testing.assert_array_equal(classifier.label_distributions_, model.estimator.label_distributions_)
    assert classifier.encoder_.numeric == ("size", "count")
    assert classifier.encoder_.categories["code"] == ("1", "2", "3")
    assert classifier.encoder_.left_out == {"name": "60 distinct texts in 60 rows"}
    assert classifier.feature_names_in_.tolist() == list(frame)
    assert classifier.n_features_in_ == len(frame.columns)


def test_frames_are_predicted_scored_and_explained(frame, labels, classifier):
    np.testing.assert_array_equal(classifier.predict(frame), classifier.transduction_)
    new = frame.assign(size=frame["size"] + 0.01)
    answers = classifier.predict_proba(new)
    np.testing.assert_allclose(answers.sum(axis=1), 1)
    unseen = new.assign(colour="violet", code=pd.Categorical([9] * N), wet=None)
    assert np.isfinite(classifier.predict_proba(unseen)).all()
    known = labels.notna().to_numpy()
    accuracy = np.mean(classifier.predict(frame)[known] == labels[known])
    assert classifier.score(frame, labels) == pytest.approx(accuracy)
    np.testing.assert_allclose(classifier.predict_proba(new.assign(code=new["code"].astype(int))), answers)
    for found in (classifier.explain(3), classifier.explain(new.iloc[[3]])):
        assert list(found.columns) == ["size", "count", "colour", "code", "wet"]


def test_a_regressor_takes_the_same_frames(frame):
    values = np.where(np.arange(N) % 2 == 0, np.arange(N) / N, np.nan)
    regressor = S2GNNRegressor(**QUICK).fit(frame, values)
    np.testing.assert_array_equal(regressor.predict(frame), regressor.transduction_)


def test_encoder_and_medians_are_saved(frame, labels, classifier, tmp_path):
    numbers = frame[["size", "count"]]
    for estimator, rows in ((classifier, frame), (S2GNNClassifier(**QUICK).fit(numbers, labels), numbers)):
        save_estimator(estimator, tmp_path / "model")
        loaded, _ = load_estimator(tmp_path / "model")
        new = rows.assign(size=rows["size"] + 0.01)
        for copy in (loaded, pickle.loads(pickle.dumps(estimator))):
            np.testing.assert_array_equal(copy.predict_proba(rows), estimator.predict_proba(rows))
            np.testing.assert_allclose(copy.predict_proba(new), estimator.predict_proba(new), atol=1e-6)
            assert copy.feature_names_in_.tolist() == list(rows)
            assert copy.n_features_in_ == len(rows.columns)


def test_scale_leaves_the_numbers_of_a_frame_as_they_are(frame, labels):
    classifier = S2GNNClassifier(scale=False, **QUICK).fit(frame, labels)
    size = frame["size"].fillna(frame["size"].median())
    np.testing.assert_array_equal(classifier.features_[:, 0], size)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_missing_numbers_are_medians(labels, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) + np.repeat([0, 2], N // 2)[:, None]
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    imputer = SimpleImputer(strategy="median").fit(holes)
    expected = S2GNNClassifier(**QUICK).fit(form(imputer.transform(holes)), labels)
    classifier = S2GNNClassifier(**QUICK).fit(form(holes), labels)
    np.testing.assert_array_equal(classifier.label_distributions_, expected.label_distributions_)
    np.testing.assert_array_equal(
        classifier.predict_proba(form(holes + 0.01)), expected.predict_proba(form(imputer.transform(holes + 0.01)))
    )
    empty = S2GNNClassifier(**QUICK).fit(form(np.column_stack([X, np.full(N, np.nan)])), labels)
    assert not empty.features_[:, 4].any()
    complete = S2GNNClassifier(**QUICK).fit(form(X), labels)
    medians = np.where(np.isnan(holes), np.median(X, axis=0), holes)
    np.testing.assert_array_equal(complete.predict_proba(form(holes)), complete.predict_proba(form(medians)))


def test_numbers_are_not_encoded(labels):
    X = np.random.default_rng(0).normal(size=(N, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "row"]).assign(row=np.arange(N))
    X[:, 2] = np.arange(N)
    of_frame, of_array = (S2GNNClassifier(**QUICK).fit(form, labels) for form in (frame, X))
    assert of_frame.encoder_ is None
    np.testing.assert_array_equal(of_array.features_, StandardScaler().fit_transform(X))
    np.testing.assert_allclose(of_frame.features_, of_array.features_, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame[list(frame)[::-1]], "Feature names must be in the same order as they were in fit"),
        (lambda frame: frame.drop(columns="wet"), "(?s)Feature names seen at fit time, yet now missing:\n- wet"),
        (lambda frame: frame.assign(more=1), "(?s)Feature names unseen at fit time:\n- more"),
        (lambda frame: frame.assign(size="large"), "column 'size' of X is 'large' in row 1, but a value here must"),
        (lambda frame: frame.assign(size=np.inf), "column 'size' of X is inf in row 1, not a finite number"),
        (
            lambda frame: frame.to_numpy(),
            "X is a ndarray, but this estimator was fitted on the columns of a table: pass a data frame",
        ),
        (lambda frame: frame.iloc[:0], "it needs at least one column and one row"),
    ],
)
def test_other_frames_are_refused(frame, classifier, change, message):
    with pytest.raises(ValueError, match=message):
        classifier.predict(change(frame))


def test_frames_without_a_column_to_learn_from_are_refused(frame, labels):
    with pytest.raises(InputError, match=r"X has no column to learn from \('name': 60 distinct texts in 60 rows\)"):
        S2GNNClassifier(**QUICK).fit(frame[["name"]], labels)


def test_missing_values_of_sparse_matrices_are_refused(labels):
    X = sp.random_array((N, 3), density=0.5, rng=np.random.default_rng(0)).tocsr()
    X.data[0] = np.nan
    with pytest.raises(InputError, match="is nan, but features are finite numbers"):
        S2GNNClassifier(**QUICK).fit(X, labels)


def test_frames_of_polars_are_those_of_pandas(frame, labels):
    of_pandas = frame.drop(columns="code")  # categories of numbers, which polars does not have
    columns = {name: [None if pd.isna(value) else value for value in values] for name, values in of_pandas.items()}
    of_polars = polars.DataFrame(columns).with_columns(polars.col("colour").cast(polars.Categorical))
    expected, found = (S2GNNClassifier(**QUICK).fit(X, labels) for X in (of_pandas, of_polars))
    np.testing.assert_array_equal(found.label_distributions_, expected.label_distributions_)
    np.testing.assert_array_equal(expected.predict(of_polars), expected.transduction_)
    numbers = S2GNNClassifier(**QUICK).fit(polars.DataFrame({"a": np.arange(60.0), "b": [None, 2] * 30}), labels)
    assert numbers.feature_names_in_.tolist() == ["a", "b"]


def test_names_with_a_zero_byte_are_refused(labels):
    """NumPy drops it from the end of stored text, so that the names of a saved model would differ."""
    numbers = pd.DataFrame({"a\0": np.arange(60.0)})
    for frame in (numbers, numbers.assign(kind="b")):
        with pytest.raises(InputError, match=r"the name 'a\\x00' of a column of X has a zero byte: rename the column"):
            S2GNNClassifier(**QUICK).fit(frame, labels)
