"""The contract with scikit-learn: its own checks, and the tools that people use estimators with."""

import pickle

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import sklearn
import torch
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_regression
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from s2gnn import InputError, S2GNNClassifier, S2GNNRegressor

QUICK = {"max_epochs": 30, "n_networks": 1, "random_state": 0}

WEIGHTS = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "it removes rows of weight zero and repeats others, but here all rows stay in the graph; test_sample_weight.py "
    "compares with the same rows unlabelled",
)

NOT_APPLICABLE = {
    "S2GNNClassifier": WEIGHTS
    | {
        "check_classifiers_classes": "its last part takes -1 for a class, but -1 marks a row without a label",
    },
    "S2GNNRegressor": WEIGHTS
    | {
        "check_regressors_train": "it sets a parameter called alpha to 0.01, the strength of a penalty elsewhere, but "
        "here the number of Hadamard powers; test_regressor_learns_noisy_lines makes the check without that",
    },
}


@parametrize_with_checks(
    [S2GNNClassifier(**QUICK), S2GNNRegressor(**{**QUICK, "max_epochs": 60})],
    expected_failed_checks=lambda estimator: NOT_APPLICABLE[type(estimator).__name__],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_regressor_learns_noisy_lines(dtype):
    X, y = make_regression(n_samples=200, n_features=10, n_informative=1, bias=5.0, noise=20, random_state=42)
    regressor = S2GNNRegressor(**{**QUICK, "max_epochs": 60})
    X, y = scale(X).astype(dtype), scale(y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        regressor.fit(X, y[:-1])
    assert regressor.fit(X.tolist(), y.tolist()).predict(X).shape == y.shape
    assert regressor.score(X, y) > 0.5


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    labels = np.where(np.arange(150) % 5 == 0, y, -1)
    return X, y, labels


def test_pipelines_searches_and_cross_validation_work_with_unlabelled_rows(iris):
    X, y, labels = iris
    pipeline = make_pipeline(MinMaxScaler(), S2GNNClassifier(**QUICK))
    assert pipeline.fit(X, labels).score(X, y) > 0.85
    scores = cross_val_score(S2GNNClassifier(**QUICK), X, labels, cv=StratifiedKFold(2))
    assert scores.min() > 0.7
    search = GridSearchCV(S2GNNClassifier(**QUICK), {"k": [3, 10]}, cv=2).fit(X, labels)
    assert search.best_params_["k"] in (3, 10)
    assert set(search.predict(X)) <= {0, 1, 2}


@pytest.fixture(scope="module")
def flowers(iris):
    """Iris as a data frame with a category, missing values and weights of the labels."""
    X, y, labels = iris
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["size"] = pandas.Categorical(np.where(X[:, 2] > 4, "large", "small"))
    frame.loc[::7, ["b", "size"]] = None
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)
    weights = np.where(np.arange(150) % 2 == 0, 1.0, 3.0)
    return frame, names[y], np.where(labels < 0, None, names[y]), weights


def test_weights_are_routed_through_pipelines_and_cross_validation(flowers):
    frame, truth, labels, weights = flowers
    selected = make_column_transformer(("passthrough", ["a", "c", "size"]), verbose_feature_names_out=False)
    selected.set_output(transform="pandas")
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = S2GNNClassifier(**QUICK).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(selected, classifier).fit(frame, labels, sample_weight=weights)
        direct = clone(classifier).fit(frame[["a", "c", "size"]], labels, sample_weight=weights)
        np.testing.assert_array_equal(pipeline.predict_proba(frame), direct.predict_proba(frame[["a", "c", "size"]]))
        scores = cross_val_score(pipeline, frame, labels, cv=KFold(2, shuffle=True, random_state=0),
                                 params={"sample_weight": weights})  # fmt: skip
        assert scores.min() > 0.7
    assert pipeline.score(frame, truth) > 0.85


def test_searches_stacks_and_calibration_take_data_frames(flowers):
    frame, truth, labels, _ = flowers
    search = GridSearchCV(S2GNNClassifier(**QUICK), {"k": [3, 10]}, cv=KFold(2, shuffle=True, random_state=0))
    assert search.fit(frame, labels).score(frame, truth) > 0.85
    numbers = make_pipeline(make_column_transformer((SimpleImputer(), ["a", "b", "c"])), LogisticRegression())
    stack = StackingClassifier([("graph", S2GNNClassifier(**QUICK)), ("linear", numbers)], cv=2)
    assert stack.fit(frame, truth).score(frame, truth) > 0.85
    calibrated = CalibratedClassifierCV(S2GNNClassifier(**QUICK), cv=2).fit(frame, truth)
    assert np.mean(calibrated.predict(frame) == truth) > 0.85


def test_there_is_no_transform():
    """`set_output` and `get_feature_names_out` are those of transformers."""
    assert not any(hasattr(S2GNNClassifier(), name) for name in ("transform", "set_output", "get_feature_names_out"))


def test_clones_and_pickles_answer_alike(iris):
    X, _, labels = iris
    classifier = S2GNNClassifier(**QUICK).fit(X, labels)
    again = clone(classifier).fit(X, labels)
    new = X[:20] + 0.05
    np.testing.assert_array_equal(again.predict_proba(new), classifier.predict_proba(new))
    restored = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(restored.predict_proba(new), classifier.predict_proba(new))
    state = torch.get_rng_state()
    other = clone(classifier).set_params(random_state=1).fit(X, labels)
    assert torch.equal(torch.get_rng_state(), state)
    assert not np.array_equal(other.label_distributions_, classifier.label_distributions_)


def test_sparse_features_are_the_same_features(iris):
    X, _, labels = iris
    X = X + np.random.default_rng(0).normal(0, 0.01, X.shape)  # rows equally far would make the choice of neighbours
    dense, sparse = (
        S2GNNClassifier(network="s2gnn", scale=False, **QUICK).fit(form, labels) for form in (X, sp.csr_matrix(X))
    )
    np.testing.assert_allclose(sparse.label_distributions_, dense.label_distributions_, atol=1e-5)
    new = X[:20] + 0.05
    for estimator in (dense, sparse):
        np.testing.assert_allclose(estimator.predict_proba(sp.csr_array(new)), estimator.predict_proba(new), atol=1e-12)
    np.testing.assert_array_equal(sparse.predict(X), sparse.transduction_)


def test_sparse_features_may_have_64_bit_indices(iris):
    X, _, labels = iris
    narrow, wide = sp.csr_array(X), sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    first, second = (S2GNNClassifier(**QUICK).fit(form, labels) for form in (narrow, wide))
    np.testing.assert_array_equal(first.label_distributions_, second.label_distributions_)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"graph": "complete"}, "graph is 'complete', but it must be one of knn, smooth, precomputed"),
        ({"graph": "precomputed"}, 'adjacency of fit requires graph="precomputed", but it is missing'),
        ({"k": 0}, "k is 0"),
        ({"alpha": 1.5}, "alpha is 1.5"),
        ({"validation_fraction": 1.0}, "validation_fraction is 1.0"),
        ({"n_networks": 0}, "n_networks is 0"),
        ({"max_epochs": -1}, "epochs is -1"),
        ({"graph": lambda X: X}, "the return value of the function given as graph is a ndarray"),
        ({"graph": lambda X: sp.eye_array(3).tocsr() * 0}, "has 3 nodes, but X has 150 rows"),
    ],
)
def test_parameters_are_checked_in_fit(iris, changes, message):
    X, _, labels = iris
    estimator = S2GNNClassifier(**{**QUICK, **changes})
    with pytest.raises(InputError, match=message):
        estimator.fit(X, labels)


