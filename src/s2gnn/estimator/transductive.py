"""What the classifier and the regressor share: `fit` on all rows of a table, answers for new rows, evaluation.

`fit` reads as the algorithm: check, scale, build the graph, train the networks, turn their outputs into answers.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from s2gnn.errors import InputError
from s2gnn.estimator.evaluation import ROWS_FOR_EVERY_FOLD, Evaluation, hidden_folds
from s2gnn.estimator.features import Scaling, SeenRows, in_form_of, varies
from s2gnn.estimator.new_rows import freeze, logits_of_new
from s2gnn.estimator.training import (
    Ensemble,
    Fraction,
    Network,
    NetworkCount,
    Objective,
    WeightDecay,
    check_fraction,
    number_of_networks,
    train_ensemble,
    weight_decay_for,
)
from s2gnn.estimator.training_graph import training_graph
from s2gnn.graphs.features import checked_features
from s2gnn.learning import FitConfig
from s2gnn.nn import S2GNN, S2GNNConfig
from s2gnn.nn.conv import NormName
from s2gnn.nn.epsilon import EpsilonName
from s2gnn.nn.fusion import FusionName
from s2gnn.nn.inputs import NetworkInput
from s2gnn.operators import GraphOperator
from s2gnn.progress import progress_bar

VALUES_AT_ONCE = 2**21  # of intermediate results for new rows


@dataclass(kw_only=True, eq=False, repr=False)  # writes the constructor, from which scikit-learn reads the parameters
class TransductiveEstimator(BaseEstimator):  # type: ignore[misc]
    """Networks on a graph of all rows of a table, trained on the rows whose target is known.

    See `S2GNNClassifier` for parameters and attributes. A subclass defines what targets and outputs mean.
    """

    graph: str | Callable[[Any], Any] = field(default="knn", kw_only=False)
    k: int = 10
    alpha: int = 4
    epsilon: float | EpsilonName = 0.5
    fusion: FusionName = "linear"
    norm: NormName | None = None
    residual: bool = False
    hidden_channels: int = 64
    num_layers: int = 2
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: WeightDecay = 5e-3
    max_epochs: int = 100
    patience: int | None = 50
    validation_fraction: Fraction = "auto"
    n_networks: NetworkCount = "auto"
    scale: bool = True
    random_state: Any = None
    verbose: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, adjacency: Any = None) -> Self:
        """Learn from the labelled rows, on the graph of all rows.

        Args:
            X: features (N, M), an array, a data frame or a SciPy sparse matrix.
            y: targets (N,): labels as numbers or text, or the values of a regressor. `None`, NaN or pandas' NA for
                unlabelled rows; for a classifier also −1.
            adjacency: with graph="precomputed", the `Graph` or SciPy sparse matrix (N, N).
        """
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._checked(X, reset=True)
        check_consistent_length(X, y)
        rows, targets = self._known_targets(y)
        # Wrong parameters are refused before the graph is built, which may take minutes.
        self._fit_config(len(rows))
        check_fraction(self.validation_fraction)
        number_of_networks(self.n_networks, X.shape[0])
        if adjacency is None and not varies(X):
            raise InputError("every column of X is constant, so that rows cannot be distinguished: add features")
        self.seen_rows_ = SeenRows.of(X)
        self.scaling_ = Scaling.of(X, standardise=bool(self.scale))
        self.features_ = self.scaling_.apply(X)  # (N, M)
        self.graph_, self.attachment_ = training_graph(
            self.graph, self.features_, self.k, adjacency, progress=bool(self.verbose)
        )
        self._train(rows, targets)
        self.frozen_networks_, _ = freeze(self.networks_, self.features_, self.graph_)
        self.evaluation_: Evaluation | None = None
        return self

    def _train(self, rows: NDArray[np.int64], targets: NDArray[Any]) -> None:
        """Train networks on the `targets` (n,) of `rows` (n,), and answer for every row of the graph."""
        self.labelled_: NDArray[np.int64] | None = rows
        self.targets_: NDArray[Any] | None = targets
        self.n_labelled_ = len(rows)
        objective = self._objective(rows, targets)
        config = S2GNNConfig(
            in_channels=self.features_.shape[1],
            hidden_channels=self.hidden_channels,
            out_channels=objective.n_outputs,
            num_layers=self.num_layers,
            alpha=self.alpha,
            epsilon=self.epsilon,
            fusion=self.fusion,
            dropout=self.dropout,
            norm=self.norm,
            residual=self.residual,
        )
        trained = self.train_networks(
            lambda: S2GNN.from_config(config),
            lambda network: network.prepare(self.features_, self.graph_),
            objective,
            number_of_networks(self.n_networks, self.graph_.n_nodes),
        )
        self.networks_ = trained.networks
        self.history_ = trained.histories
        self.kept_epochs_ = trained.kept_epochs
        self.logits_ = trained.logits  # (number of networks, N, outputs)
        self.answers_ = self._answers(self.logits_)  # (N, answers)

    def _known_targets(self, y: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The rows whose target is known, (n,), and their classes 0..C−1 or values, (n,)."""
        raise NotImplementedError

    def _objective(self, rows: NDArray[np.int64], targets: NDArray[Any]) -> Objective:
        """What the networks learn from the targets (n,) of `rows` (n,)."""
        raise NotImplementedError

    def _answers(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """The answers (Q, answers) given by the networks' outputs (number of networks, Q, outputs)."""
        raise NotImplementedError

    def train_networks(
        self,
        make: Callable[[], Network],
        prepare: Callable[[Network], tuple[NetworkInput, GraphOperator | None]],
        objective: Objective,
        n_networks: int,
    ) -> Ensemble[Network]:
        """Train networks of any kind with this estimator's training parameters and seeds; see `train_ensemble`."""
        config = self._fit_config(len(objective.labelled))
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=n_networks).tolist()
        with progress_bar("training", shown=bool(self.verbose)) as show:
            return train_ensemble(
                make,
                prepare,
                objective,
                config,
                seeds=seeds,
                validation_fraction=self.validation_fraction,
                on_progress=show,
            )

    def _fit_config(self, n_labelled: int) -> FitConfig:
        return FitConfig(
            lr=self.lr,
            weight_decay=weight_decay_for(self.weight_decay, n_labelled),
            epochs=self.max_epochs,
            patience=self.patience,
            monitor="loss",
        )

    def evaluate(self, folds: int = 5, *, evaluated: int | None = None, seed: int = 0) -> Evaluation | None:
        """Predict the known labels while they are hidden: cross-validation on the graph of all rows.

        Each fold of the labels is hidden once and predicted by networks trained on the other labels. All rows stay in
        the graph, as they do when labels are really missing. The result is kept as `evaluation_`, which
        `save_estimator` stores for the report.

        Args:
            folds: number of folds, at least 2; each class is spread evenly over them.
            evaluated: number of folds to predict; by default all, and one for more than 20,000 rows.
            seed: draws the folds.

        Returns:
            `None` if there are too few labels: fewer than two in each of two classes, or fewer than four values.
        """
        check_is_fitted(self)
        if folds < 2:
            raise InputError(f"folds is {folds}, but it must be at least 2")
        if self.labelled_ is None:
            raise InputError("this estimator was saved by a release that did not store the labels: fit it again")
        assert self.targets_ is not None
        strata = self.targets_ if is_classifier(self) else None
        parts = hidden_folds(self.labelled_, strata, folds, seed)
        if not parts:
            return None
        parts = parts[: evaluated or (len(parts) if self.graph_.n_nodes <= ROWS_FOR_EVERY_FOLD else 1)]
        answers = np.zeros((self.n_labelled_, self.answers_.shape[1]))
        fold_of = np.full(self.n_labelled_, -1)
        with progress_bar("predicting hidden labels", shown=bool(self.verbose) and len(parts) > 1) as show:
            for fold, hidden in enumerate(parts):
                other = copy.copy(self).set_params(verbose=bool(self.verbose) and len(parts) == 1)
                other._train(np.delete(self.labelled_, hidden), np.delete(self.targets_, hidden))
                answers[hidden] = other.answers_[self.labelled_[hidden]]
                fold_of[hidden] = fold
                show((fold + 1) / len(parts))
        done = np.flatnonzero(fold_of >= 0)
        self.evaluation_ = Evaluation(self.labelled_[done], fold_of[done], answers[done], self.targets_[done])
        return self.evaluation_

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """`X` (N, M) as a float64 array or CSR matrix, checked by scikit-learn's rules; `fit` resets its width."""
        minimum = 2 if reset else 1
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_samples=minimum)
        return checked_features(X)

    def seen_in_training(self, X: Any, rows: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
        """Which rows of `X` (Q, M) are equal to a training row, or to one of the training `rows`, (Q,)."""
        check_is_fitted(self)
        groups = self.seen_rows_.find(self._checked(X, reset=False))
        wanted = self.seen_rows_.groups if rows is None else self.seen_rows_.groups[rows]
        return np.isin(groups, wanted)

    def _predicted(self, X: Any) -> NDArray[np.float64]:
        """The answers (Q, answers) for the rows of `X` (Q, M), each independent of the others."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        groups = self.seen_rows_.find(X)
        answers = self.seen_rows_.means(self.answers_)[groups]
        new = np.flatnonzero(groups < 0)
        if not len(new):
            return answers
        if self.attachment_ is None:
            raise InputError(
                f"row {new[0]} of X was not in the training table, whose rows all have the same features, so that it "
                "cannot be joined to the precomputed graph: fit again on a graph that has it as an unlabelled row"
            )
        config = self.networks_[0].config
        width = max(config.in_channels, config.hidden_channels, config.out_channels)
        at_once = max(1, VALUES_AT_ONCE // ((config.alpha + 1) * width))
        with progress_bar("predicting", shown=bool(self.verbose)) as show:
            for start in range(0, len(new), at_once):
                rows = new[start : start + at_once]
                scaled = in_form_of(self.scaling_.apply(X[rows]), self.features_)
                edges = self.attachment_.edges(self.features_, self.graph_.degrees, scaled)
                answers[rows] = self._answers(logits_of_new(self.frozen_networks_, self.features_, scaled, edges))
                show((start + len(rows)) / len(new))
        return answers
