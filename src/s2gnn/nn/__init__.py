"""The sparse Sobolev layer and network, and the networks they are compared with."""

from s2gnn.nn.baselines import (
    GAT,
    GCN,
    MLP,
    SGC,
    SIGN,
    Cheby,
    ClusterGCN,
    GATv2,
    NoHadamardGNN,
    RegularSobolevGNN,
    SuperGAT,
    Transformer,
)
from s2gnn.nn.baselines.registry import (
    MODELS,
    has_head,
    hyperparameters,
    make_graph_model,
    make_model,
    model_defaults,
)
from s2gnn.nn.baselines.stack import HeadName
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
