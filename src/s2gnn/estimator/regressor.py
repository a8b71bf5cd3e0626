"""S2GNNRegressor: a number for each row of a table, learned from the rows where it is known."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import column_or_1d

from s2gnn.errors import InputError
from s2gnn.estimator.labels import is_missing
from s2gnn.estimator.training import Fraction, NetworkCount, Objective, WeightDecay
from s2gnn.estimator.transductive import Trained, TransductiveEstimator
from s2gnn.nn.arguments import positive_integer
from s2gnn.nn.conv import NormName
from s2gnn.nn.epsilon import EpsilonName
from s2gnn.nn.fusion import FusionName


class S2GNNRegressor(RegressorMixin, TransductiveEstimator):  # type: ignore[misc]
    """Predict a signal on the rows of a table from the rows where it is known, by a Sobolev network on their graph.

    The parameters are those of `S2GNNClassifier`, without `class_weight` and with other defaults: one layer, whose
    branches are merged by an MLP. The last layer has `hidden_channels` outputs, each of which learns the signal, and
    their mean answers: the ReLUs of a single output could hardly follow a signal of both signs. The loss is the squared
    error of the standardised signal, and "auto" validation needs 200 known rows.

    Attributes:
        transduction_: the value for each training row, (N,).
        graph_: the `Graph` of the training rows.
        history_: what training saw, a `History` for each network.
        networks_: the trained networks.
        n_features_in_: number of columns.
        feature_names_in_: their names, if X had any.
    """

    transduction_: NDArray[np.float64]

    def __init__(
        self,
        graph: str | Callable[[Any], Any] = "knn",
        *,
        k: int = 10,
        alpha: int = 4,
        epsilon: float | EpsilonName = 1.0,
        fusion: FusionName = "mlp",
        norm: NormName | None = None,
        residual: bool = False,
        hidden_channels: int = 64,
        num_layers: int = 1,
        dropout: float = 0.5,
        lr: float = 0.01,
        weight_decay: WeightDecay = "auto",
        max_epochs: int = 200,
        patience: int | None = 50,
        validation_fraction: Fraction = "auto",
        n_networks: NetworkCount = "auto",
        scale: bool = True,
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

    def fit(self, X: Any, y: Any, adjacency: Any = None) -> "S2GNNRegressor":
        """Learn from the rows whose value is known, on the graph of all rows.

        Args:
            X: features (N, M), an array, a data frame or a SciPy sparse matrix.
            y: numbers (N,); NaN, `None` or pandas' NA where the value is not known.
            adjacency: with graph="precomputed", the `Graph` or SciPy sparse matrix (N, N).
        """
        X = self._checked(X, y, reset=True)
        values = _numbers(y)
        known = np.flatnonzero(~np.isnan(values))
        if len(known) == 0:
            raise InputError(f"none of the {len(values)} rows has a value: NaN marks rows whose value is not known")
        if not np.isfinite(values[known]).all():
            row = int(known[~np.isfinite(values[known])][0])
            raise InputError(f"y[{row}] is {values[row]}, but a value is a finite number, or NaN where it is not known")
        centre, width = float(values[known].mean()), float(values[known].std()) or 1.0
        outputs = positive_integer(self.hidden_channels, "hidden_channels")
        signal = np.broadcast_to((values[:, None] - centre) / width, (len(values), outputs))
        task = Objective(signal, known, outputs, loss="squared-error")
        return self._restore(centre, width, self._train(X, task, adjacency))

    def _restore(self, centre: float, width: float, trained: Trained) -> "S2GNNRegressor":
        """Take over what was learned about values with mean `centre` and deviation `width`."""
        self._centre_, self._width_ = centre, width
        self.transduction_ = self._keep(trained)[:, 0]
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The value for each row of `X` (Q, M), (Q,); rows seen in training and new ones as in `S2GNNClassifier`."""
        return self._predicted(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The coefficient of determination R² on the rows of `X` whose value is known in `y`."""
        truth = _numbers(y)
        known = ~np.isnan(truth)
        if not known.any():
            raise InputError("no row has a value, so there is nothing to score")
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(truth[known], self.predict(X)[known], sample_weight=weights))

    def _answers(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = self._centre_ + self._width_ * logits.mean(axis=(0, 2))
        return means[:, None]


def _numbers(y: Any) -> NDArray[np.float64]:
    """`y` (N,) as numbers, NaN for `None` and pandas' NA."""
    given = column_or_1d(y, warn=True)
    if given.dtype.kind == "O":
        given = np.array([np.nan if is_missing(value) else value for value in given], dtype=object)
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"y cannot be read as numbers ({error}): leave unknown values as NaN") from error
