"""The names of models, data sets and graphs in tables and figures, and the colour and marker of a model."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from s2gnn.pictures import PALETTE

_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "s2gnn": "S2-GNN",
        "s2gnn+": "S2-GNN+",
        "s2gnn-published": "S2-GNN, published",
        "gcn": "GCN",
        "cheby": "Cheby",
        "sgc": "SGC",
        "sign": "SIGN",
        "clustergcn": "ClusterGCN",
        "gat": "GAT",
        "supergat": "SuperGAT",
        "transformer": "Transformer",
        "gatv2": "GATv2",
        "mlp": "MLP",
        "svm": "SVM",
        "label-spreading": "label spreading",
        "no-hadamard": "no Hadamard powers",
        "regular-sobolev": "matrix powers",
        "mlp fusion": "MLP fusion",
        "cancer-b": "Cancer-B",
        "cancer-m": "Cancer-M",
        "20news": "20News",
        "har": "HAR",
        "isolet": "Isolet",
        "cora": "Cora",
        "citeseer": "Citeseer",
        "pubmed": "Pubmed",
        "enzymes": "ENZYMES",
        "mutag": "MUTAG",
        "proteins": "PROTEINS",
        "knn": "k-NN",
        "smooth": "learned",
    }
)
# S2-GNN is dark and before all others; attention, the ablations and what sees no graph have one colour each.
_ATTENTION, _ABLATION, _NO_GRAPH = PALETTE[5], "0.6", "0.4"
_LOOKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "s2gnn": (PALETTE[0], "o"),
        "gcn": (PALETTE[4], "s"),
        "cheby": ("#3FA2D2", "D"),
        "sgc": (PALETTE[8], "v"),
        "sign": (PALETTE[6], "^"),
        "clustergcn": (PALETTE[2], "P"),
        "gat": (_ATTENTION, "<"),
        "gatv2": (_ATTENTION, ">"),
        "supergat": (_ATTENTION, "p"),
        "transformer": (_ATTENTION, "h"),
        "no-hadamard": (_ABLATION, "d"),
        "regular-sobolev": (_ABLATION, "X"),
        "mlp": (_NO_GRAPH, "."),
        "label-spreading": (PALETTE[8], "D"),
    }
)


def display_name(identifier: str) -> str:
    """Return the name of a model, data set or kind of graph for people; unknown names stay."""
    return _NAMES.get(identifier, identifier)


def line_style(model: str) -> dict[str, Any]:
    """Return the colour and the marker of a model, as arguments of `Axes.plot`; the line of S2-GNN is thicker."""
    colour, marker = _LOOKS[model]
    ours = model == "s2gnn"
    return {"color": colour, "marker": marker, "linewidth": 1.6 if ours else 1.1, "zorder": 3 if ours else 2}
