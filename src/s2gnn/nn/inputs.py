"""Creation, validation and selection of network inputs."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.features import checked_features
from s2gnn.graphs.selection import Selection
from s2gnn.operators import GraphOperator, PreparedInput, SparseInput
from s2gnn.operators.graph_operator import is_dense
from s2gnn.operators.matrix import SPARSE_BELOW
from s2gnn.operators.sobolev import check_graph

Features: TypeAlias = ArrayLike | Tensor | sp.sparray | sp.spmatrix
"""Node features in the forms that `prepare` accepts."""

Table: TypeAlias = NDArray[np.floating] | sp.csr_array
"""Checked features (N, M)."""

LayerInput: TypeAlias = Tensor | SparseInput | PreparedInput
"""Node features as a layer takes them: dense, sparse, or propagated once."""


class NetworkInput(Protocol):
    """An input of a network: a `LayerInput`, or a wrapper of one, such as a `GraphInput`."""

    @property
    def shape(self) -> torch.Size:
        """(N, F): the number of rows that the network has outputs for, and of features."""
        ...


def layer_input(x: NetworkInput, weight: Tensor, *, batched: bool = False) -> LayerInput:
    """Return `x` if a layer can multiply it with `weight`; raise an error for an unsupported form, dtype or device.

    Args:
        x: the input.
        weight: a parameter of the layer.
        batched: whether the layer accepts (B, N, in_channels) too.
    """
    values = x.stacked if isinstance(x, PreparedInput) else x
    if not isinstance(values, SparseInput) and not is_dense(values):
        if isinstance(values, Tensor):
            raise InputError(f"x is a tensor of layout {values.layout}, but a layer takes dense ones: x.to_dense()")
        raise InputError(
            f"x is of type {type(values).__name__}, but must be a dense tensor, torch.tensor(x, dtype={weight.dtype}), "
            "or s2gnn.operators.SparseInput(x)"
        )
    if len(x.shape) != 2 and not (batched and len(x.shape) == 3):
        raise InputError(f"x has shape {tuple(x.shape)}, expected one row per node and in_channels columns")
    if values.device != weight.device:
        raise InputError(
            f"x is on {values.device}, but the layer on {weight.device}: move one of them with .to(device)"
        )
    if values.dtype != weight.dtype and not torch.is_autocast_enabled(values.device.type):
        remedy = f"SparseInput(x, {weight.dtype})" if isinstance(values, SparseInput) else f"x.to({weight.dtype})"
        raise InputError(f"x is {values.dtype}, but the layer's weights are {weight.dtype}: pass {remedy}")
    return x if isinstance(x, PreparedInput) else values


def check_shape(shape: Sequence[int], rows: int, in_channels: int) -> None:
    """Raise an error unless the shape of the features is (rows, in_channels)."""
    if tuple(shape) != (rows, in_channels):
        raise InputError(
            f"x has shape {tuple(shape)}, expected ({rows}, {in_channels}): one row per node, in_channels columns"
        )


def unpropagated(x: LayerInput) -> Tensor | SparseInput:
    """Return the features (N, F) themselves."""
    return x.x if isinstance(x, PreparedInput) else x


def select_nodes(
    x: NetworkInput, op: GraphOperator | None, selection: Selection
) -> tuple[LayerInput, GraphOperator | None]:
    """Select the input of some nodes from the result of `prepare` for all nodes; degrees are not recomputed.

    On whole graphs of a disjoint union the selection is exact, because degrees do not cross the blocks. On a subset of
    the nodes of one graph only the edges that leave the subset are missing. Features that were propagated once are
    selected after propagation, so the first layer misses no neighbour.
    """
    part = None if op is None else op.selected(selection)
    nodes = torch.from_numpy(selection.nodes)
    if isinstance(x, PreparedInput) and part is not None:
        return x.rows(nodes, part), part
    if isinstance(x, Tensor):
        return x.index_select(0, nodes.to(x.device)), part
    if isinstance(x, SparseInput):
        return x.rows(nodes), part
    raise InputError(f"x is a {type(x).__name__}, whose rows cannot be selected: pass a dense tensor")


def table(x: Features, graph: Graph | None, in_channels: int) -> Table:
    """Return features as a float64 array or CSR matrix (N, in_channels); a float32 array stays float32.

    The result may share memory with the argument.
    """
    if isinstance(x, Tensor) and not is_dense(x):
        raise InputError(f"x is a tensor of layout {x.layout}: pass a dense tensor or a SciPy sparse matrix")
    if graph is not None:
        check_graph(graph)
    features: Table = checked_features(x, keep_float32=True)
    rows = features.shape[0] if graph is None else graph.n_nodes
    check_shape(features.shape, rows, in_channels)
    return features


def n_nonzero(features: Any) -> int:
    """Return the number of nonzero values of an array or sparse matrix."""
    return int(features.count_nonzero() if sp.issparse(features) else np.count_nonzero(features))


def dense(features: Any, like: Tensor, *, shared: bool = False) -> Tensor:
    """Return features (N, M) as a dense tensor in the dtype and on the device of `like`.

    Args:
        features: array or CSR matrix (N, M).
        like: tensor with the required dtype and device.
        shared: whether the tensor may share the memory of the array; otherwise it is a copy.
    """
    array, own = (features.toarray(), True) if sp.issparse(features) else (features, False)
    strides = array.strides
    if not array.flags.writeable or min(strides) < 0 or any(stride % array.itemsize for stride in strides):
        array, own = array.copy(order="K"), True  # torch takes none of these
    return torch.from_numpy(array).to(like, copy=not (own or shared))


def sparse_if_cheaper(features: Any, like: Tensor, propagation: float = 0) -> Tensor | SparseInput:
    """Return features X (N, M) as a sparse matrix if that makes X W cheaper, otherwise dense.

    Args:
        features: array or CSR matrix (N, M).
        like: tensor with the required dtype and device.
        propagation: number of nonzeros that S (X W) reads in every step, if the alternative is a dense S X computed
            once.
    """
    rows, columns = features.shape
    stored = features.nnz if sp.issparse(features) else n_nonzero(features)
    if like.device.type == "cpu" and stored + propagation < SPARSE_BELOW * rows * columns:
        return SparseInput(sp.csr_array(features), like.dtype)
    return dense(features, like)
