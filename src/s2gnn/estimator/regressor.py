"""S2GNNRegressor: a number for each row of a table, learned from the rows where it is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from s2gnn.estimator.training import Objective, WeightDecay
from s2gnn.estimator.transductive import TransductiveEstimator
from s2gnn.nn.arguments import positive_integer
from s2gnn.nn.epsilon import EpsilonName
from s2gnn.nn.fusion import FusionName
from s2gnn.tables.labels import known_values


@dataclass(kw_only=True, eq=False, repr=False)
class S2GNNRegressor(RegressorMixin, TransductiveEstimator):  # type: ignore[misc]
    """Predict a signal on the rows of a table from the rows where it is known, by a Sobolev network on their graph.

    Parameters and attributes are those of `S2GNNClassifier`, without `class_weight` and classes and with other
    defaults: one layer with MLP fusion. The last layer has `hidden_channels` outputs, each of which learns the signal;
    their mean is the prediction, because the ReLUs of a single output fit a signal of both signs poorly. The loss is
    the squared error of the standardised signal, and "auto" validation needs 200 known values.

    Attributes:
        transduction_: the value for each training row, (N,).
        targets_: the known values, (n,).
        target_mean_: their mean.
        target_scale_: their standard deviation.
    """

    epsilon: float | EpsilonName = 1.0
    fusion: FusionName = "mlp"
    num_layers: int = 1
    weight_decay: WeightDecay = "auto"
    max_epochs: int = 200

    @property
    def transduction_(self) -> NDArray[np.float64]:
        """The value for each training row, (N,)."""
        return self.answers_[:, 0]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The value for each row of `X` (Q, M), (Q,); training rows and new ones as in `S2GNNClassifier`."""
        return self._predicted(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """The coefficient of determination R² on the rows of `X` whose value is known in `y`."""
        rows, truth = known_values(y)
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return float(r2_score(truth, self.predict(X)[rows], sample_weight=weights))

    def _known_targets(self, y: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
        return known_values(y)

    def _objective(self, rows: NDArray[np.int64], targets: NDArray[Any]) -> Objective:
        self.target_mean_, self.target_scale_ = float(targets.mean()), float(targets.std()) or 1.0
        values = np.zeros(self.graph_.n_nodes)
        values[rows] = (targets - self.target_mean_) / self.target_scale_
        outputs = positive_integer(self.hidden_channels, "hidden_channels")
        return Objective(np.broadcast_to(values[:, None], (len(values), outputs)), rows, outputs, "squared-error")

    def _answers(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = self.target_mean_ + self.target_scale_ * logits.mean(axis=(0, 2))
        return means[:, None]
