"""The learners of the base predictor: linear and kernel models and forests, each as arrays, with held-out predictions.

A learner predicts the probabilities of classes (Q, C), or a value (Q, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from s2gnn.errors import InputError
from s2gnn.estimator.evaluation import hidden_folds
from s2gnn.estimator.forest import VALUES_AT_ONCE, Forest
from s2gnn.estimator.known_labels import relative

FOLDS = 5
ITERATIONS = 300
N_TREES = 100
PENALTY = 1.0  # of the linear models
KERNEL_PENALTY = 0.1
MOST_LANDMARKS = 500
SMALLEST_EIGENVALUE = 1e-8  # relative to the largest


@dataclass(frozen=True)
class KnownTargets:
    """The targets of a learner.

    Attributes:
        values: classes 0..C−1, each of them present, or quantities, (n,).
        n_classes: C; `None` for quantities.
        weights: weights of the rows, with mean 1, (n,); `None` if all are equal.
        groups: groups of rows that are hidden together, (n,); `None` if each row is on its own.
    """

    values: NDArray[Any]
    n_classes: int | None
    weights: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None

    @property
    def n_outputs(self) -> int:
        """The number of columns of a prediction."""
        return 1 if self.n_classes is None else self.n_classes

    def at(self, rows: NDArray[Any]) -> tuple[KnownTargets, NDArray[np.int64]]:
        """Return the targets of some rows, and the classes that are present among them."""
        weights = None if self.weights is None else relative(self.weights[rows])
        if self.n_classes is None:
            return KnownTargets(self.values[rows], None, weights), np.zeros(1, dtype=np.int64)
        present, codes = np.unique(self.values[rows], return_inverse=True)
        return KnownTargets(codes, len(present), weights), present

    def mean_prediction(self) -> NDArray[np.float64]:
        """Return the share of each class, or the mean, (outputs,)."""
        if self.n_classes is None:
            return np.array([np.average(self.values, weights=self.weights)])
        counts = np.bincount(self.values, self.weights, minlength=self.n_classes)
        return np.asarray(counts / counts.sum())


@dataclass(frozen=True)
class Linear:
    """softmax(X W + b), or X W + b for a value, limited to the range of the known ones.

    Without the limits, a row far from the others would get a value far from all known ones.
    """

    coefficients: NDArray[np.float64]  # W, (M, outputs)
    intercept: NDArray[np.float64]  # b, (outputs,)
    limits: NDArray[np.float64] = field(default_factory=lambda: np.array([-np.inf, np.inf]))  # of values, (2,)

    @classmethod
    def fit(cls, X: Any, targets: KnownTargets, penalty: float = PENALTY) -> Linear:
        """Fit multinomial logistic regression or ridge regression on rows (n, M)."""
        model: Any
        if targets.n_classes is None:
            model = Ridge(penalty).fit(X, targets.values, targets.weights)
            limits = np.array([targets.values.min(), targets.values.max()], dtype=np.float64)
            return cls(model.coef_[:, None], np.array([model.intercept_], dtype=np.float64), limits)
        model = LogisticRegression(C=1 / penalty, max_iter=ITERATIONS, tol=1e-3)
        model.fit(X, targets.values, targets.weights)
        if targets.n_classes > 2:
            return cls(model.coef_.T, model.intercept_)
        signs = np.array([-0.5, 0.5])  # one row of coefficients for the difference of two classes
        return cls(model.coef_.T * signs, model.intercept_ * signs)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the rows of `X` (Q, M)."""
        outputs: NDArray[np.float64] = X @ self.coefficients + self.intercept
        return np.clip(outputs, *self.limits) if len(self.intercept) == 1 else softmax(outputs, axis=1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for a model folder."""
        return {name: array for name, array in vars(self).items() if np.isfinite(array).all()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], columns: int, outputs: int) -> Linear:
        """Return the learner of `arrays`; an `InputError` if they do not fit."""
        names = ("coefficients", "intercept", *(["limits"] if "limits" in arrays else []))  # earlier releases had none
        found = cls(*(arrays[name].astype(np.float64) for name in names))
        fits = (found.coefficients.shape, found.intercept.shape) == ((columns, outputs), (outputs,))
        fits = fits and found.limits.shape == (2,) and bool(found.limits[0] <= found.limits[1])
        if not fits or not all(np.isfinite(array).all() for array in (found.coefficients, found.intercept)):
            raise InputError("it has arrays that are not a linear model")
        return found


@dataclass(frozen=True)
class Kernel:
    r"""A linear model on Gaussian kernels :math:`\exp(-\lVert x - l_j \rVert^2 / M)` of landmarks l."""

    landmarks: NDArray[np.float64]  # (m, M)
    linear: Linear  # on the kernels, (m, outputs)

    @classmethod
    def fit(cls, X: NDArray[np.float64], targets: KnownTargets) -> Kernel:
        """Fit on rows (n, M), which are the landmarks unless there are more than 500 (the Nyström method)."""
        chosen = np.random.default_rng(0).permutation(len(X))[:MOST_LANDMARKS]
        landmarks = X[np.sort(chosen)]
        values, vectors = np.linalg.eigh(gaussian_kernel(landmarks, landmarks))
        kept = values > SMALLEST_EIGENVALUE * values[-1]
        projection = vectors[:, kept] / np.sqrt(values[kept])  # K P has the inner products of the kernel
        on_projected = Linear.fit(gaussian_kernel(X, landmarks) @ projection, targets, KERNEL_PENALTY)
        return cls(landmarks, replace(on_projected, coefficients=projection @ on_projected.coefficients))

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predict the rows of `X` (Q, M)."""
        predicted = np.empty((len(X), len(self.linear.intercept)))
        at_once = VALUES_AT_ONCE // len(self.landmarks)
        for start in range(0, len(X), at_once):
            rows = slice(start, start + at_once)
            predicted[rows] = self.linear.predict(gaussian_kernel(X[rows], self.landmarks))
        return predicted

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for a model folder."""
        return {"landmarks": self.landmarks, **self.linear.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], columns: int, outputs: int) -> Kernel:
        """Return the learner of `arrays`; an `InputError` if they do not fit."""
        landmarks = arrays["landmarks"].astype(np.float64)
        if landmarks.shape[1:] != (columns,) or not np.isfinite(landmarks).all():
            raise InputError("it has landmarks of other columns")
        return cls(landmarks, Linear.from_arrays(arrays, len(landmarks), outputs))


def gaussian_kernel(X: NDArray[np.float64], landmarks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(−‖x − l‖² / M) for rows (Q, M) and landmarks (m, M), (Q, m)."""
    squares = (X**2).sum(axis=1)[:, None] + (landmarks**2).sum(axis=1) - 2 * X @ landmarks.T
    return np.asarray(np.exp(-np.maximum(squares, 0.0) / X.shape[1]))


Learner = Linear | Kernel | Forest


def held_out(
    fit: Callable[[Any, KnownTargets], Learner], X: Any, targets: KnownTargets, seed: int
) -> NDArray[np.float64]:
    """Return predictions (n, outputs) for the rows X (n, M), each by a learner that did not see the row's target.

    With too few targets to hide any, every row gets the mean prediction.
    """
    strata = None if targets.n_classes is None else targets.values
    predicted = np.zeros((len(targets.values), targets.n_outputs))
    folds = hidden_folds(np.arange(len(targets.values)), strata, FOLDS, seed, targets.groups)
    for hidden in folds:
        shown = np.delete(np.arange(len(targets.values)), hidden)
        known, present = targets.at(shown)
        if known.n_classes == 1:
            predicted[np.ix_(hidden, present)] = 1.0
        else:
            predicted[np.ix_(hidden, present)] = fit(X[shown], known).predict(X[hidden])
    return predicted if folds else np.broadcast_to(targets.mean_prediction(), predicted.shape)


FORESTS: Mapping[str, Mapping[bool, Callable[..., Any]]] = {
    "random forest": {True: RandomForestClassifier, False: RandomForestRegressor},
    "extra trees": {True: ExtraTreesClassifier, False: ExtraTreesRegressor},
}


def fit_forest(
    kind: str, X: Any, targets: KnownTargets, seed: int
) -> tuple[Forest, NDArray[np.float64], NDArray[np.float64]]:
    """Return a forest, its out-of-bag predictions (n, outputs) for the rows X (n, M), and column importances (M,).

    Most trees see some row of a group, so that groups are predicted by five folds instead.
    """
    make = FORESTS[kind][targets.n_classes is not None]
    fitted = make(N_TREES, bootstrap=True, random_state=seed)
    fitted.fit(X, targets.values, targets.weights)
    forest, importance = Forest.of(fitted), np.asarray(fitted.feature_importances_)
    if targets.groups is not None:
        return forest, held_out(lambda X, known: fit_forest(kind, X, known, seed)[0], X, targets, seed), importance
    drawn = np.zeros((N_TREES, X.shape[0]), dtype=np.bool_)
    for tree, rows in enumerate(fitted.estimators_samples_):
        drawn[tree, rows] = True
    return forest, forest.predict_out_of_bag(X, drawn), importance
