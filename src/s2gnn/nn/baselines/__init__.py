"""The networks that S2-GNN is compared with, and the two that take its Hadamard powers away."""

from s2gnn.nn.baselines.ablations import NoHadamardGNN, RegularSobolevGNN
from s2gnn.nn.baselines.cheby import Cheby
from s2gnn.nn.baselines.clustergcn import ClusterGCN
from s2gnn.nn.baselines.gat import GAT
from s2gnn.nn.baselines.gatv2 import GATv2
from s2gnn.nn.baselines.gcn import GCN
from s2gnn.nn.baselines.mlp import MLP
from s2gnn.nn.baselines.sgc import SGC
from s2gnn.nn.baselines.sign import SIGN
from s2gnn.nn.baselines.supergat import SuperGAT
from s2gnn.nn.baselines.transformer import Transformer

__all__ = [
    "GAT",
    "GCN",
    "MLP",
    "SGC",
    "SIGN",
    "Cheby",
    "ClusterGCN",
    "GATv2",
    "NoHadamardGNN",
    "RegularSobolevGNN",
    "SuperGAT",
    "Transformer",
]
