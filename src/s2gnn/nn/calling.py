"""The two ways to call a layer or a network: with an operator built before, or with the edges as PyG has them."""

from typing import Any

import torch
from torch import Tensor

from s2gnn.errors import AsymmetricGraphError, InputError
from s2gnn.nn.epsilon import LearnedEpsilon
from s2gnn.nn.inputs import LayerInput
from s2gnn.operators import (
    BranchOperator,
    EdgeOperator,
    GraphOperator,
    PreparedInput,
    Shift,
    SobolevFamily,
    SobolevOperator,
    SparseInput,
)
from s2gnn.operators.autograd import transforming
from s2gnn.operators.edge_index import graph_of_edge_index
from s2gnn.operators.sobolev import product_dtype, warn_of_identical_branches


def as_operator(
    x: LayerInput,
    graph: GraphOperator | Tensor | None,
    edge_weight: Tensor | None,
    alpha: int,
    epsilon: float | LearnedEpsilon | None,
    shift: Shift | None,
    *,
    directed: bool = True,
) -> BranchOperator:
    """The operator of either calling convention: the one passed in, checked, or one built from the edges.

    A family becomes its member at the layer's ε. Edges that are not those of an undirected graph make an
    `EdgeOperator`, or an error unless `directed`.
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
        raise InputError("sparse features go with a SobolevOperator: call conv(x, op)")
    if isinstance(x, PreparedInput):
        raise InputError("a prepared input goes with the operator that made it: call conv(op.prepare(x), op)")
    if not isinstance(graph, Tensor) or graph.layout != torch.strided:
        raise InputError(
            f"the graph is a {type(graph).__name__}, expected a SobolevOperator or a dense edge_index (2, E)"
        )
    value, chosen = _value(epsilon), shift or "adjacency"
    options: dict[str, Any] = {"dtype": product_dtype(x.dtype), "device": x.device}
    if _traced(edge_weight):
        return edge_operator(x, graph, edge_weight, alpha, epsilon, shift, directed=directed)
    try:
        undirected, pairs = graph_of_edge_index(graph, edge_weight, x.shape[0], details=not directed)
    except AsymmetricGraphError:
        if not directed:
            raise
        return _edge_operator(x, graph, edge_weight, alpha, value, chosen)
    if isinstance(epsilon, LearnedEpsilon) or getattr(edge_weight, "requires_grad", False):
        return SobolevFamily.from_pairs(undirected, pairs, graph, edge_weight, alpha, chosen, **options).at(value)
    return SobolevOperator(undirected, alpha, float(value), chosen, **options)


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
    """The operator of checked edges, each direction for itself, whether the graph is directed or not."""
    if not _traced(edge_weight) and x.shape[0] > 0:
        try:
            graph_of_edge_index(edge_index, edge_weight, x.shape[0], details=not directed)
        except AsymmetricGraphError:
            if not directed:
                raise
    return _edge_operator(x, edge_index, edge_weight, alpha, _value(epsilon), shift or "adjacency", normalize)


def _edge_operator(
    x: Tensor,
    edge_index: Tensor,
    edge_weight: Tensor | None,
    alpha: int,
    epsilon: float | Tensor,
    shift: Shift,
    normalize: bool = True,
) -> EdgeOperator:
    weights = None if edge_weight is None else torch.as_tensor(edge_weight)
    dtype = product_dtype(x.dtype)
    op = EdgeOperator(edge_index, weights, x.shape[0], alpha, epsilon, shift, normalize=normalize, dtype=dtype)
    if normalize and not isinstance(epsilon, Tensor) and not _traced(edge_weight) and op.has_identical_powers():
        warn_of_identical_branches(alpha, epsilon, shift)
    return op


def _traced(edge_weight: Tensor | None) -> bool:
    """Whether edges have no values to look at, inside `torch.compile` or a transform of `torch.func`."""
    return torch.compiler.is_compiling() or (edge_weight is not None and transforming())


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
    """Raise unless a layer with these settings can work on `op` with `x`."""
    if shift not in (None, op.shift):
        raise InputError(f"the layer has shift={shift!r}, but the operator {op.shift!r}: build both alike")
    if isinstance(op, SobolevFamily):
        if op.alpha != alpha:
            raise InputError(f"the layer has alpha={alpha}, but the family alpha={op.alpha}: build both alike")
    elif isinstance(epsilon, LearnedEpsilon):
        raise InputError(
            f"the layer learns epsilon, but the {type(op).__name__} has one: pass "
            f"s2gnn.operators.SobolevFamily(graph, alpha={alpha})"
        )
    elif op.alpha != alpha or epsilon not in (None, op.epsilon):
        own = "" if epsilon is None else f", epsilon={epsilon:g}"
        raise InputError(
            f"the layer has alpha={alpha}{own}, but the operator "
            f"alpha={op.alpha}, epsilon={op.epsilon:g}: build both with the same values"
        )
    if isinstance(x, PreparedInput):
        if isinstance(op, SobolevFamily) or not op.is_constant:
            raise InputError("what an operator prepared does not change with epsilon or the weights: pass x as it is")
        x.by(op)
