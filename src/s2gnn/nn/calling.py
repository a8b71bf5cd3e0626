"""The two calling conventions of layers and networks: a prebuilt operator, or PyG's `edge_index` and `edge_weight`."""

import math
from typing import Any

import torch
from torch import Tensor

from s2gnn.errors import AsymmetricGraphError, InputError
from s2gnn.graphs import Graph
from s2gnn.nn.epsilon import LearnedEpsilon
from s2gnn.nn.inputs import LayerInput
from s2gnn.operators import (
    BranchOperator,
    EdgeOperator,
    GraphOperator,
    PreparedInput,
    Shift,
    SobolevFamily,
    SparseInput,
)
from s2gnn.operators.autograd import transforming
from s2gnn.operators.graph_operator import is_dense
from s2gnn.operators.powers import product_dtype
from s2gnn.operators.sobolev import warn_of_identical_branches


def as_operator(
    x: LayerInput,
    graph: GraphOperator | Tensor | None,
    edge_weight: Tensor | None,
    alpha: int,
    epsilon: float | LearnedEpsilon | None,
    shift: Shift | None,
    *,
    directed: bool = True,
    normalize: bool = True,
) -> BranchOperator:
    """Return the operator of either calling convention: the validated argument, or an operator built from edges.

    A `SobolevFamily` is evaluated at the layer's ε. `normalize` is that of `EdgeOperator`.
    """
    if isinstance(graph, BranchOperator | SobolevFamily):
        if edge_weight is not None:
            raise InputError(
                "edge_weight goes with edge_index; a SobolevOperator carries its own weights, and a SobolevFamily "
                "takes others by family.with_weights(weights)"
            )
        _check_operator(x, graph, alpha, epsilon, shift)
        return graph.at(_value(epsilon)) if isinstance(graph, SobolevFamily) else graph
    if isinstance(x, SparseInput):
        raise InputError("sparse features need a SobolevOperator: call conv(x, op)")
    if isinstance(x, PreparedInput):
        raise InputError("a prepared input needs the operator that prepared it: call conv(op.prepare(x), op)")
    if not is_dense(graph):
        raise InputError(f"the graph is a {type(graph).__name__}: pass {_remedy(graph, alpha, epsilon)}")
    return edge_operator(x, graph, edge_weight, alpha, epsilon, shift, directed=directed, normalize=normalize)


def edge_operator(
    x: Tensor,
    edge_index: Tensor,
    edge_weight: Tensor | None,
    alpha: int,
    epsilon: float | LearnedEpsilon | None,
    shift: Shift | None,
    *,
    directed: bool = True,
    normalize: bool = True,
) -> EdgeOperator:
    """Build the operator of a directed or undirected graph on the device of `x`.

    Only a few numbers are copied from the device to validate the edges; invalid edges are copied to name one in the
    error.
    """
    n_nodes, value, chosen = x.shape[0], _value(epsilon), shift or "adjacency"
    options: dict[str, Any] = {"normalize": normalize, "dtype": product_dtype(x.dtype)}
    if torch.compiler.is_compiling() or x.is_meta or (edge_weight is not None and transforming()):
        op = EdgeOperator(edge_index, edge_weight, n_nodes, alpha, value, chosen, **options)
        if not directed:
            op.require_symmetry()
        return op.to(x.device)
    weights = None if edge_weight is None else torch.as_tensor(edge_weight, device=x.device)
    are_integers = edge_index.dtype in (torch.int32, torch.int64)
    if not are_integers or edge_index.ndim != 2 or (weights is not None and weights.shape != edge_index.shape[1:]):
        _check_values(edge_index, edge_weight, n_nodes, directed)
    edges = edge_index.to(x.device)
    inside = edges.clamp(0, n_nodes - 1)  # an index out of range would end all work on a GPU, not only this call
    valid = (inside == edges).all()
    if weights is not None:
        valid = valid & (weights.detach() >= 0).all()
    op = EdgeOperator(inside, weights, n_nodes, alpha, value, chosen, **options)
    facts = op.facts(valid)
    if not facts.valid or not (facts.symmetric or directed):
        _check_values(edge_index, edge_weight, n_nodes, directed)
    if not facts.valid:
        raise InputError("the weights of the edges to a node add up to infinity: scale the weights down")
    if facts.identical and normalize and not isinstance(value, Tensor):
        warn_of_identical_branches(alpha, value, chosen)
    if facts.symmetric and (weights is None or not weights.requires_grad):  # otherwise S_ij and S_ji vary separately
        op = op.as_undirected()
    return op.to(x.device)  # with the chunks of its pattern


def _remedy(graph: object, alpha: int, epsilon: float | LearnedEpsilon | None) -> str:
    """Return what to pass instead of `graph`."""
    if isinstance(graph, Graph) and isinstance(epsilon, LearnedEpsilon):
        return f"SobolevFamily(graph, alpha={alpha})"
    if isinstance(graph, Graph):
        return f"SobolevOperator(graph, alpha={alpha}, epsilon={1.0 if epsilon is None else epsilon})"
    if hasattr(graph, "edge_index"):
        return "data.edge_index, data.edge_weight"
    return "a SobolevOperator, or edge_index (2, E)"


def _check_values(edge_index: Tensor, edge_weight: Tensor | None, n_nodes: int, directed: bool) -> None:
    """Raise an error that names an invalid edge."""
    try:
        Graph.from_edge_index(edge_index, edge_weight, n_nodes, sum_duplicates=True, drop_self_loops=True)
    except AsymmetricGraphError:
        if not directed:
            raise


def _value(epsilon: float | LearnedEpsilon | None) -> float | Tensor:
    if epsilon is None:
        raise InputError("the layer has no epsilon: pass an operator that has one")
    return epsilon() if isinstance(epsilon, LearnedEpsilon) else epsilon


def _check_operator(
    x: LayerInput,
    op: BranchOperator | SobolevFamily,
    alpha: int,
    epsilon: float | LearnedEpsilon | None,
    shift: Shift | None,
) -> None:
    """Raise if `op` or `x` is incompatible with a layer of these settings."""
    if shift not in (None, op.shift):
        raise InputError(
            f"the layer has shift={shift!r}, but the operator {op.shift!r}: build both with the same shift"
        )
    if isinstance(op, SobolevFamily):
        if op.alpha != alpha:
            raise InputError(f"the layer has alpha={alpha}, but the family {op.alpha}: use the same alpha")
    elif isinstance(epsilon, LearnedEpsilon):
        raise InputError(
            f"the layer learns epsilon, but the {type(op).__name__} has one: pass "
            f"s2gnn.operators.SobolevFamily(graph, alpha={alpha})"
        )
    elif op.alpha != alpha or not (epsilon is None or math.isclose(epsilon, op.epsilon, rel_tol=1e-6)):
        own = "" if epsilon is None else f", epsilon={epsilon!r}"
        raise InputError(
            f"the layer has alpha={alpha}{own}, but the operator "
            f"alpha={op.alpha}, epsilon={op.epsilon!r}: build both with the same values"
        )
    if isinstance(x, PreparedInput):
        if isinstance(op, SobolevFamily) or not op.is_constant:
            raise InputError("what an operator prepared does not change with epsilon or the weights: pass x as it is")
        x.by(op)
