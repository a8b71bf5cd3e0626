"""A trained network on new rows, while the states and degrees of the training rows stay as they were."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from s2gnn.graphs import Graph
from s2gnn.learning import History
from s2gnn.nn import S2GNN
from s2gnn.nn.conv import by_branch
from s2gnn.operators.shifts import hadamard_factors


@dataclass(frozen=True)
class Networks:
    """Trained networks and what they know of the training rows.

    Attributes:
        models: in evaluation mode.
        states: for each model the inputs of its layers after the first, see `layer_inputs`.
        logits: of the training rows, (number of models, N, outputs).
        histories: one for each model.
        kept_epochs: the epoch, counted from 0, whose weights each model has.
    """

    models: tuple[S2GNN, ...]
    states: tuple[tuple[NDArray[np.float32], ...], ...]
    logits: NDArray[np.float64]
    histories: tuple[History, ...]
    kept_epochs: tuple[int, ...]


@torch.no_grad()
def layer_inputs(model: S2GNN, x: Any, op: Any) -> tuple[NDArray[np.float32], ...]:
    """What the layers after the first were given of the training rows, each (N, hidden); `x`, `op` of `prepare`."""
    model.eval()
    return tuple(output.numpy() for output in model.layer_outputs(x, op)[:-1])


@dataclass(frozen=True)
class FrozenDegrees:
    """What the operator keeps of the training rows: the factors m and c of `HadamardFactors`.

    Attributes:
        epsilon: ε of the operator.
        m: the largest entry of each row of A + εI, (N,).
        c: (Σ_j (ā_ij / m_i)^ρ)^-1/2, (N, α).
    """

    epsilon: float
    m: NDArray[np.float64]
    c: NDArray[np.float64]

    @classmethod
    def of(cls, graph: Graph, alpha: int, epsilon: float) -> "FrozenDegrees":
        """Of a training graph."""
        m = np.maximum(epsilon, graph.row_maxima(graph.weights))
        m[m == 0] = 1.0
        return cls(float(epsilon), m, hadamard_factors(graph, alpha, epsilon, "adjacency").c)

    def rows(self, edges: sp.csr_array) -> tuple[list[sp.csr_array], NDArray[np.float64]]:
        r"""The rows of S_1..S_α that belong to new nodes joined by `edges` (Q, N) one way.

        With :math:`d_\rho(i) = \epsilon^\rho + \sum_j a_{ij}^\rho` over the new node's own edges and the frozen degrees
        of the training nodes, :math:`S_\rho(i, j) = a_{ij}^\rho / \sqrt{d_\rho(i)\, d_\rho(j)}` and
        :math:`S_\rho(i, i) = \epsilon^\rho / d_\rho(i)`, formed from the factors that keep powers in range.

        Returns:
            For each ρ the entries towards training nodes (Q, N), and those of the new nodes themselves (Q, α).
        """
        counts = np.diff(edges.indptr)
        m = np.maximum(self.epsilon, np.asarray(edges.max(axis=1).todense()).reshape(-1))
        m[m == 0] = 1.0
        own_m = np.repeat(m, counts)
        relative, b = edges.data / own_m, edges.data / np.sqrt(own_m * self.m[edges.indices])
        rows, diagonal = [], np.empty((edges.shape[0], self.c.shape[1]))
        for rho in range(1, self.c.shape[1] + 1):
            powers = sp.csr_array((relative**rho, edges.indices, edges.indptr), shape=edges.shape)
            own = (self.epsilon / m) ** rho
            degrees = own + powers.sum(axis=1)
            c = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
            entries = b**rho * np.repeat(c, counts) * self.c[edges.indices, rho - 1]
            rows.append(sp.csr_array((entries, edges.indices, edges.indptr), shape=edges.shape))
            diagonal[:, rho - 1] = own * c**2
        return rows, diagonal


@torch.no_grad()
def frozen_logits(
    networks: Networks,
    degrees: Sequence[FrozenDegrees],
    X: Any,
    new: Any,
    edges: sp.csr_array,
) -> NDArray[np.float64]:
    """The logits of each network for `new` rows (Q, M), joined to training rows X (N, M) by `edges` (Q, N).

    In float64, so that an answer does not depend on which rows are asked for together. `degrees` are those of each
    network, which differ where ε was learned.

    Returns:
        (number of networks, Q, C).
    """
    logits = []
    known: FrozenDegrees | None = None
    for model, hidden, own in zip(networks.models, networks.states, degrees, strict=True):
        if own is not known:  # networks of one ε share their first layer's input
            known, (rows, diagonal) = own, own.rows(edges)
            first = _stacked(rows, diagonal, X, new)
        stacked = first
        for conv, trained in zip(copy.deepcopy(model).double().convs, (*hidden, None), strict=True):
            h = conv.merge(by_branch(stacked, conv.weight), stacked[:, 0]).numpy()  # type: ignore[operator, arg-type]
            if trained is not None:
                stacked = _stacked(rows, diagonal, trained, h)
        logits.append(h)
    return np.stack(logits)


def _stacked(rows: Sequence[sp.csr_array], diagonal: NDArray[np.float64], trained: Any, new: Any) -> torch.Tensor:
    """S_ρ h of the new rows for ρ = 0..α, (Q, α + 1, F), of training signals (N, F) and their own (Q, F)."""
    own = new.toarray() if sp.issparse(new) else np.asarray(new, dtype=np.float64)
    stacked = np.empty((own.shape[0], len(rows) + 1, own.shape[1]))
    stacked[:, 0] = own
    for rho, row in enumerate(rows, start=1):
        from_trained = row @ trained
        stacked[:, rho] = from_trained.toarray() if sp.issparse(from_trained) else from_trained
        stacked[:, rho] += diagonal[:, rho - 1, None] * own
    return torch.from_numpy(stacked)
