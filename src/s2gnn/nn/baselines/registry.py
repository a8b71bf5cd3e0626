"""The registry of models by name."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

from s2gnn.errors import InputError, unknown_name
from s2gnn.graphs.validation import check_choice
from s2gnn.nn.baselines.ablations import NoHadamardGNN, RegularSobolevGNN
from s2gnn.nn.baselines.cheby import Cheby
from s2gnn.nn.baselines.clustergcn import ClusterGCN
from s2gnn.nn.baselines.gat import GAT
from s2gnn.nn.baselines.gatv2 import GATv2
from s2gnn.nn.baselines.gcn import GCN
from s2gnn.nn.baselines.mlp import MLP
from s2gnn.nn.baselines.sgc import SGC
from s2gnn.nn.baselines.sign import SIGN
from s2gnn.nn.baselines.stack import HeadName
from s2gnn.nn.baselines.supergat import SuperGAT
from s2gnn.nn.baselines.transformer import Transformer
from s2gnn.nn.graph_level import GraphClassifier
from s2gnn.nn.network import GraphNetwork
from s2gnn.nn.pooling import PoolingName
from s2gnn.nn.s2gnn import S2GNN

MODELS: Mapping[str, type[GraphNetwork]] = MappingProxyType(
    {
        "s2gnn": S2GNN,
        "s2gnn+": S2GNN,  # searched among more architectures, see `s2gnn.experiments.search_space`
        "gcn": GCN,
        "cheby": Cheby,
        "gat": GAT,
        "sgc": SGC,
        "clustergcn": ClusterGCN,
        "sign": SIGN,
        "supergat": SuperGAT,
        "transformer": Transformer,
        "gatv2": GATv2,
        "mlp": MLP,
        "no-hadamard": NoHadamardGNN,
        "regular-sobolev": RegularSobolevGNN,
    }
)


def hyperparameters(name: str) -> tuple[str, ...]:
    """Return the arguments of `make_model(name, …)` except the numbers of features and classes; `head` is last."""
    if name not in MODELS:
        raise unknown_name("there is no model", name, MODELS)
    return (*(key for key in _parameters(name) if key not in ("in_channels", "out_channels", "head")), "head")


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    """Return the arguments of the model's class, and the keyword-only ones of its layers, which it passes on."""
    model = MODELS[name]
    of_model = inspect.signature(model).parameters
    of_layers = inspect.signature(getattr(model, "LAYER", model)).parameters
    return {
        **{key: p for key, p in of_model.items() if p.kind is p.POSITIONAL_OR_KEYWORD},
        **{key: p for key, p in of_layers.items() if p.kind is p.KEYWORD_ONLY},
    }


def model_defaults(name: str) -> dict[str, Any]:
    """Return the defaults of the model's class among `hyperparameters(name)`, except for the head and what is off."""
    parameters = _parameters(name)
    defaults = {key: parameters[key].default for key in hyperparameters(name)[:-1]}
    off = (None, False, inspect.Parameter.empty)
    return {key: value for key, value in defaults.items() if not any(value is nothing for nothing in off)}


def has_head(name: str) -> bool:
    """Return whether the released code applies ReLU and dropout to this model's logits, so that `head` matters."""
    return len(getattr(MODELS[name], "HEADS", ())) > 1


def make_model(name: str, in_channels: int, out_channels: int, **given: Any) -> GraphNetwork:
    """Create a model by name.

    Args:
        name: one of `MODELS`.
        in_channels: width of the node features.
        out_channels: number of classes.
        **given: arguments in `hyperparameters(name)`; defaults are those of the model's class, and 64 for
            `hidden_channels`. `head` is accepted for every model, but has no effect on S2-GNN, SIGN and the ablations,
            whose logits the released code leaves unchanged.
    """
    _check_names(name, given, hyperparameters(name))
    check_choice("head", given.get("head", "plain"), get_args(HeadName))
    model = MODELS[name]
    if not has_head(name):
        given.pop("head", None)
    arguments = {"hidden_channels": 64, **given}
    return model(in_channels=in_channels, out_channels=out_channels, **arguments)


def make_graph_model(
    name: str, in_channels: int, out_channels: int, *, pooling: PoolingName = "mean", **given: Any
) -> GraphClassifier:
    """Create a model for graph classification by name.

    Args:
        name: one of `MODELS`.
        in_channels: width of the node features.
        out_channels: number of classes.
        pooling: "mean", "sum", "max" or "attention".
        **given: arguments in `hyperparameters(name)`, see `make_model`.
    """
    _check_names(name, given, (*hyperparameters(name), "pooling"))
    return GraphClassifier(make_model(name, in_channels, out_channels, **given), pooling, out_channels)


def _check_names(name: str, given: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    unknown = [key for key in given if key not in allowed]
    if unknown:
        raise InputError(f"{name} has no hyperparameter {unknown[0]!r}: allowed are {', '.join(allowed)}")
