"""The two calling conventions of layers and networks: a prebuilt operator, or PyG's `edge_index` and `edge_weight`."""

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
from s2gnn.operators.edges import EdgeFacts
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
) -> BranchOperator:
    """Return the operator of either calling convention: the validated argument, or an operator built from edges.

    A `SobolevFamily` is evaluated at the layer's ε. Directed edges give an `EdgeOperator`, or an error if `directed` is
    false.
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
        raise InputError(
            f"the graph is a {type(graph).__name__}, expected a SobolevOperator or a dense edge_index (2, E)"
        )
    if x.device.type != "cpu" or _traced(x, edge_weight):
        return edge_operator(x, graph, edge_weight, alpha, epsilon, shift, directed=directed)
    value, chosen, dtype = _value(epsilon), shift or "adjacency", product_dtype(x.dtype)
    try:
        undirected, pairs = graph_of_edge_index(graph, edge_weight, x.shape[0], details=not directed)
    except AsymmetricGraphError:
        if not directed:
            raise
        weights = None if edge_weight is None else torch.as_tensor(edge_weight)
        op = EdgeOperator(graph, weights, x.shape[0], alpha, value, chosen, known_directed=True, dtype=dtype)
        _check_facts(op, op.facts(), value)
        return op
    options: dict[str, Any] = {"dtype": dtype, "device": x.device}
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
    """Build the operator of a directed or undirected graph on the device of `x`.

    Only a few numbers are copied from the device to validate the edges; invalid edges are copied to name one in the
    error.
    """
    n_nodes, value, chosen = x.shape[0], _value(epsilon), shift or "adjacency"
    options: dict[str, Any] = {"normalize": normalize, "dtype": product_dtype(x.dtype)}
    if _traced(x, edge_weight) or n_nodes == 0:
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
    _check_facts(op, facts, value if normalize else None)
    return (op.as_undirected() if facts.symmetric else op).to(x.device)  # with the chunks of its pattern


def _check_facts(op: EdgeOperator, facts: EdgeFacts, epsilon: float | Tensor | None) -> None:
    """Raise if degrees overflow, and warn if all branches have the same operator at a constant ε."""
    if not facts.valid:
        raise InputError("the weights of the edges to a node add up to infinity: scale the weights down")
    if facts.identical and epsilon is not None and not isinstance(epsilon, Tensor):
        warn_of_identical_branches(op.alpha, epsilon, op.shift)


def _check_values(edge_index: Tensor, edge_weight: Tensor | None, n_nodes: int, directed: bool) -> None:
    """Raise an error that names an invalid edge."""
    try:
        graph_of_edge_index(edge_index, edge_weight, n_nodes)
    except AsymmetricGraphError:
        if not directed:
            raise


def _traced(x: Tensor, edge_weight: Tensor | None) -> bool:
    """Return whether edges have no concrete values: in `torch.compile`, `torch.func` transforms, on the meta device."""
    return torch.compiler.is_compiling() or x.is_meta or (edge_weight is not None and transforming())


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
