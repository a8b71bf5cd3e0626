"""S2GNNRegressor predicts a number for each row of a table from the rows where it is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from s2gnn.errors import InputError
from s2gnn.estimator.blending import ValueBlend
from s2gnn.estimator.evaluation import HiddenPredictions
from s2gnn.estimator.known_labels import KnownLabels
from s2gnn.estimator.outputs import ValueOutputs
from s2gnn.estimator.training import WeightDecay
from s2gnn.estimator.transductive import MEMBER_PRIOR, TransductiveEstimator
from s2gnn.nn.arguments import positive_integer
from s2gnn.tables.labels import known_values


@dataclass(kw_only=True, eq=False, repr=False)
class S2GNNRegressor(RegressorMixin, TransductiveEstimator):  # type: ignore[misc]
    """Predict a number for each row of a table from the rows where it is known, using a graph of the rows.

    Parameters and attributes are those of `S2GNNClassifier`, without `class_weight` and `classes_`, with more epochs.
    The base predictor blends ridge regression, a kernel model, a random forest and extra trees; its errors at known
    rows, made without the row's own value, are smoothed over the graph and added; the networks are the third member.
    Their last layer has `hidden_channels` outputs, each of which learns the signal; the mean is the prediction, because
    the ReLUs of a single output fit a signal of both signs poorly. The loss is the squared error of the standardised
    signal, and "auto" validation needs 200 known values.

    Attributes:
        transduction_: the value for each training row, (N,).
        targets_: the known values, (n,).
        target_mean_: their mean.
        target_scale_: their standard deviation.
    """

    weight_decay: WeightDecay = "auto"
    max_epochs: int = 200

    @property
    def transduction_(self) -> NDArray[np.float64]:
        """The value for each training row, (N,)."""
        return self.answers_[:, 0]

    @property
    def target_mean_(self) -> float:
        """The mean of the known values."""
        return self._value_outputs.mean

    @property
    def target_scale_(self) -> float:
        """The standard deviation of the known values."""
        return self._value_outputs.scale

    @property
    def _value_outputs(self) -> ValueOutputs:
        outputs = self.members_.outputs
        assert isinstance(outputs, ValueOutputs)
        return outputs

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the value of each row of `X` (Q, M), (Q,), with training and new rows as in `S2GNNClassifier`."""
        return self._predicted(X)[:, 0]

    def predict_interval(self, X: Any, level: float = 0.9) -> NDArray[np.float64]:
        """Return an interval for the value of each row of `X` (Q, M): lower and upper end, (Q, 2).

        The ends are the prediction plus and minus the quantile of the absolute errors on hidden labels that split
        conformal prediction uses, so that about a share `level` of rows drawn like the labelled ones lies inside. All
        intervals are of one width. The errors are of models trained on fewer labels, so intervals may be slightly wide.

        Raises:
            InputError: if no labels were hidden, or too few for this level.
        """
        predicted, reach = self.predict(X), self._error_quantile(level)
        return np.stack([predicted - reach, predicted + reach], axis=1)

    def _error_quantile(self, level: float) -> float:
        """Return the quantile of the absolute errors on hidden labels that half the width of an interval is."""
        if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise InputError(f"level is {level!r}, but it must be a number between 0 and 1")
        if self.evaluation_ is None:
            raise InputError(
                "no labels were hidden, so errors are unknown: call evaluate with at least four known values"
            )
        errors = np.sort(np.abs(self.evaluation_.predicted - self.evaluation_.targets))
        rank = int(np.ceil(level * (len(errors) + 1) - 1e-9))  # 0.55 · 20 is larger than 11
        if rank > len(errors):
            most = len(errors) / (len(errors) + 1)
            raise InputError(f"level is {level}, but {len(errors)} hidden labels allow at most {most:.3f}")
        return float(errors[rank - 1])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination R² on the rows of `X` whose value is known in `y`."""
        rows, truth = known_values(y)
        weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
        return float(r2_score(truth, self.predict(X)[rows], sample_weight=weights))

    def _known_targets(self, y: Any, used: NDArray[np.bool_] | None) -> tuple[NDArray[np.int64], NDArray[Any]]:
        return known_values(y, used)

    def _named_answer(self, answers: NDArray[np.float64]) -> float:
        return float(answers[0])

    @property
    def _named_targets(self) -> NDArray[Any]:
        return np.asarray(self.targets_)

    def _outputs(self, labels: KnownLabels) -> ValueOutputs:
        outputs = positive_integer(self.hidden_channels, "hidden_channels")
        mean = np.average(labels.targets, weights=labels.weights)
        variance = np.average((labels.targets - mean) ** 2, weights=labels.weights)
        return ValueOutputs(float(mean), float(np.sqrt(variance)) or 1.0, outputs)

    def _blend_for(self, hidden: HiddenPredictions | None) -> ValueBlend | None:
        if self.network == "s2gnn":
            return None
        if hidden is None:
            return ValueBlend.of_prior(MEMBER_PRIOR)
        return ValueBlend.fit(hidden.members, hidden.targets, MEMBER_PRIOR)
