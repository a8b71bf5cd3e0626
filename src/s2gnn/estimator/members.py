"""Members of an estimator, trained on one set of labels, and their predictions for training and new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.estimator.base_predictor import BasePredictor
from s2gnn.estimator.features import NormalScores
from s2gnn.estimator.known_labels import KnownLabels
from s2gnn.estimator.new_rows import FrozenDegrees, FrozenNetwork, freeze, logits_of_new
from s2gnn.estimator.outputs import Outputs
from s2gnn.estimator.smoothing import smoothed, smoothed_new, smoothing_operator
from s2gnn.estimator.training import Ensemble
from s2gnn.estimator.training_graph import Attachment
from s2gnn.graphs import Graph
from s2gnn.nn import S2GNN

VALUES_AT_ONCE = 2**21  # of intermediate results for new rows
# The columns of the network's input, together, in units of one standardised column.
INPUT_SCALE = 2.0


@dataclass(frozen=True)
class BaseMember:
    """The base predictor with its outputs for the graph and the networks.

    Attributes:
        predictor: predicts from the columns.
        normal_scores: normal scores of the columns.
        column_weights: square roots of the importance of the columns, (M,).
        predictions: for the training rows, (N, outputs).
        inputs: the same as the networks see them, labelled rows predicted while their own target was hidden: a network
            that sees how well the base predictor remembers a label would trust it too much elsewhere, (N, outputs).
        labelled: the labelled rows, (n,).
        known: the signal that smoothing keeps at these rows, (n, outputs).
        strength: how strongly it keeps them, 1 for entirely, (n,).
    """

    predictor: BasePredictor
    normal_scores: NormalScores
    column_weights: NDArray[np.float64]
    predictions: NDArray[np.float64]
    inputs: NDArray[np.float64]
    labelled: NDArray[np.int64]
    known: NDArray[np.float64]
    strength: NDArray[np.float64]

    @classmethod
    def fit(
        cls, features: Any, normal_scores: NormalScores, labels: KnownLabels, outputs: Outputs, seed: int
    ) -> BaseMember:
        """Learn from the `labels`, and predict all rows of `features` (N, M)."""
        rows, known, scores = labels.rows, outputs.known(labels), normal_scores.apply(features)
        predictor, held_out, importance = BasePredictor.fit(features[rows], scores[rows], known, seed)
        predictions = predictor.predict(features, scores)
        unbiased = predictions.copy()
        unbiased[rows] = held_out
        signal = outputs.smoothing_known(held_out, known)
        inputs = outputs.network_inputs(unbiased)
        return cls(predictor, normal_scores, np.sqrt(importance), predictions, inputs, rows, signal, labels.strength)

    def predict(self, features: Any) -> NDArray[np.float64]:
        """Predict new rows (Q, M), (Q, outputs)."""
        return self.predictor.predict(features, self.normal_scores.apply(features))

    def weighted_columns(self, features: Any) -> Any:
        """Return the normal scores of rows (Q, M), weighted by the importance of the columns."""
        return _weighted(self.normal_scores.apply(features), self.column_weights)

    def network_input(self, features: Any, inputs: NDArray[np.float64]) -> Any:
        """Return weighted columns and base predictions, (Q, M + outputs)."""
        scale = INPUT_SCALE / np.sqrt(features.shape[1])
        columns = _weighted(self.weighted_columns(features), scale)
        if sp.issparse(columns):
            return sp.csr_array(sp.hstack([columns, inputs]))
        return np.hstack([columns, inputs])


def _weighted(columns: Any, weights: NDArray[np.float64] | float) -> Any:
    """Return columns (Q, M), dense or CSR, times their weights (M,) or one weight."""
    return sp.csr_array(columns.multiply(weights)) if sp.issparse(columns) else columns * weights


@dataclass(frozen=True)
class Members:
    """Base predictor, its predictions smoothed over the graph, and networks; or the networks alone.

    Attributes:
        outputs: the kind of predictions, classes or values.
        base: the first member; `None` for networks alone.
        features: the scaled columns of the training rows, (N, M).
        graph: the graph of the training rows.
        attachment: joins new rows to them; `None` if that is impossible.
        network_input: the training rows as the networks see them, (N, inputs).
        trained: the networks.
        weighted: whether distances weight the columns by their importance.
        smoothing_epsilon: weight of a row itself in smoothing.
        smoothed: the smoothed signal, (N, outputs); `None` for networks alone.
        predictions: of all members for the training rows, (members, N, answers).
    """

    outputs: Outputs
    base: BaseMember | None
    features: Any
    graph: Graph
    attachment: Attachment | None
    network_input: Any
    trained: Ensemble[S2GNN]
    weighted: bool
    smoothing_epsilon: float
    smoothed: NDArray[np.float64] | None
    predictions: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        outputs: Outputs,
        base: BaseMember | None,
        features: Any,
        joined: tuple[Graph, Attachment | None],
        network_input: Any,
        trained: Ensemble[S2GNN],
        weighted: bool,
        epsilon: float,
    ) -> Members:
        """Smooth, and collect the predictions of all members."""
        members, signal = [outputs.from_networks(trained.logits)], None
        if base is not None:
            operator = smoothing_operator(joined[0], trained.networks[0].config.alpha, epsilon)
            start = outputs.smoothing_start(base.predictions)
            signal = smoothed(start, operator, base.labelled, base.known, strength=base.strength)
            members = [base.predictions, outputs.from_smoothed(signal, base.predictions), *members]
        predictions = np.stack([outputs.complete(member) for member in members])
        return cls(outputs, base, features, *joined, network_input, trained, weighted, epsilon, signal, predictions)

    def on_graph(self, graph: Graph) -> Members:
        """Return the same members on another graph of the same rows; nothing is trained again."""
        _, logits = freeze(self.trained.networks, self.network_input, graph)
        trained = replace(self.trained, logits=logits)
        return Members.of(
            self.outputs,
            self.base,
            self.features,
            (graph, self.attachment),
            self.network_input,
            trained,
            self.weighted,
            self.smoothing_epsilon,
        )

    @cached_property
    def frozen(self) -> tuple[FrozenNetwork, ...]:
        """The networks with the training-row data they need to predict new rows."""
        return freeze(self.trained.networks, self.network_input, self.graph)[0]

    def graph_columns(self, features: Any) -> Any:
        """Return the columns (Q, M) of rows that distances are measured on."""
        if self.base is None:
            return features
        return self.base.weighted_columns(features) if self.weighted else self.base.normal_scores.apply(features)

    @cached_property
    def smoothing_degrees(self) -> FrozenDegrees:
        """The degrees of the training rows in smoothing."""
        return FrozenDegrees.of(self.graph, self.trained.networks[0].config.alpha, self.smoothing_epsilon)

    @cached_property
    def _trained_columns(self) -> Any:
        return self.graph_columns(self.features)

    def edges(self, features: Any) -> sp.csr_array:
        """Return the one-way edges (Q, N) that join new rows (Q, M) to the training rows."""
        assert self.attachment is not None
        return self.attachment.edges(self._trained_columns, self.graph.degrees, self.graph_columns(features))

    def predict_new(self, n: int, features: Callable[[slice], Any]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield the predictions for `n` new rows: blocks of rows and their predictions, (members, rows, answers).

        `features` gives the scaled columns of the rows of a block, in the form of those of the training rows.
        """
        config = self.trained.networks[0].config
        width = max(config.in_channels, config.hidden_channels, config.out_channels)
        at_once = max(1, VALUES_AT_ONCE // ((config.alpha + 1) * width))  # so that what is computed fits into memory
        for start in range(0, n, at_once):
            block = slice(start, min(start + at_once, n))
            yield block, self._predicted(features(block))

    def _predicted(self, features: Any) -> NDArray[np.float64]:
        """Return the predictions (members, Q, answers) for the new rows (Q, M) of one block."""
        edges = self.edges(features)
        if self.base is None or self.smoothed is None:
            logits = logits_of_new(self.frozen, self.network_input, features, edges)
            return self.outputs.from_networks(logits)[None]
        base = self.base.predict(features)
        network_input = self.base.network_input(features, self.outputs.network_inputs(base))
        logits = logits_of_new(self.frozen, self.network_input, network_input, edges)
        signal = smoothed_new(self.outputs.smoothing_start(base), self.smoothed, edges, self.smoothing_degrees)
        return np.stack([base, self.outputs.from_smoothed(signal, base), self.outputs.from_networks(logits)])