def test_constant_features_tell_nothing():
    with pytest.raises(InputError, match="every column of X is constant"):
        S2GNNClassifier(**QUICK).fit(np.ones((6, 2)), [0, 1, 0, 1, -1, -1])


def test_balanced_weights_rescue_a_rare_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [180, 20])
    X = rng.normal(size=(200, 2)) + 1.2 * y[:, None]
    plain, balanced = (
        S2GNNClassifier(class_weight=weight, **QUICK).fit(X, y).transduction_ for weight in (None, "balanced")
    )
    assert np.mean(balanced[y == 1] == 1) > np.mean(plain[y == 1] == 1)
    with pytest.raises(ValueError, match="class_weight"):
        S2GNNClassifier(class_weight="heavy", **QUICK).fit(X, y)


def test_enough_labels_are_validated_and_few_are_not(iris):
    X, y, labels = iris
    many = S2GNNClassifier(**QUICK).fit(np.vstack([X, X + 0.01]), np.tile(y, 2))
    few = S2GNNClassifier(**QUICK).fit(X, labels)
    assert len(many.history_[0].val_loss) > 0
    assert few.history_[0].val_loss == []
    assert len(few.history_[0].train_loss) == QUICK["max_epochs"]
    assert (many.n_labelled_, few.n_labelled_) == (300, 30)


def test_names_of_columns_are_kept_and_compared(iris):
    X, _, labels = iris
    names = ["a", "b", "c", "d"]
    classifier = S2GNNClassifier(**QUICK).fit(pandas.DataFrame(X, columns=names), labels)
    assert classifier.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(pandas.DataFrame(X, columns=names[::-1]))


@pytest.mark.parametrize("dtype", [object, str, "string"])
def test_blank_text_marks_rows_without_a_label(iris, dtype):
    """As in files: pandas.read_csv(..., keep_default_na=False) leaves empty cells as empty text."""
    X, y, labels = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    blank = pandas.Series(np.where(labels < 0, np.resize(["", "  "], 150), names)).astype(dtype)
    found = S2GNNClassifier(**QUICK).fit(X, blank)
    expected = S2GNNClassifier(**QUICK).fit(X, np.where(labels < 0, None, names))
    assert found.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    np.testing.assert_array_equal(found.label_distributions_, expected.label_distributions_)
    assert found.score(X, blank.to_numpy()) == expected.score(X, np.where(labels < 0, None, names))


def test_a_failed_fit_leaves_the_estimator_as_it_was(iris):
    X, _, labels = iris
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"]).assign(size=np.where(X[:, 2] > 4, "large", "small"))
    classifier = S2GNNClassifier(**QUICK).fit(frame, labels)
    before = vars(classifier).copy()
    with pytest.raises(InputError, match="none of the 150 rows has a label"):
        classifier.fit(X, np.full(150, -1))
    assert vars(classifier) == before
    unfitted = S2GNNClassifier(**QUICK)
    with pytest.raises(InputError, match="every column of X is constant"):
        unfitted.fit(np.ones((150, 2)), labels)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


def test_missing_values_of_pandas_mark_rows_without_a_label(iris):
    X, y, labels = iris
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    plain = np.where(labels < 0, None, names)
    first, second = (S2GNNClassifier(**QUICK).fit(X, y) for y in (plain, pandas.Series(plain, dtype="string")))
    np.testing.assert_array_equal(second.label_distributions_, first.label_distributions_)
    assert second.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert second.score(X, pandas.Series(plain, dtype="string")) == first.score(X, plain)
    values = np.where(labels < 0, pandas.NA, X[:, 0].astype(object))
    known = np.where(labels < 0, np.nan, X[:, 0])
    first, second = (S2GNNRegressor(**QUICK).fit(X, y) for y in (known, values))
    np.testing.assert_array_equal(second.transduction_, first.transduction_)
