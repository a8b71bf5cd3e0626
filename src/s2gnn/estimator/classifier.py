"""S2GNNClassifier: classes of a table's rows, learned from the few that have a label."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from s2gnn.errors import InputError
from s2gnn.estimator.labels import is_unlabelled, read_labels
from s2gnn.estimator.training import Fraction, NetworkCount, Objective, WeightDecay
from s2gnn.estimator.transductive import Trained, TransductiveEstimator
from s2gnn.nn.conv import NormName
from s2gnn.nn.epsilon import EpsilonName
from s2gnn.nn.fusion import FusionName


class S2GNNClassifier(ClassifierMixin, TransductiveEstimator):  # type: ignore[misc]
    """Classify the rows of a table by a Sobolev network on a graph of the rows.

    The method is transductive: `fit` wants all rows at hand, labelled or not, and answers for all of them
    (`transduction_`). A row that comes later is joined to its nearest training rows, see `predict`.

    Args:
        graph: "knn" joins each row to its k nearest; "smooth" learns the weights, which takes longer; "precomputed"
            takes the keyword `adjacency` of `fit`; or a function of the features, as the network sees them, that gives
            a `Graph` or a SciPy sparse matrix (N, N).
        k: number of neighbours; of few rows, as many as there are.
        alpha: highest Hadamard power of the graph.
        epsilon: weight of a row itself beside its neighbours; "learn" trains it with the network, from 1 on.
        fusion: "linear", "mlp" or "attention", see `S2Conv`.
        norm: "batch" for batch normalisation between layers.
        residual: every layer adds its input to its output.
        hidden_channels: width between layers.
        num_layers: number of layers.
        dropout: share of elements dropped in training.
        lr: learning rate.
        weight_decay: of Adam; "auto" is 0.5 divided by the number of labelled rows.
        max_epochs: that many steps without validation, at most so many with it.
        patience: stop after so many epochs without a better validation loss; `None` never stops early.
        validation_fraction: share of the labelled rows that chooses the epoch. "auto" holds a fifth out if there are at
            least 100 labelled rows for each class, and none if they are fewer; `None` never.
        n_networks: the mean of so many networks answers, each from its own start and with its own held-out rows. "auto"
            is 3, and 1 beyond 20,000 rows.
        scale: standardise the columns; sparse features are only divided by their deviation.
        class_weight: what a row of each class counts: by label, "balanced" for the inverse of the class's share of the
            labelled rows, or `None` for one.
        random_state: an integer gives the same networks again.
        verbose: show progress.

    Attributes:
        classes_: the labels, sorted, (C,).
        label_distributions_: the probability of each class for each training row, (N, C).
        transduction_: the label of each training row, (N,).
        graph_: the `Graph` of the training rows.
        history_: what training saw, a `History` for each network.
        networks_: the trained networks.
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

    classes_: NDArray[Any]
    label_distributions_: NDArray[np.float64]
    transduction_: NDArray[Any]

    def __init__(
        self,
        graph: str | Callable[[Any], Any] = "knn",
        *,
        k: int = 10,
        alpha: int = 4,
        epsilon: float | EpsilonName = 0.5,
        fusion: FusionName = "linear",
        norm: NormName | None = None,
        residual: bool = False,
        hidden_channels: int = 64,
        num_layers: int = 2,
        dropout: float = 0.5,
        lr: float = 0.01,
        weight_decay: WeightDecay = 5e-3,
        max_epochs: int = 100,
        patience: int | None = 50,
        validation_fraction: Fraction = "auto",
        n_networks: NetworkCount = "auto",
        scale: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            graph,
            k=k,
            alpha=alpha,
            epsilon=epsilon,
            fusion=fusion,
            norm=norm,
            residual=residual,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            dropout=dropout,
            lr=lr,
            weight_decay=weight_decay,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            n_networks=n_networks,
            scale=scale,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, adjacency: Any = None) -> "S2GNNClassifier":
        """Learn from the labelled rows, on the graph of all rows.

        Args:
            X: features (N, M), an array, a data frame or a SciPy sparse matrix.
            y: labels (N,), numbers or text; −1, `None`, NaN or pandas' NA for rows without one.
            adjacency: with graph="precomputed", the `Graph` or SciPy sparse matrix (N, N).
        """
        X = self._checked(X, y, reset=True)
        labels = read_labels(y)
        rows = labels.labelled
        weights = None
        if self.class_weight is not None:
            weights = compute_class_weight(
                self.class_weight, classes=labels.classes, y=labels.classes[labels.codes[rows]]
            )
        task = Objective(labels.codes, rows, len(labels.classes), class_weight=weights)
        return self._restore(labels.classes, self._train(X, task, adjacency))

    def _restore(self, classes: NDArray[Any], trained: Trained) -> "S2GNNClassifier":
        """Take over what was learned about `classes` (C,)."""
        self.classes_ = classes
        self.label_distributions_ = self._keep(trained)
        self.transduction_ = classes[self.label_distributions_.argmax(axis=1)]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of `X` (Q, M), (Q,).

        A row that was there in training, labelled or not, gets what the networks say of it (the mean over equal rows).
        A new row is joined to training rows near to it by one-way edges; what the networks know of training rows does
        not change, so that an answer does not depend on the other rows asked for.
        """
        places = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
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

    def _answers(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        probabilities: NDArray[np.float64] = softmax(logits, axis=2).mean(axis=0)
        return probabilities
