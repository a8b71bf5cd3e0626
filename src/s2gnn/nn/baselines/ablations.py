"""The paper's two ablations: S2-GNN without Hadamard powers, and with matrix powers in their place."""

from s2gnn.graphs import Graph
from s2gnn.nn.baselines.branches import BranchNetwork
from s2gnn.nn.fusion import FusionName
from s2gnn.operators import SobolevOperator
from s2gnn.operators.matrix import ConstantMatrix, Matrix
from s2gnn.operators.matrix_power import matrix_powers
from s2gnn.operators.sobolev import check_epsilon


class NoHadamardGNN(BranchNetwork):
    r"""S2-GNN whose branches 1..α all propagate with GCN's :math:`\tilde D^{-1/2} (A + I) \tilde D^{-1/2}`.

    What it lacks of S2-GNN is the Hadamard powers, not the parameters. Arguments and shapes are those of
    `BranchNetwork`.
    """

    def matrices(self, graph: Graph) -> tuple[Matrix, ...]:
        """GCN's operator, α times the same."""
        first_order = SobolevOperator(graph, 1, 1.0).matrix(1)
        return (ConstantMatrix.from_scipy(first_order, next(self.parameters()), symmetric=True),) * self.alpha


class RegularSobolevGNN(BranchNetwork):
    r"""S2-GNN with the matrix power :math:`(A + \epsilon I)^\rho`, normalised by its row sums, in branch ρ.

    The power joins nodes up to ρ hops apart and fills up, so that it is multiplied in ρ sparse factors.

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

    def matrices(self, graph: Graph) -> tuple[Matrix, ...]:
        """D_ρ^-1/2 (A + εI)^ρ D_ρ^-1/2 for ρ = 1..α."""
        return matrix_powers(graph, self.alpha, self.epsilon, next(self.parameters()))
