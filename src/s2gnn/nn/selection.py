"""What a network was prepared with on a whole graph, for some nodes alone: selected, not computed anew.

On the graphs of a disjoint union nothing is lost by it: degrees and normalisations do not cross the blocks. On some
nodes of one graph the degrees are those of the whole graph, and only the edges that leave the nodes are missing.
"""

from functools import singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs.selection import Selection
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.features import Propagated
from s2gnn.operators import PreparedInput, SobolevFamily, SobolevOperator, SparseInput
from s2gnn.operators.matrix import ConstantMatrix, MatrixProduct


def select_nodes(x: Any, op: Any, selection: Selection) -> tuple[Any, Any]:
    """What a network of `MODELS` is called with on some nodes, from what it is called with on all.

    Features that were propagated once stay what they are: the first layer then misses no neighbour.

    Args:
        x: features of all nodes (N, F), a tensor or as the network's `prepare` made them.
        op: the second thing that `prepare` gave.
        selection: of n nodes.

    Returns:
        The features (n, F) in the same form, and the operator of the chosen nodes.
    """
    part = select_operator(op, selection)
    nodes = torch.from_numpy(selection.nodes)
    if isinstance(x, PreparedInput):
        return PreparedInput(_rows(x.stacked, nodes), part), part
    if isinstance(x, Propagated):
        different = {id(signal): _rows(signal, nodes) for signal in x.signals}
        return Propagated(tuple(different[id(signal)] for signal in x.signals), part), part
    if isinstance(x, Tensor):
        return _rows(x, nodes), part
    if isinstance(x, SparseInput):
        return x.rows(nodes), part
    raise InputError(f"x is a {type(x).__name__}, of which no rows can be chosen: pass a dense tensor")


@singledispatch
def select_operator(op: Any, selection: Selection) -> Any:
    """What an operator has of the chosen nodes; `None`, of a network that sees the features only, has nothing."""
    del selection
    if op is None:
        return None
    raise InputError(f"no nodes can be chosen of a {type(op).__name__}")


@select_operator.register
def _(op: SobolevOperator, selection: Selection) -> SobolevOperator:
    return op.selected(selection)


@select_operator.register
def _(op: SobolevFamily, selection: Selection) -> SobolevFamily:
    return op.selected(selection)


@select_operator.register
def _(op: NodePairs, selection: Selection) -> NodePairs:
    stored, n = selection.stored(op.offsets.cpu().numpy(), op.columns.cpu().numpy()), len(selection.nodes)
    rows = np.repeat(np.arange(n), np.diff(stored.indptr))
    return NodePairs(torch.from_numpy(rows * n + stored.columns).to(op.codes.device), n)


@select_operator.register
def _(op: ConstantMatrix, selection: Selection) -> ConstantMatrix:
    matrix = _submatrix(op.matrix, selection)
    return ConstantMatrix(matrix, matrix if op.transpose is op.matrix else _submatrix(op.transpose, selection))


@select_operator.register
def _(op: MatrixProduct, selection: Selection) -> MatrixProduct:
    return MatrixProduct(_each_once(op.factors, selection))


@select_operator.register
def _(op: tuple, selection: Selection) -> tuple[Any, ...]:  # type: ignore[type-arg]
    return _each_once(op, selection)


def _each_once(operators: tuple[Any, ...], selection: Selection) -> tuple[Any, ...]:
    """Several operators; one that stands there several times is selected once, and stays one."""
    different = {id(op): select_operator(op, selection) for op in {id(op): op for op in operators}.values()}
    return tuple(different[id(op)] for op in operators)


def _submatrix(matrix: Tensor, selection: Selection) -> Tensor:
    """The rows and columns (n, n) of a matrix (N, N), CSR or dense."""
    if matrix.layout != torch.sparse_csr:
        nodes = torch.from_numpy(selection.nodes).to(matrix.device)
        return _rows(matrix, nodes).index_select(1, nodes)
    stored = selection.stored(matrix.crow_indices().cpu().numpy(), matrix.col_indices().cpu().numpy())
    small, device, n = matrix.crow_indices().dtype, matrix.device, len(selection.nodes)
    return torch.sparse_csr_tensor(
        torch.from_numpy(stored.indptr).to(device, small),
        torch.from_numpy(stored.columns).to(device, small),
        _rows(matrix.values(), torch.from_numpy(stored.entries)),
        size=(n, n),
        check_invariants=False,
    )


def _rows(values: Tensor, chosen: Tensor) -> Tensor:
    return values.index_select(0, chosen.to(values.device))
