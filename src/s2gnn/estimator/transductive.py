"""Base class of classifier and regressor: `fit` on all rows of a table, and evaluation on hidden labels.

`fit` reads as the algorithm: check, scale, predict labels while they are hidden, learn from all of them (base
predictor, graph, smoothing, networks), and blend by the predictions of the hidden labels.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from s2gnn.devices import AUTO, checked_device
from s2gnn.errors import InputError
from s2gnn.estimator.blending import Blend, GraphGain, cross_blended
from s2gnn.estimator.evaluation import Evaluation, HiddenPredictions, hidden_folds, number_of_folds
from s2gnn.estimator.features import NormalScores, SeenRows, varies
from s2gnn.estimator.identical_branches import no_warning, warn_if_identical
from s2gnn.estimator.known_labels import KnownLabels, checked_groups, checked_weights
from s2gnn.estimator.members import BaseMember, Members
from s2gnn.estimator.outputs import Outputs
from s2gnn.estimator.row_answers import RowAnswers
from s2gnn.estimator.training import (
    Ensemble,
    Fraction,
    Network,
    NetworkCount,
    Objective,
    WeightDecay,
    check_fraction,
    check_seed,
    number_of_networks,
    train_ensemble,
    weight_decay_for,
)
from s2gnn.estimator.training_graph import Attachment, GraphSource, check_graph_arguments, graph_kind, training_graph
from s2gnn.graphs import Graph
from s2gnn.graphs.validation import check_choice
from s2gnn.learning import FitConfig
from s2gnn.nn import S2GNN, S2GNNConfig
from s2gnn.nn.arguments import check_bool
from s2gnn.nn.conv import NormName
from s2gnn.nn.epsilon import EpsilonName
from s2gnn.nn.fusion import FusionName
from s2gnn.nn.inputs import NetworkInput
from s2gnn.operators import GraphOperator
from s2gnn.progress import progress_bar
from s2gnn.tables import EncodedTable
from s2gnn.tables.scaling import Scaling
from s2gnn.threads import computing_with

FOLDS = 5
# Up to this size, threads wait for one another longer than they compute, and much longer on a busy machine.
ONE_THREAD_ROWS = 20_000

# The number of labels that each member explains before any is seen, see `blend_weights`: base, smoothed, networks.
# Smoothed predictions are the best of the three on most tables, and networks vary most.
MEMBER_PRIOR = (2.0, 4.0, 1.0)

NetworkName = Literal["blended", "s2gnn"]


@contextmanager
def _unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Restore the attributes of an estimator if fitting it again fails or is interrupted."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@dataclass(kw_only=True, eq=False, repr=False)  # writes the constructor, from which scikit-learn reads the parameters
class TransductiveEstimator(RowAnswers, BaseEstimator, ABC):  # type: ignore[misc]
    """Predictions from the columns, then from the graph of all rows of a table, learned from the rows with a target.

    See `S2GNNClassifier` for parameters and attributes. A subclass defines what targets and outputs mean.
    """

    graph: GraphSource = field(default="knn", kw_only=False)
    k: int = 10
    network: NetworkName = "blended"
    alpha: int = 4
    epsilon: float | EpsilonName = 1.0
    fusion: FusionName = "mlp"
    norm: NormName | None = None
    residual: bool = False
    hidden_channels: int = 64
    num_layers: int = 1
    dropout: float = 0.5
    lr: float = 0.01
    weight_decay: WeightDecay = 5e-3
    max_epochs: int = 100
    patience: int | None = 50
    validation_fraction: Fraction = "auto"
    n_networks: NetworkCount = "auto"
    scale: bool = True
    device: str = AUTO
    random_state: Any = None
    verbose: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, adjacency: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from the labelled rows, on the graph of all rows.

        Args:
            X: features (N, M), an array, a data frame or a SciPy sparse matrix. Missing numbers become the median of
                their column; a data frame may also have text, categories and booleans, see `encoder_`.
            y: targets (N,): labels as numbers or text, or the values of a regressor. `None`, NaN or pandas' NA for
                unlabelled rows; for a classifier also −1 and blank text.
            adjacency: with graph="precomputed", the `Graph` or SciPy sparse matrix (N, N).
            sample_weight: how much the label of each row counts relative to the others, (N,); equal by default.
                A row of weight 0 is unlabelled. Weights of rows without a label are ignored.
            groups: the group of each row, such as the patient of a sample, numbers or text, (N,). The labels of a group
                are hidden together, so that scores hold for rows of other groups. By default each row is on its own.
        """
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        with _unchanged_on_failure(self):
            return self._fit(self._numbers(X, reset=True), y, adjacency, sample_weight, groups)

    def fit_table(self, table: EncodedTable, groups: Any = None) -> Self:
        """Fit on a table that was read from a file; `predict` takes data frames with the columns of its encoder."""
        with _unchanged_on_failure(self):
            self._use_encoder(table.encoder)
            self.missing_ = np.flatnonzero(table.missing_numbers)
            return self._fit(table.X, table.y, groups=groups)

    def _fit(self, X: Any, y: Any, adjacency: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        check_consistent_length(X, y)
        weights = checked_weights(sample_weight, X.shape[0])
        rows, targets = self._known_targets(y, None if weights is None else weights != 0)
        labels = KnownLabels.of(rows, targets, weights, checked_groups(groups, X.shape[0]))
        self._check_parameters(X, len(labels.rows), adjacency)
        self.seen_rows_ = SeenRows.of(X)
        self.scaling_ = Scaling.of(X, standardise=bool(self.scale) and self.encoder_ is None)
        self.features_ = self.scaling_.apply(X)  # (N, M)
        self.normal_scores_ = NormalScores.of(self.features_) if self.network == "blended" else None
        joined = None
        if not self._graph_depends_on_labels:
            columns = self.features_ if self.normal_scores_ is None else self.normal_scores_.apply(self.features_)
            joined = self._joined(columns, adjacency)
            if graph_kind(self.graph) in ("precomputed", "function"):
                warn_if_identical(joined[0], self.alpha, self.smoothing_epsilon)
        self.hidden_ = self._predict_hidden(labels, joined) if self.network == "blended" else None
        self.labelled_: NDArray[np.int64] | None = labels.rows
        self.targets_: NDArray[Any] | None = labels.targets
        self.label_weights_ = labels.weights
        self.groups_ = labels.groups
        self.n_labelled_ = len(labels.rows)
        self.members_ = self._learn(labels, joined)
        self.blend_ = self._blend_for(self.hidden_)
        self.answers_ = self._answers(self.predictions_)
        self.evaluation_: Evaluation | None = None
        self.graph_gain_: GraphGain | None = None
        if self.hidden_ is not None:
            self.evaluation_, self.graph_gain_ = self._evaluated(self.hidden_)
        return self

    def _learn(self, labels: KnownLabels, joined: tuple[Graph, Attachment | None] | None) -> Members:
        """Return the members learned from the `labels`.

        They are the base predictor, its predictions smoothed over the graph, and the networks; or the networks alone.
        `joined` is the graph and how new rows are joined to it; `None` if it depends on the labels.
        """
        n_rows = self.features_.shape[0]
        with computing_with(1) if n_rows <= ONE_THREAD_ROWS else nullcontext():
            outputs = self._outputs(labels)
            base, network_input = None, self.features_
            if self.normal_scores_ is not None:
                seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
                base = BaseMember.fit(self.features_, self.normal_scores_, labels, outputs, seed)
                network_input = base.network_input(self.features_, base.inputs)
            if joined is None:
                assert base is not None
                joined = self._joined(base.weighted_columns(self.features_))
            objective = outputs.objective(labels, n_rows)
            trained = self._train_s2gnn(network_input, joined[0], objective)
            weighted, epsilon = self._graph_depends_on_labels, self.smoothing_epsilon
            return Members.of(outputs, base, self.features_, joined, network_input, trained, weighted, epsilon)

    def _train_s2gnn(self, network_input: Any, graph: Graph, objective: Objective) -> Ensemble[S2GNN]:
        config = S2GNNConfig(
            in_channels=network_input.shape[1],
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

        def prepare(network: S2GNN) -> tuple[NetworkInput, GraphOperator]:
            with no_warning():
                return network.prepare(network_input, graph)

        return self.train_networks(
            lambda: S2GNN.from_config(config),
            prepare,
            objective,
            number_of_networks(self.n_networks, graph.n_nodes, alone=self.network == "s2gnn"),
        )

    @property
    def _labels(self) -> KnownLabels:
        """Return the labels that the estimator learned from."""
        assert self.labelled_ is not None
        assert self.targets_ is not None
        return KnownLabels(self.labelled_, self.targets_, self.label_weights_, self.groups_)

    @property
    def smoothing_epsilon(self) -> float:
        """Return the weight of a row itself in smoothing."""
        return 1.0 if self.epsilon == "learn" else float(self.epsilon)

    @property
    def _graph_depends_on_labels(self) -> bool:
        """Whether distances weight the columns by their importance: in k-NN graphs, unless the networks are alone."""
        return graph_kind(self.graph) == "knn" and self.network == "blended"

    def _joined(self, columns: Any, adjacency: Any = None) -> tuple[Graph, Attachment | None]:
        """Return the graph of the rows of `columns` (N, M), and how new rows are joined to it."""
        return training_graph(self.graph, columns, self.k, adjacency, progress=bool(self.verbose))

    @abstractmethod
    def _known_targets(self, y: Any, used: NDArray[np.bool_] | None) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the rows whose target is known and `used` (N,), (n,), and their classes 0..C−1 or values, (n,)."""

    @abstractmethod
    def _outputs(self, labels: KnownLabels) -> Outputs:
        """Return what is predicted, given the known labels."""

    @abstractmethod
    def _blend_for(self, hidden: HiddenPredictions | None) -> Blend | None:
        """Return how the members' predictions become answers; `None` for the networks alone."""

    def _weighted_classes(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return answers (n, answers), with probabilities multiplied by the class weights if the user gave any."""
        return answers

    def _check_parameters(self, X: Any, n_labelled: int, adjacency: Any) -> None:
        """Refuse wrong parameters before the graph is built, which may take minutes."""
        check_choice("network", self.network, get_args(NetworkName))
        self._fit_config(n_labelled)
        check_fraction(self.validation_fraction)
        checked_device(self.device)
        check_bool(self.scale, "scale")
        check_seed(self.random_state)
        number_of_networks(self.n_networks, X.shape[0], alone=True)
        check_graph_arguments(self.graph, self.k, adjacency)
        if graph_kind(self.graph) != "precomputed" and not varies(X):
            raise InputError("every column of X is constant, so that rows cannot be distinguished: add features")

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
                device=checked_device(self.device),
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

    def evaluate(self, folds: int = FOLDS, *, evaluated: int | None = None, seed: int = 0) -> Evaluation | None:
        """Cross-validate on the graph of all rows by hiding known labels.

        Each fold of the labels is hidden once and predicted from the other labels. All rows stay in the table, as they
        do when labels are really missing. `fit` has done this with the default arguments, unless network="s2gnn". The
        result is kept as `evaluation_`, which `save_estimator` stores for the report.

        Args:
            folds: number of folds, at least 2; each class is spread evenly over them, and the `groups` of `fit` are
                kept together.
            evaluated: number of folds to predict; by default all, or one for more than 20,000 rows.
            seed: random seed of the folds.

        Returns:
            `None` if there are too few labels: fewer than two in each of two classes, or fewer than four values.
        """
        check_is_fitted(self)
        if folds < 2:
            raise InputError(f"folds is {folds}, but it must be at least 2")
        if self.labelled_ is None:
            raise InputError("this estimator was saved by a release that did not store the labels: fit it again")
        hidden = self.hidden_ if (folds, evaluated, seed) == (FOLDS, None, 0) else None
        if hidden is None:
            joined = None if self._graph_depends_on_labels else (self.graph_, self.attachment_)
            hidden = self._predict_hidden(self._labels, joined, folds, evaluated=evaluated, seed=seed)
        if hidden is None:
            return None
        self.evaluation_, self.graph_gain_ = self._evaluated(hidden)
        return self.evaluation_

    def _predict_hidden(
        self,
        labels: KnownLabels,
        joined: tuple[Graph, Attachment | None] | None,
        folds: int = FOLDS,
        *,
        evaluated: int | None = None,
        seed: int = 0,
    ) -> HiddenPredictions | None:
        """Predict labelled rows by copies of this estimator that do not see their labels."""
        rows, targets = labels.rows, labels.targets
        parts = hidden_folds(rows, targets if is_classifier(self) else None, folds, seed, labels.groups)
        if not parts:
            return None
        parts = parts[: evaluated or number_of_folds(len(parts), self.features_.shape[0])]
        predicted: list[NDArray[np.float64]] = []
        with progress_bar("predicting hidden labels", shown=bool(self.verbose) and len(parts) > 1) as show:
            for fold, hidden in enumerate(parts):
                other = copy.copy(self).set_params(verbose=bool(self.verbose) and len(parts) == 1)
                members = other._learn(labels.without(hidden), joined)
                predicted.append(members.predictions[:, rows[hidden]])
                show((fold + 1) / len(parts))
        return HiddenPredictions.of_folds(rows, targets, parts, predicted)

    def _number_of_groups(self, rows: NDArray[np.int64]) -> int | None:
        """Return the number of groups among labelled rows; `None` without groups."""
        return None if self.groups_ is None else len(np.unique(self.groups_[np.isin(np.asarray(self.labelled_), rows)]))

    def _evaluated(self, hidden: HiddenPredictions) -> tuple[Evaluation, GraphGain | None]:
        """Evaluate the predictions of hidden labels, and what the graph added to them."""
        n_groups = self._number_of_groups(hidden.rows)
        if self.blend_ is None:
            return Evaluation(hidden.rows, hidden.folds, hidden.members[0], hidden.targets, n_groups), None
        answers = cross_blended(type(self.blend_), hidden.members, hidden.targets, MEMBER_PRIOR, seed=0)
        answers, base = self._weighted_classes(answers), self._weighted_classes(hidden.members[0])
        if is_classifier(self):
            gain = GraphGain.of_hits(*(found.argmax(axis=1) == hidden.targets for found in (answers, base)))
        else:
            gain = GraphGain.of_errors(*(np.abs(found[:, 0] - hidden.targets) for found in (answers, base)))
        return Evaluation(hidden.rows, hidden.folds, answers, hidden.targets, n_groups), gain
