"""Some blocks of what a network was prepared with on a disjoint union: selected, not computed anew.

Degrees and normalisations of a block-diagonal operator do not cross its blocks, so the operator of some graphs consists
of numbers that the operator of all graphs has stored.
"""

import copy
from functools import singledispatch
from typing import Any

import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs.union import Blocks
from s2gnn.nn.baselines.edges import EdgePattern
from s2gnn.nn.features import Propagated
from s2gnn.operators import PreparedInput, SobolevFamily, SobolevOperator
from s2gnn.operators.matrix import ConstantMatrix, MatrixProduct
from s2gnn.operators.propagation import HadamardPowers


def select_blocks(x: Any, op: Any, blocks: Blocks) -> tuple[Any, Any]:
    """What a network of `MODELS` is called with on some graphs of a union, from what it is called with on all.

    Args:
        x: features of all nodes (N, F), a dense tensor or as the network's `prepare` made them.
        op: the second thing that `prepare` gave.
        blocks: of the chosen graphs, n nodes.

    Returns:
        The features (n, F) in the same form, and the operator of the chosen graphs.
    """
    part = select_operator(op, blocks)
    nodes = torch.from_numpy(blocks.nodes)
    if isinstance(x, PreparedInput):
        return PreparedInput(_rows(x.stacked, nodes), part), part
    if isinstance(x, Propagated):
        different = {id(signal): _rows(signal, nodes) for signal in x.signals}
        return Propagated(tuple(different[id(signal)] for signal in x.signals), part), part
    if isinstance(x, Tensor):
        return _rows(x, nodes), part
    raise InputError(f"x is a {type(x).__name__}, of which no rows can be chosen: pass a dense tensor")


@singledispatch
def select_operator(op: Any, blocks: Blocks) -> Any:
    """The chosen blocks of an operator; `None`, of a network that sees the features only, has none."""
    del blocks
    if op is not None:
        raise InputError(f"no blocks can be chosen of a {type(op).__name__}")


@select_operator.register
def _(op: SobolevOperator, blocks: Blocks) -> SobolevOperator:
    entries, nodes = torch.from_numpy(blocks.rows(op.graph.indptr).entries), torch.from_numpy(blocks.nodes)
    part = copy.copy(op)
    part.graph = blocks.of_graph(op.graph)
    part.n_nodes = part.graph.n_nodes
    part.powers = HadamardPowers(
        torch.tensor(part.graph.indptr, device=op.device),
        torch.tensor(part.graph.indices, device=op.device),
        _rows(op.powers.b, entries),
        _rows(op.powers.c, nodes),
        _rows(op.powers.t, nodes),
        op.powers.sign,
    )
    return part


@select_operator.register
def _(op: SobolevFamily, blocks: Blocks) -> SobolevFamily:
    return op.of_blocks(blocks)


@select_operator.register
def _(op: EdgePattern, blocks: Blocks) -> EdgePattern:
    stored, n = blocks.rows(op.offsets.cpu().numpy()), len(blocks.nodes)
    rows, columns = (blocks.columns(ends.cpu().numpy(), stored) for ends in (op.rows, op.columns))
    return EdgePattern(torch.from_numpy(rows * n + columns).to(op.codes.device), n)


@select_operator.register
def _(op: ConstantMatrix, blocks: Blocks) -> ConstantMatrix:
    matrix = _block_diagonal(op.matrix, blocks)
    return ConstantMatrix(matrix, matrix if op.transpose is op.matrix else _block_diagonal(op.transpose, blocks))


@select_operator.register
def _(op: MatrixProduct, blocks: Blocks) -> MatrixProduct:
    return MatrixProduct(_each_once(op.factors, blocks))


@select_operator.register
def _(op: tuple, blocks: Blocks) -> tuple[Any, ...]:  # type: ignore[type-arg]
    return _each_once(op, blocks)


def _each_once(operators: tuple[Any, ...], blocks: Blocks) -> tuple[Any, ...]:
    """The blocks of several operators; one that stands there several times is selected once, and stays one."""
    different = {id(op): select_operator(op, blocks) for op in {id(op): op for op in operators}.values()}
    return tuple(different[id(op)] for op in operators)


def _block_diagonal(matrix: Tensor, blocks: Blocks) -> Tensor:
    """The blocks (n, n) of a block-diagonal matrix (N, N), CSR or dense."""
    if matrix.layout != torch.sparse_csr:
        nodes = torch.from_numpy(blocks.nodes).to(matrix.device)
        return _rows(matrix, nodes).index_select(1, nodes)
    rows = blocks.rows(matrix.crow_indices().cpu().numpy())
    columns = blocks.columns(matrix.col_indices().cpu().numpy(), rows)
    small, device, n = matrix.crow_indices().dtype, matrix.device, len(blocks.nodes)
    return torch.sparse_csr_tensor(
        torch.from_numpy(rows.indptr).to(device, small),
        torch.from_numpy(columns).to(device, small),
        _rows(matrix.values(), torch.from_numpy(rows.entries)),
        size=(n, n),
        check_invariants=False,
    )


def _rows(values: Tensor, chosen: Tensor) -> Tensor:
    return values.index_select(0, chosen.to(values.device))
