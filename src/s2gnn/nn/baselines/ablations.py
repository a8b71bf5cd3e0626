"""The paper's two ablations: S2-GNN without Hadamard powers, and with matrix powers."""

from s2gnn.graphs import Graph
from s2gnn.nn.fusion import FusionName
from s2gnn.nn.s2gnn import S2GNN
from s2gnn.operators import SobolevOperator
from s2gnn.operators.matrix import ConstantMatrix, MatrixOperator
from s2gnn.operators.matrix_power import matrix_powers
from s2gnn.operators.sobolev import check_epsilon


class NoHadamardGNN(S2GNN):
    r"""S2-GNN whose branches 1..α all propagate with GCN's :math:`\tilde D^{-1/2} (A + I) \tilde D^{-1/2}`.

    It has as many parameters as S2-GNN, but no Hadamard powers. Arguments and shapes: see `S2GNN`.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        alpha: int = 4,
        fusion: FusionName = "mlp",
        dropout: float = 0.5,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, num_layers, alpha, 1.0, fusion, dropout)

    def operator(self, graph: Graph) -> MatrixOperator:
        """Return GCN's operator, repeated α times."""
        first_order = SobolevOperator(graph, 1, 1.0).matrix(1)
        matrix = ConstantMatrix.from_scipy(first_order, self.parameter, symmetric=True)
        return MatrixOperator([matrix] * self.config.alpha)


class RegularSobolevGNN(S2GNN):
    r"""S2-GNN with the matrix power :math:`(A + \epsilon I)^\rho`, normalised by its row sums, in branch ρ.

    The power connects nodes up to ρ hops apart and becomes dense, so it is multiplied as ρ sparse factors. Arguments
    and shapes: see `S2GNN`; ε cannot be learned.
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
        check_epsilon(epsilon)
        super().__init__(in_channels, hidden_channels, out_channels, num_layers, alpha, epsilon, fusion, dropout)

    def operator(self, graph: Graph) -> MatrixOperator:
        """Return D_ρ^-1/2 (A + εI)^ρ D_ρ^-1/2 for ρ = 1..α."""
        epsilon = float(self.epsilon)
        return MatrixOperator(matrix_powers(graph, self.config.alpha, epsilon, self.parameter), epsilon)
