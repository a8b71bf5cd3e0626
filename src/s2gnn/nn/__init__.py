"""The sparse Sobolev layer and network, and the baselines."""

from s2gnn.nn.baselines.ablations import NoHadamardGNN, RegularSobolevGNN
from s2gnn.nn.baselines.cheby import Cheby
from s2gnn.nn.baselines.clustergcn import ClusterGCN
from s2gnn.nn.baselines.gat import GAT
from s2gnn.nn.baselines.gatv2 import GATv2
from s2gnn.nn.baselines.gcn import GCN
from s2gnn.nn.baselines.mlp import MLP
from s2gnn.nn.baselines.registry import (
    MODELS,
    has_head,
    hyperparameters,
    make_graph_model,
    make_model,
    model_defaults,
)
from s2gnn.nn.baselines.sgc import SGC
from s2gnn.nn.baselines.sign import SIGN
from s2gnn.nn.baselines.stack import HeadName
from s2gnn.nn.baselines.supergat import SuperGAT
from s2gnn.nn.baselines.transformer import Transformer
from s2gnn.nn.checkpoint import load_model, save_model
from s2gnn.nn.conv import S2Conv
from s2gnn.nn.epsilon import LearnedEpsilon
from s2gnn.nn.fusion import AttentionFusion, LinearFusion, MLPFusion
from s2gnn.nn.graph_level import GraphClassifier, GraphInput
from s2gnn.nn.network import GraphNetwork
from s2gnn.nn.parts import Clusters, InParts, NodeBatch, NodeBatches
from s2gnn.nn.plan import LayerPlan, plan_layer
from s2gnn.nn.pooling import AttentionPooling, MaxPooling, MeanPooling, NodeGroups, SumPooling
from s2gnn.nn.s2gnn import S2GNN, S2GNNConfig

__all__ = [
    "GAT",
    "GCN",
    "MLP",
    "MODELS",
    "S2GNN",
    "SGC",
    "SIGN",
    "AttentionFusion",
    "AttentionPooling",
    "Cheby",
    "ClusterGCN",
    "Clusters",
    "GATv2",
    "GraphClassifier",
    "GraphInput",
    "GraphNetwork",
    "HeadName",
    "InParts",
    "LayerPlan",
    "LearnedEpsilon",
    "LinearFusion",
    "MLPFusion",
    "MaxPooling",
    "MeanPooling",
    "NoHadamardGNN",
    "NodeBatch",
    "NodeBatches",
    "NodeGroups",
    "RegularSobolevGNN",
    "S2Conv",
    "S2GNNConfig",
    "SumPooling",
    "SuperGAT",
    "Transformer",
    "has_head",
    "hyperparameters",
    "load_model",
    "make_graph_model",
    "make_model",
    "model_defaults",
    "plan_layer",
    "save_model",
]
