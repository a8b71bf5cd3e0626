"""What a network is given: features checked against the graph, sparse where that is cheaper, propagated once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.features import checked_features
from s2gnn.operators import SparseInput
from s2gnn.operators.matrix import SPARSE_BELOW
from s2gnn.operators.sobolev import check_graph


@dataclass(frozen=True, eq=False)
class Propagated:
    """What the first layer needs of a constant input, made once for all epochs and seeds.

    Attributes:
        signals: the input under each of the layer's filters, each (N, F).
        operator: what made them; a layer refuses the signals of another.
    """

    signals: tuple[Tensor, ...]
    operator: Any

    @property
    def shape(self) -> torch.Size:
        """The shape (N, F) of the input itself."""
        return self.signals[0].shape

    def by(self, operator: Any) -> tuple[Tensor, ...]:
        """The signals, if `operator` made them."""
        if operator is not self.operator:
            raise InputError(
                "the prepared input was made by another operator: call the model with both that prepare gave"
            )
        return self.signals


def table(x: Any, graph: Graph | None, in_channels: int) -> Any:
    """`x`, a tensor, array or SciPy sparse matrix, as an array or CSR matrix (N, in_channels).

    Numbers are float64, or float32 in an array that has them; an array may be the caller's own.
    """
    if isinstance(x, Tensor) and x.layout != torch.strided:
        raise InputError(f"x is a tensor of layout {x.layout}: pass a dense tensor or a SciPy sparse matrix")
    if graph is not None:
        check_graph(graph)
    features = checked_features(x, keep_float32=True)
    rows = features.shape[0] if graph is None else graph.n_nodes
    if features.shape != (rows, in_channels):
        raise InputError(
            f"x has shape {features.shape}, expected ({rows}, {in_channels}): one row per node, in_channels columns"
        )
    return features


def n_nonzero(features: Any) -> int:
    """The number of values of an array or sparse matrix that are not zero."""
    return int(features.count_nonzero() if sp.issparse(features) else np.count_nonzero(features))


def dense(features: Any, like: Tensor, *, shared: bool = False) -> Tensor:
    """Features (N, M) as a dense tensor in the type and on the device of `like`.

    Args:
        features: array or CSR matrix (N, M).
        like: gives type and device.
        shared: whether the tensor may share the memory of the array, for a use that is over before the owner of the
            array can change it; otherwise it is a copy.
    """
    array, own = (features.toarray(), True) if sp.issparse(features) else (features, False)
    strides = array.strides
    if not array.flags.writeable or min(strides) < 0 or any(stride % array.itemsize for stride in strides):
        array, own = array.copy(order="K"), True  # torch takes none of these
    return torch.from_numpy(array).to(like, copy=not (own or shared))


def sparse_if_cheaper(features: Any, like: Tensor, propagation: float = 0) -> Tensor | SparseInput:
    """Features X (N, M) for a first layer that computes X W at every step, as a sparse matrix if that is cheaper.

    Args:
        features: array or CSR matrix (N, M).
        like: gives type and device.
        propagation: nonzeros that products S (X W) would read at every step, where a dense S X is made once.
    """
    rows, columns = features.shape
    stored = features.nnz if sp.issparse(features) else n_nonzero(features)
    if like.device.type == "cpu" and stored + propagation < SPARSE_BELOW * rows * columns:
        return SparseInput(sp.csr_array(features), like.dtype)
    return dense(features, like)
