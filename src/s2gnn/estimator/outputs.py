"""Kinds of targets, classes or values: how they are learned, smoothed over the graph and predicted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from s2gnn.estimator.known_labels import KnownLabels
from s2gnn.estimator.learners import KnownTargets
from s2gnn.estimator.training import Objective

SMALLEST_INPUT = 0.01  # added to probabilities before the networks see their logarithms


@dataclass(frozen=True)
class ClassOutputs:
    """Probabilities of the classes that have a target; hiding labels may leave a class without any.

    Attributes:
        n_classes: C, of the table.
        present: the classes with a target, ascending, (outputs,).
        loss_weights: of these classes in the loss of the networks, (outputs,); `None` for equal weights.
    """

    n_classes: int
    present: NDArray[np.int64]
    loss_weights: NDArray[np.float64] | None = None

    def known(self, labels: KnownLabels) -> KnownTargets:
        """Return the classes as the base predictor learns them."""
        return KnownTargets(
            np.searchsorted(self.present, labels.targets), len(self.present), labels.weights, labels.groups
        )

    def objective(self, labels: KnownLabels, n_rows: int) -> Objective:
        """Return what the networks learn from the classes in a table of `n_rows`."""
        y = np.zeros(n_rows, dtype=np.int64)
        y[labels.rows] = np.searchsorted(self.present, labels.targets)
        weights = labels.weights_in(n_rows)
        return Objective(y, labels.rows, len(self.present), class_weight=self.loss_weights, sample_weight=weights)

    def network_inputs(self, base: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return base predictions (Q, outputs) as the networks see them: centred logarithms."""
        logs = np.log(base + SMALLEST_INPUT)
        centred: NDArray[np.float64] = logs - logs.mean(axis=1, keepdims=True)
        return centred

    def smoothing_start(self, base: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the signal to smooth, (Q, outputs), at rows without a label."""
        return base

    def smoothing_known(self, held_out: NDArray[np.float64], known: KnownTargets) -> NDArray[np.float64]:
        """Return the signal at labelled rows, (n, outputs), given their targets and base predictions without them."""
        return np.asarray(np.eye(held_out.shape[1])[known.values])

    def from_smoothed(self, signal: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions (Q, outputs) of a smoothed signal."""
        total = signal.sum(axis=1, keepdims=True)  # zero at a row that no signal reaches
        return np.where(total > 0, signal / np.where(total > 0, total, 1.0), base)

    def from_networks(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions (Q, outputs) of the networks' outputs (number of networks, Q, outputs)."""
        probabilities: NDArray[np.float64] = softmax(logits, axis=2).mean(axis=0)
        return probabilities

    def complete(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions (Q, outputs) with a column for every class of the table, (Q, C)."""
        if len(self.present) == self.n_classes:
            return predictions
        answers = np.zeros((len(predictions), self.n_classes))
        answers[:, self.present] = predictions
        return answers


@dataclass(frozen=True)
class ValueOutputs:
    """One value for each row; the methods are those of `ClassOutputs`.

    The signal that is smoothed is the error of the base predictor. The networks learn standardised values, in several
    outputs whose mean is the prediction.

    Attributes:
        mean: of the targets.
        scale: their standard deviation.
        network_outputs: width of the networks' output.
    """

    mean: float
    scale: float
    network_outputs: int

    def known(self, labels: KnownLabels) -> KnownTargets:
        """Return the values as the base predictor learns them."""
        return KnownTargets(labels.targets, None, labels.weights, labels.groups)

    def objective(self, labels: KnownLabels, n_rows: int) -> Objective:
        """Return what the networks learn from the values in a table of `n_rows`."""
        values = np.zeros(n_rows)
        values[labels.rows] = (labels.targets - self.mean) / self.scale
        y = np.broadcast_to(values[:, None], (n_rows, self.network_outputs))
        weights = labels.weights_in(n_rows)
        return Objective(y, labels.rows, self.network_outputs, "squared-error", sample_weight=weights)

    def network_inputs(self, base: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return base predictions (Q, 1) as the networks see them: standardised."""
        scaled: NDArray[np.float64] = (base - self.mean) / self.scale
        return scaled

    def smoothing_start(self, base: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return zeros (Q, 1): unknown errors."""
        return np.zeros_like(base)

    def smoothing_known(self, held_out: NDArray[np.float64], known: KnownTargets) -> NDArray[np.float64]:
        """Return the errors (n, 1) of base predictions that were made without the row's own value."""
        errors: NDArray[np.float64] = known.values[:, None] - held_out
        return errors

    def from_smoothed(self, signal: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return base predictions (Q, 1) corrected by smoothed errors."""
        return base + signal

    def from_networks(self, logits: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions (Q, 1) of the networks' outputs (number of networks, Q, network outputs)."""
        means: NDArray[np.float64] = self.mean + self.scale * logits.mean(axis=(0, 2))
        return means[:, None]

    def complete(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the predictions (Q, 1)."""
        return predictions


Outputs = ClassOutputs | ValueOutputs
