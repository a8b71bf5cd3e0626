"""The sparse Sobolev layer and network, and the networks they are compared with."""

from s2gnn.nn.checkpoint import load_model, save_model
from s2gnn.nn.conv import S2Conv
from s2gnn.nn.fusion import LinearFusion, MLPFusion
from s2gnn.nn.gcn import GCN
from s2gnn.nn.mlp import MLP
from s2gnn.nn.plan import LayerPlan, plan_layer
from s2gnn.nn.s2gnn import S2GNN, S2GNNConfig

__all__ = [
    "GCN",
    "MLP",
    "S2GNN",
    "LayerPlan",
    "LinearFusion",
    "MLPFusion",
    "S2Conv",
    "S2GNNConfig",
    "load_model",
    "plan_layer",
    "save_model",
]
