"""S2GNNClassifier predicts the classes of a table's rows from the few that are labelled."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from s2gnn.errors import InputError
from s2gnn.estimator.blending import ClassBlend, chosen_per_class, class_shares
from s2gnn.estimator.evaluation import HiddenPredictions
from s2gnn.estimator.known_labels import KnownLabels
from s2gnn.estimator.outputs import ClassOutputs
from s2gnn.estimator.transductive import MEMBER_PRIOR, TransductiveEstimator
from s2gnn.tables.labels import is_unlabelled, known_labels

SMALLEST_WEIGHT = 1e-9


@dataclass(kw_only=True, eq=False, repr=False)
class S2GNNClassifier(ClassifierMixin, TransductiveEstimator):  # type: ignore[misc]
    """Classify the rows of a table: predict from the columns, then use a graph of the rows.

    The method is transductive: `fit` takes all rows, labelled or not, and predicts all of them (`transduction_`).
    `predict` joins new rows to their nearest training rows.

    Three members predict each row: a base predictor from the columns (logistic regression, a kernel model, a random
    forest and extra trees), its predictions smoothed over the graph while labelled rows keep their labels, and Sobolev
    networks on the graph that see the columns and the base predictions. `fit` hides each fifth of the labels once,
    calibrates and weights the members by how well they predict it. If rows were labelled class by class, the same
    number of each, it adapts the probabilities to the shares of the classes among the unlabelled rows.

    Args:
        graph: "knn" joins each row to its k nearest; "smooth" learns the weights, which takes longer. Your own graph of
            the rows is a `Graph` or a SciPy sparse matrix (N, N); or a function of the columns, scaled and as normal
            scores, that returns one; or "precomputed" for the keyword `adjacency` of `fit`. The distances of "knn"
            weight each column by its importance in the forests.
        k: number of neighbours; at most the number of other rows.
        network: "blended" for the three members; "s2gnn" for the networks alone, on the scaled columns.
        alpha: highest Hadamard power of the graph.
        epsilon: weight of a row itself relative to its neighbours; "learn" trains it with the network, starting at 1.
        fusion: "linear", "mlp" or "attention", see `S2Conv`.
        norm: "batch" for batch normalisation between layers.
        residual: every layer adds its input to its output.
        hidden_channels: width of the hidden layers.
        num_layers: number of layers.
        dropout: probability of dropping an element in training.
        lr: learning rate.
        weight_decay: weight decay of Adam; "auto" is 0.5 divided by the number of labelled rows.
        max_epochs: number of epochs; with validation, the maximum.
        patience: stop after this number of epochs without a better validation loss; `None` never stops early.
        validation_fraction: share of the labelled rows that choose the epoch. "auto" holds out a fifth if there are at
            least 100 labelled rows per class, else none; `None` holds out none.
        n_networks: number of networks whose outputs are averaged, each with its own seed and validation rows. "auto" is
            1 in a blend; for networks alone 3, and 1 beyond 20,000 rows.
        scale: standardise the columns; sparse features are only divided by their standard deviation.
        class_weight: weight of each class, by label; "balanced" for the inverse of its share of the labelled rows;
            `None` for 1. It multiplies the probability of the class, in place of the adaptation to the shares of the
            classes; for networks alone it is its weight in the loss.
        device: where the networks are trained: "cpu", "cuda", "cuda:1", "mps", or "auto" for a GPU if there is one. The
            fitted estimator predicts on the CPU. Results on different devices differ by rounding.
        random_state: an integer makes results reproducible.
        verbose: show progress.

    Attributes:
        classes_: the labels, sorted, (C,).
        label_distributions_: the calibrated probability of each class for each training row, (N, C).
        transduction_: the label of each training row, (N,).
        labelled_: the labelled training rows, ascending, (n,).
        targets_: their labels as indices of `classes_`, (n,).
        label_weights_: their weights from `sample_weight`, with mean 1, (n,); `None` if all are equal.
        groups_: the group of each labelled row, as numbers, (n,); `None` if `fit` got no groups.
        n_labelled_: n, the number of labelled rows.
        features_: the scaled columns of the training rows, dense or CSR, (N, M).
        encoder_: the `TableEncoder` of a data frame with non-numeric columns, or of a table read by the command line.
            Its `left_out` gives the reason for each excluded column. `None` if all columns are numbers.
        medians_: the values that replace missing numbers, (M,); `None` with an encoder and for sparse matrices.
        scaling_: how the columns were scaled: `centre` and `width`, (M,) each.
        base_: the `BasePredictor`; `None` for the networks alone.
        column_weights_: square roots of the importance of the columns, 1 in the mean of squares, (M,).
        graph_: the `Graph` of the training rows.
        network_input_: the training rows as the networks see them, (N, M + C), or `features_` for networks alone.
        smoothed_: the base predictions smoothed over the graph, (N, C).
        predictions_: the members' predictions for the training rows, (3, N, C): base, smoothed, networks.
        hidden_: the members' `HiddenPredictions`; `None` for networks alone or too few labels.
        blend_: the `ClassBlend` that combines the members' predictions.
        networks_: the trained networks.
        history_: the `History` of each network.
        kept_epochs_: the epoch, counted from 0, whose weights each network has.
        logits_: the networks' outputs for the training rows, (number of networks, N, C).
        evaluation_: the `Evaluation` on hidden labels, each predicted by a model that did not see it; see `evaluate`.
        graph_gain_: the `GraphGain`: how much more accurate the blend is on hidden labels than the base predictor
            alone, with a 95 % interval. Members that do not help get little weight in the blend.
        n_features_in_: number of columns of X.
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
        """Predict the label of each row of `X` (Q, M), (Q,).

        A training row, labelled or not, gets the prediction of `fit` (the mean over equal rows). A new row is joined
        to similar training rows by one-way edges; the training rows do not change, so a prediction does not depend on
        the other rows of the call.
        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likeliest]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each of `classes_` for each row of `X`, (Q, C)."""
        return self._predicted(X)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on the rows of `X` that have a label in `y`."""
        truth = column_or_1d(y)
        known = ~is_unlabelled(truth)
        if not known.any():
            raise InputError("no row has a label, so there is nothing to score")
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(truth[known], self.predict(X)[known], sample_weight=weights))

    def _known_targets(self, y: Any, used: NDArray[np.bool_] | None) -> tuple[NDArray[np.int64], NDArray[Any]]:
        rows, labels = known_labels(y, used)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return rows, codes

    def _named_answer(self, answers: NDArray[np.float64]) -> Any:
        return self.classes_[answers.argmax()]

    @property
    def _named_targets(self) -> NDArray[Any]:
        return np.asarray(self.classes_[self.targets_])

    def _outputs(self, labels: KnownLabels) -> ClassOutputs:
        weights = self._class_weights(labels.targets) if self.network == "s2gnn" else None  # else `_weighted_classes`
        return ClassOutputs(len(self.classes_), np.unique(labels.targets), weights)

    def _class_weights(self, targets: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the weights of the classes that are present among `targets`; `None` if all are equal."""
        present = np.unique(targets)
        weight: Any = self.class_weight
        if weight is None:
            return None
        if isinstance(weight, Mapping):
            hidden = np.delete(self.classes_, present).tolist()
            weight = {label: value for label, value in weight.items() if label not in hidden}
        weights = compute_class_weight(weight, classes=self.classes_[present], y=self.classes_[targets])
        return np.asarray(np.maximum(weights, SMALLEST_WEIGHT))

    def _weighted_classes(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = self._class_weights(np.asarray(self.targets_))
        if weights is None:
            return answers
        weighted = answers * weights
        return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))

    def _blend_for(self, hidden: HiddenPredictions | None) -> ClassBlend | None:
        if self.network == "s2gnn":
            return None
        blend = ClassBlend.of_prior(MEMBER_PRIOR, len(self.classes_))
        if hidden is not None:
            blend = ClassBlend.fit(hidden.members, hidden.targets, MEMBER_PRIOR)
        weights = self._class_weights(np.asarray(self.targets_))
        if weights is not None:  # the user has decided how much each class counts
            return replace(blend, odds=tuple(weights.tolist()))
        if hidden is None or not chosen_per_class(np.bincount(np.asarray(self.targets_))):
            return blend
        predicted = blend.apply(hidden.members).argmax(axis=1)
        accuracy = float(np.mean([np.mean(predicted[hidden.targets == c] == c) for c in np.unique(hidden.targets)]))
        counts = np.bincount(np.asarray(self.targets_), self.label_weights_)
        shares = counts / counts.sum()
        unlabelled = np.delete(blend.apply(self.predictions_), np.asarray(self.labelled_), axis=0)
        found = class_shares(unlabelled, shares, accuracy, self.n_labelled_ / len(shares))
        return replace(blend, odds=tuple((found / shares).tolist()))
