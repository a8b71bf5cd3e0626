"""S2-GNN in PyTorch Geometric: the layer, the network, and transforms of data."""

from s2gnn.pyg.conv import S2Conv
from s2gnn.pyg.network import S2GNN
from s2gnn.pyg.transforms import Diffusion, EdgeWeights, WithOperator

__all__ = ["S2GNN", "Diffusion", "EdgeWeights", "S2Conv", "WithOperator"]
