"""The registry: every model of the comparison by its name."""

import difflib
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, get_args

from torch import nn

from s2gnn.errors import InputError
from s2gnn.nn import baselines
from s2gnn.nn.baselines.network import HeadName
from s2gnn.nn.s2gnn import S2GNN

MODELS: Mapping[str, type[nn.Module]] = MappingProxyType(
    {
        "s2gnn": S2GNN,
        "gcn": baselines.GCN,
        "cheby": baselines.Cheby,
        "gat": baselines.GAT,
        "sgc": baselines.SGC,
        "clustergcn": baselines.ClusterGCN,
        "sign": baselines.SIGN,
        "supergat": baselines.SuperGAT,
        "transformer": baselines.Transformer,
        "gatv2": baselines.GATv2,
        "mlp": baselines.MLP,
        "no-hadamard": baselines.NoHadamardGNN,
        "regular-sobolev": baselines.RegularSobolevGNN,
    }
)


def hyperparameters(name: str) -> tuple[str, ...]:
    """What `make_model(name, …)` can be told beside the numbers of features and classes, `head` last."""
    if name not in MODELS:
        close = _closest(name)
        meant = f"did you mean {close!r}? They are" if close else "they are"
        raise InputError(f"there is no model {name!r}: {meant} {', '.join(MODELS)}")
    own = [p for p in inspect.signature(MODELS[name]).parameters if p not in ("in_channels", "out_channels", "head")]
    return (*own, "head")


def _closest(name: str) -> str | None:
    """The model that a misspelt name most likely stands for; of equally similar ones, that with the same beginning."""
    name = name.lower()

    def similarity(model: str) -> tuple[float, bool]:
        return difflib.SequenceMatcher(None, name, model).ratio(), name[0] == model[0]

    return max(difflib.get_close_matches(name, MODELS, n=len(MODELS)), key=similarity, default=None)


def model_defaults(name: str) -> dict[str, Any]:
    """The defaults of the model's class among `hyperparameters(name)`, but for the head and for what is off."""
    parameters = inspect.signature(MODELS[name]).parameters
    defaults = {key: parameters[key].default for key in hyperparameters(name)[:-1]}
    off = (None, False, inspect.Parameter.empty)
    return {key: value for key, value in defaults.items() if not any(value is nothing for nothing in off)}


def has_head(name: str) -> bool:
    """Whether `head` makes a difference: the released code puts ReLU and dropout on the logits of this model."""
    return "head" in inspect.signature(MODELS[name]).parameters


def make_model(name: str, in_channels: int, out_channels: int, **given: Any) -> nn.Module:
    """The model called `name`.

    Args:
        name: one of `MODELS`.
        in_channels: width of the node features.
        out_channels: number of classes.
        **given: of `hyperparameters(name)`; what is left out has the default of the model's class, and
            `hidden_channels` 64. `head` is accepted for every model: for S2-GNN, SIGN and the ablations, whose logits
            the released code leaves as they are, "plain" and "released" are the same.
    """
    allowed = hyperparameters(name)
    unknown = [key for key in given if key not in allowed]
    if unknown:
        raise InputError(f"{name} has no hyperparameter {unknown[0]!r}: allowed are {', '.join(allowed)}")
    if given.get("head", "plain") not in get_args(HeadName):
        raise InputError(f"head is {given['head']!r}, but it must be one of {', '.join(get_args(HeadName))}")
    model = MODELS[name]
    if not has_head(name):
        given.pop("head", None)
    arguments = {"hidden_channels": 64, **given}
    return model(in_channels=in_channels, out_channels=out_channels, **arguments)
