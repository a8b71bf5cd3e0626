"""Sparse Sobolev graph neural networks: several orders of graph filters, each as sparse as the graph."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from s2gnn.errors import IdenticalBranchesWarning, InputError, NonFiniteLossError, SlowPathWarning

if TYPE_CHECKING:
    from s2gnn.estimator import S2GNNClassifier, S2GNNRegressor
    from s2gnn.graphs import Graph, diffuse, knn_graph, smooth_graph
    from s2gnn.operators import SobolevOperator
    from s2gnn.pyg import S2GNN, S2Conv

__version__: str

__all__ = [
    "S2GNN",
    "Graph",
    "IdenticalBranchesWarning",
    "InputError",
    "NonFiniteLossError",
    "S2Conv",
    "S2GNNClassifier",
    "S2GNNRegressor",
    "SlowPathWarning",
    "SobolevOperator",
    "diffuse",
    "knn_graph",
    "smooth_graph",
]

_PACKAGES = ("graphs", "operators", "nn", "estimator")


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import what needs torch or scikit-learn, which take seconds, when it is asked for and not before."""
        if name == "__version__":
            return import_module("importlib.metadata").version("s2gnn")
        if name in (*_PACKAGES, "pyg"):
            return import_module(f"s2gnn.{name}")
        if name in ("S2Conv", "S2GNN") and find_spec("torch_geometric") is not None:
            return getattr(import_module("s2gnn.pyg"), name)  # the same, of layers that PyTorch Geometric knows
        if name in __all__:
            homes = (import_module(f"s2gnn.{package}") for package in _PACKAGES)
            return next(getattr(home, name) for home in homes if name in home.__all__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
