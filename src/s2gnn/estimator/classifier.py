"""S2GNNClassifier: classes of a table's rows, learned from the few that have a label."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from s2gnn.errors import InputError
from s2gnn.estimator.training import Objective
from s2gnn.estimator.transductive import TransductiveEstimator
from s2gnn.tables.labels import is_unlabelled, known_labels


@dataclass(kw_only=True, eq=False, repr=False)
class S2GNNClassifier(ClassifierMixin, TransductiveEstimator):  # type: ignore[misc]
    """Classify the rows of a table by a Sobolev network on a graph of the rows.

    The method is transductive: `fit` takes all rows, labelled or not, and answers for all of them (`transduction_`). A
    row that comes later is joined to its nearest training rows, see `predict`.

    Args:
        graph: "knn" joins each row to its k nearest; "smooth" learns the weights, which takes longer; "precomputed"
            uses the keyword `adjacency` of `fit`; or a function of the features, as the network sees them, that returns
            a `Graph` or a SciPy sparse matrix (N, N).
        k: number of neighbours; at most the number of other rows.
        alpha: highest Hadamard power of the graph.
        epsilon: weight of a row itself relative to its neighbours; "learn" trains it with the network, starting at 1.
        fusion: "linear", "mlp" or "attention", see `S2Conv`.
        norm: "batch" for batch normalisation between layers.
        residual: every layer adds its input to its output.
        hidden_channels: width between layers.
        num_layers: number of layers.
        dropout: probability of dropping an element in training.
        lr: learning rate.
        weight_decay: of Adam; "auto" is 0.5 divided by the number of labelled rows.
        max_epochs: number of epochs; with validation, the maximum.
        patience: stop after this number of epochs without a better validation loss; `None` never stops early.
        validation_fraction: share of the labelled rows that chooses the epoch. "auto" holds out a fifth if there are at
            least 100 labelled rows per class, else none; `None` holds out none.
        n_networks: number of networks whose outputs are averaged, each with its own seed and validation rows. "auto" is
            3, and 1 beyond 20,000 rows.
        scale: standardise the columns; sparse features are only divided by their standard deviation.
        class_weight: weight of each class in the loss, by label; "balanced" for the inverse of its share of the
            labelled rows; `None` for 1.
        random_state: an integer makes results reproducible.
        verbose: show progress.

    Attributes:
        classes_: the labels, sorted, (C,).
        label_distributions_: the probability of each class for each training row, (N, C).
        transduction_: the label of each training row, (N,).
        labelled_: the labelled training rows, ascending, (n,).
        targets_: their labels as indices of `classes_`, (n,).
        n_labelled_: n, the number of labelled rows.
        features_: the training rows as the networks see them, dense or CSR, (N, M).
        scaling_: how the columns were scaled: `centre` and `width`, (M,) each.
        graph_: the `Graph` of the training rows.
        networks_: the trained networks.
        history_: the `History` of each network.
        kept_epochs_: the epoch, counted from 0, whose weights each network has.
        logits_: the networks' outputs for the training rows, (number of networks, N, C).
        evaluation_: the `Evaluation` on hidden labels, see `evaluate`; `None` before.
        n_features_in_: number of columns.
        feature_names_in_: their names, if X had any.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> known = y.copy()
        >>> known[np.arange(150) % 6 > 0] = -1  # every sixth row is labelled
        >>> classifier = S2GNNClassifier(random_state=0).fit(X, known)
        >>> bool(np.mean(classifier.transduction_ == y) > 0.85)
        True
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    @property
    def label_distributions_(self) -> NDArray[np.float64]:
        """The probability of each class for each training row, (N, C)."""
        return self.answers_

    @property
    def transduction_(self) -> NDArray[Any]:
        """The label of each training row, (N,)."""
        labels: NDArray[Any] = self.classes_[self.answers_.argmax(axis=1)]
        return labels

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of `X` (Q, M), (Q,).

        A training row, labelled or not, gets the answer found by `fit` (the mean over equal rows). A new row is joined
        to similar training rows by one-way edges; the training rows do not change, so that an answer does not depend on
        the other rows of the call.
        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likeliest]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The probability of each of `classes_` for each row of `X`, (Q, C)."""
        return self._predicted(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The accuracy on the rows of `X` that have a label in `y`."""
        truth = column_or_1d(y)
        known = ~is_unlabelled(truth)
        if not known.any():
            raise InputError("no row has a label, so there is nothing to score")
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(truth[known], self.predict(X)[known], sample_weight=weights))

    def _known_targets(self, y: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        rows, labels = known_labels(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return rows, codes

    def _objective(self, rows: NDArray[np.int64], targets: NDArray[Any]) -> Objective:
        present, codes = np.unique(targets, return_inverse=True)  # evaluation may hide all labels of a class
        weight: Any = self.class_weight
        if isinstance(weight, Mapping):
            hidden = np.delete(self.classes_, present).tolist()
            weight = {label: value for label, value in weight.items() if label not in hidden}
        if weight is not None:
            weight = compute_class_weight(weight, classes=self.classes_[present], y=self.classes_[targets])
        y = np.zeros(self.graph_.n_nodes, dtype=np.int64)
        y[rows] = codes
        return Objective(y, rows, len(present), class_weight=weight)

    def _answers(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        probabilities: NDArray[np.float64] = softmax(logits, axis=2).mean(axis=0)
        if logits.shape[2] == len(self.classes_):
            return probabilities
        answers = np.zeros((len(probabilities), len(self.classes_)))
        answers[:, np.unique(np.asarray(self.targets_))] = probabilities
        return answers
