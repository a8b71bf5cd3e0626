"""A trained network on new rows, while the hidden states and degrees of the training rows stay fixed."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from s2gnn.devices import widest_float
from s2gnn.estimator.identical_branches import no_warning
from s2gnn.graphs import Graph
from s2gnn.nn import S2GNN
from s2gnn.operators.propagation import by_branch
from s2gnn.operators.shifts import hadamard_factors


@dataclass(frozen=True)
class FrozenDegrees:
    """The operator data of the training rows: the factors m and c of `HadamardFactors`."""

    epsilon: float
    m: NDArray[np.float64]  # the largest entry of each row of A + εI, (N,)
    c: NDArray[np.float64]  # (Σ_j (ā_ij / m_i)^ρ)^-1/2, (N, α)

    @classmethod
    def of(cls, graph: Graph, alpha: int, epsilon: float) -> "FrozenDegrees":
        """Compute the factors of a training graph."""
        m = np.maximum(epsilon, graph.row_maxima(graph.weights))
        m[m == 0] = 1.0
        return cls(float(epsilon), m, hadamard_factors(graph, alpha, epsilon, "adjacency").c)

    def rows(self, edges: sp.csr_array) -> tuple[list[sp.csr_array], NDArray[np.float64]]:
        r"""Return the rows of S_1..S_α of new nodes with one-way `edges` (Q, N).

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


@dataclass(frozen=True)
class FrozenNetwork:
    """A trained network with the training-row data it needs to predict new rows."""

    network: S2GNN  # in evaluation mode
    hidden: tuple[NDArray[np.float32], ...]  # the training rows as its layers after the first see them, (N, hidden)
    degrees: FrozenDegrees


@torch.no_grad()
def freeze(networks: Sequence[S2GNN], X: Any, graph: Graph) -> tuple[tuple[FrozenNetwork, ...], NDArray[np.float64]]:
    """Return the networks on the training rows X (N, M) and their graph, and their logits (networks, N, outputs)."""
    with no_warning():
        x, op = networks[0].prepare(X, graph)
    degrees: dict[float, FrozenDegrees] = {}  # networks of one ε share them
    frozen, logits = [], []
    for network in networks:
        epsilon = float(network.epsilon)
        if epsilon not in degrees:
            degrees[epsilon] = FrozenDegrees.of(graph, network.config.alpha, epsilon)
        *hidden, output = network.eval().layer_outputs(x, op)
        frozen.append(FrozenNetwork(network, tuple(h.cpu().numpy() for h in hidden), degrees[epsilon]))
        logits.append(output.cpu().double().numpy())
    return tuple(frozen), np.stack(logits)


@torch.no_grad()
def logits_of_new(networks: Sequence[FrozenNetwork], X: Any, new: Any, edges: sp.csr_array) -> NDArray[np.float64]:
    """Return the logits (networks, Q, C) for `new` rows (Q, M), joined to training rows X (N, M) by `edges` (Q, N).

    On the device of the networks, in float64 where it has it, so that an answer does not depend on the other rows of a
    call.
    """
    logits = []
    known: FrozenDegrees | None = None
    for frozen in networks:
        if frozen.degrees is not known:  # networks of one ε share the input of the first layer
            known, (rows, diagonal) = frozen.degrees, frozen.degrees.rows(edges)
            first = _stacked(rows, diagonal, X, new)
        stacked = first
        device = frozen.network.layers[0].weight.device
        exact = copy.deepcopy(frozen.network).to(widest_float(device))
        for conv, trained in zip(exact.layers, (*frozen.hidden, None), strict=True):
            there = stacked.to(device, widest_float(device))
            h = conv.merge(by_branch(there, conv.weight), there[:, 0]).cpu().double().numpy()
            if trained is not None:
                stacked = _stacked(rows, diagonal, trained, h)
        logits.append(h)
    return np.stack(logits)


def _stacked(rows: Sequence[sp.csr_array], diagonal: NDArray[np.float64], trained: Any, new: Any) -> torch.Tensor:
    """Return S_ρ h of the new rows for ρ = 0..α, (Q, α + 1, F), of training signals (N, F) and their own (Q, F)."""
    own = new.toarray() if sp.issparse(new) else np.asarray(new, dtype=np.float64)
    stacked = np.empty((own.shape[0], len(rows) + 1, own.shape[1]))
    stacked[:, 0] = own
    for rho, row in enumerate(rows, start=1):
        from_trained = row @ trained
        stacked[:, rho] = from_trained.toarray() if sp.issparse(from_trained) else from_trained
        stacked[:, rho] += diagonal[:, rho - 1, None] * own
    return torch.from_numpy(stacked)
