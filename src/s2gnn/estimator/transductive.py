"""What the classifier and the regressor share: parameters, the graph, training, and answers for rows seen and new."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from s2gnn.errors import InputError
from s2gnn.estimator.attachment import Attachment
from s2gnn.estimator.frozen import FrozenDegrees, Networks, frozen_logits, layer_inputs
from s2gnn.estimator.scaling import Scaling
from s2gnn.estimator.seen_rows import SeenRows
from s2gnn.estimator.training import (
    Fraction,
    NetworkCount,
    Objective,
    WeightDecay,
    check_fraction,
    number_of_networks,
    train_ensemble,
    weight_decay_for,
)
from s2gnn.estimator.training_graph import training_graph, varies
from s2gnn.graphs import Graph
from s2gnn.graphs.features import checked_features
from s2gnn.learning import FitConfig, History
from s2gnn.nn import S2GNN, S2GNNConfig
from s2gnn.nn.conv import NormName
from s2gnn.nn.epsilon import EpsilonName
from s2gnn.nn.fusion import FusionName
from s2gnn.progress import progress_bar

VALUES_AT_ONCE = 2**21


@dataclass(frozen=True)
class Trained:
    """What an estimator has learned.

    Attributes:
        networks: and what they know of the training rows.
        graph: of the training rows.
        attachment: how new rows are joined to it.
        features: the training rows (N, M) as the networks see them, dense or CSR.
        scaling: that made them so.
        seen: the training rows as they were given.
        n_labelled: number of rows whose target was known.
    """

    networks: Networks
    graph: Graph
    attachment: Attachment | None
    features: Any
    scaling: Scaling
    seen: SeenRows
    n_labelled: int


class TransductiveEstimator(BaseEstimator):  # type: ignore[misc]
    """A table's rows as the nodes of a graph, on which networks learn from the rows whose target is known.

    See `S2GNNClassifier` for the parameters. A subclass says what the networks' outputs mean (`_answers`).
    """

    graph_: Graph
    n_features_in_: int
    history_: tuple[History, ...]
    networks_: tuple[S2GNN, ...]
    n_labelled_: int

    def __init__(
        self,
        graph: str | Callable[[Any], Any],
        *,
        k: int,
        alpha: int,
        epsilon: float | EpsilonName,
        fusion: FusionName,
        norm: NormName | None,
        residual: bool,
        hidden_channels: int,
        num_layers: int,
        dropout: float,
        lr: float,
        weight_decay: WeightDecay,
        max_epochs: int,
        patience: int | None,
        validation_fraction: Fraction,
        n_networks: NetworkCount,
        scale: bool,
        random_state: Any,
        verbose: bool,
    ) -> None:
        self.graph = graph
        self.k = k
        self.alpha = alpha
        self.epsilon = epsilon
        self.fusion = fusion
        self.norm = norm
        self.residual = residual
        self.hidden_channels = hidden_channels
        self.num_layers = num_layers
        self.dropout = dropout
        self.lr = lr
        self.weight_decay = weight_decay
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.n_networks = n_networks
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _checked(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        """`X` (N, M) as a float64 array or CSR matrix, checked by scikit-learn's rules; in fit also against `y`."""
        if reset and y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        minimum = 2 if reset else 1
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_samples=minimum)
        if reset:
            check_consistent_length(X, y)
        return checked_features(X)

    def _train(self, X: Any, task: Objective, adjacency: Any) -> Trained:
        """Build the graph of `X` (N, M) and train on `task`."""
        check_fraction(self.validation_fraction)
        training = FitConfig(
            lr=self.lr,
            weight_decay=weight_decay_for(self.weight_decay, len(task.labelled)),
            epochs=self.max_epochs,
            patience=self.patience,
            monitor="loss",
        )
        n_networks = number_of_networks(self.n_networks, X.shape[0])
        if adjacency is None and not varies(X):
            raise InputError("every column of X is constant, so that no row can be told from another: add features")
        scaling = Scaling.of(X, standardise=bool(self.scale))
        features = scaling.apply(X)
        built = training_graph(self.graph, features, self.k, adjacency, progress=bool(self.verbose))
        config = S2GNNConfig(
            in_channels=X.shape[1],
            hidden_channels=self.hidden_channels,
            out_channels=task.n_outputs,
            num_layers=self.num_layers,
            alpha=self.alpha,
            epsilon=self.epsilon,
            fusion=self.fusion,
            dropout=self.dropout,
            norm=self.norm,
            residual=self.residual,
        )
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=n_networks).tolist()
        with progress_bar("training", shown=bool(self.verbose)) as show:
            ensemble = train_ensemble(
                partial(S2GNN.from_config, config),
                features,
                built.graph,
                task,
                training,
                seeds=seeds,
                validation_fraction=self.validation_fraction,
                on_progress=show,
            )
        models = ensemble.networks
        inputs = models[0].prepare(features, built.graph)
        states = tuple(layer_inputs(model, *inputs) for model in models)
        networks = Networks(models, states, ensemble.logits, ensemble.histories, ensemble.kept_epochs)
        return Trained(networks, built.graph, built.attachment, features, scaling, SeenRows.of(X), len(task.labelled))

    def _keep(self, trained: Trained) -> NDArray[np.float64]:
        """Remember what was learned; the answers for the training rows, (N, answers)."""
        config = trained.networks.models[0].config
        self.graph_ = trained.graph
        self.networks_ = trained.networks.models
        self.history_ = trained.networks.histories
        self.n_labelled_ = trained.n_labelled
        self._trained_ = trained
        by_epsilon: dict[float, FrozenDegrees] = {}
        for epsilon in map(float, (network.epsilon for network in self.networks_)):
            if epsilon not in by_epsilon:
                by_epsilon[epsilon] = FrozenDegrees.of(trained.graph, config.alpha, epsilon)
        self._degrees_ = tuple(by_epsilon[float(network.epsilon)] for network in self.networks_)
        answers = self._answers(trained.networks.logits)
        self._answers_of_seen_ = trained.seen.means(answers)
        return answers

    def _answers(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the outputs of the networks (number of networks, Q, outputs) say together, (Q, answers)."""
        raise NotImplementedError

    def _predicted(self, X: Any) -> NDArray[np.float64]:
        """The answers (Q, answers) for the rows of `X` (Q, M), each by itself."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        trained = self._trained_
        groups = trained.seen.find(X)
        answers = self._answers_of_seen_[groups]
        new = np.flatnonzero(groups < 0)
        if len(new) and trained.attachment is None:
            raise InputError(
                f"row {new[0]} of X was not there in training, whose rows no feature tells apart, so that it cannot be "
                "joined to the precomputed graph: fit again on a graph that has it as an unlabelled row"
            )
        at_once = self._rows_at_once()
        with progress_bar("predicting", shown=bool(self.verbose)) as show:
            for start in range(0, len(new), at_once):
                rows = new[start : start + at_once]
                answers[rows] = self._answered(_in_form_of(trained.scaling.apply(X[rows]), trained.features))
                show((start + len(rows)) / len(new))
        return answers

    def _answered(self, new: Any) -> NDArray[np.float64]:
        """The answers (Q, answers) for new rows (Q, M), in the networks' scale, joined to the training rows."""
        trained = self._trained_
        assert trained.attachment is not None
        edges = trained.attachment.edges(trained.features, trained.graph.degrees, new)
        return self._answers(frozen_logits(trained.networks, self._degrees_, trained.features, new, edges))

    def _rows_at_once(self) -> int:
        """So many new rows that what is computed of them fits into memory."""
        config = self.networks_[0].config
        width = max(config.in_channels, config.hidden_channels, config.out_channels)
        return max(1, VALUES_AT_ONCE // ((config.alpha + 1) * width))


def _in_form_of(features: Any, like: Any) -> Any:
    """`features` dense or CSR as `like` is."""
    if sp.issparse(like):
        return sp.csr_array(features)
    return features.toarray() if sp.issparse(features) else features
