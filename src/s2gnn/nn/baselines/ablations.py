"""The paper's two ablations: S2-GNN without Hadamard powers, and with matrix powers in their place."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.nn.baselines.branches import BranchNetwork
from s2gnn.nn.fusion import FusionName
from s2gnn.operators import SobolevOperator
from s2gnn.operators.matrix import SPARSE_BELOW, ConstantMatrix
from s2gnn.operators.sobolev import check_epsilon

# α matrices of N² entries: one gigabyte in float32.
LARGEST = 2**28


class NoHadamardGNN(BranchNetwork):
    r"""S2-GNN whose branches 1..α all propagate with GCN's :math:`\tilde D^{-1/2} (A + I) \tilde D^{-1/2}`.

    What it lacks of S2-GNN is the Hadamard powers, not the parameters. Arguments and shapes are those of
    `BranchNetwork`.
    """

    def matrices(self, graph: Graph) -> tuple[ConstantMatrix, ...]:
        """GCN's operator, α times the same."""
        first_order = SobolevOperator(graph, 1, 1.0).matrix(1)
        return (ConstantMatrix.from_scipy(first_order, next(self.parameters()), symmetric=True),) * self.alpha


class RegularSobolevGNN(BranchNetwork):
    r"""S2-GNN with the matrix power :math:`(A + \epsilon I)^\rho`, normalised by its row sums, in branch ρ.

    The power joins nodes up to ρ hops apart, so its matrices fill up: N is bounded.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        alpha: highest power.
        epsilon: weight of the identity.
        fusion: "linear" or "mlp".
        dropout: probability of dropping an element of a branch in training.

    Shapes:
        - input: x (N, in_channels) or what `prepare` gives, and α matrices (N, N)
        - output: logits (N, out_channels)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        alpha: int = 4,
        epsilon: float = 1.0,
        fusion: FusionName = "mlp",
        dropout: float = 0.5,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, num_layers, alpha, fusion, dropout)
        check_epsilon(epsilon)
        self.epsilon = float(epsilon)

    def matrices(self, graph: Graph) -> tuple[ConstantMatrix, ...]:
        """D_ρ^-1/2 (A + εI)^ρ D_ρ^-1/2 for ρ = 1..α."""
        parameter = next(self.parameters())
        return tuple(
            ConstantMatrix.from_scipy(S, parameter, symmetric=True)
            for S in matrix_powers(graph, self.alpha, self.epsilon)
        )


def matrix_powers(graph: Graph, alpha: int, epsilon: float) -> list[sp.csr_array]:
    """D_ρ^-1/2 (A + εI)^ρ D_ρ^-1/2 for ρ = 1..α, CSR (N, N) in float64, D_ρ the row sums of the power.

    A row of zeros, of an isolated node at ε = 0, stays one.
    """
    n = graph.n_nodes
    if alpha * n**2 > LARGEST:
        raise InputError(
            f"{alpha} matrix powers of a graph of {n:,} nodes may fill {alpha * n**2:,} entries, more than "
            f"{LARGEST:,}: take at most {int((LARGEST / alpha) ** 0.5):,} nodes, or Hadamard powers, which stay sparse"
        )
    shifted = (graph.to_scipy() + epsilon * sp.eye_array(n, format="csr")).tocsr()
    largest = shifted.sum(axis=1).max(initial=0.0)
    if largest > 0:
        shifted = shifted / largest  # S_ρ does not depend on the scale, and so no power overflows
    power: Any = sp.eye_array(n, format="csr")
    normalised = []
    for _ in range(alpha):
        power = shifted @ power
        if sp.issparse(power) and power.nnz > SPARSE_BELOW * n**2:
            power = power.toarray()  # from here on the product of a sparse with a dense matrix is the faster one
        degrees = power.sum(axis=1)
        root = sp.diags_array(np.divide(1.0, np.sqrt(degrees), out=np.zeros(n), where=degrees > 0))
        normalised.append(sp.csr_array(root @ power @ root))
    return normalised
