"""The networks that are trained in the benchmarks, each built one of the ways, and one epoch of training."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.bench.peers import GCNConvBranches, ProductBranches, coordinates, csr_products, sparse_tensor_products
from s2gnn.graphs import Graph
from s2gnn.nn import S2GNN
from s2gnn.operators import SobolevOperator

# ours: S2-GNN; gcnconv, csr, torch_sparse: the same network the other ways; gcn: PyG's first-order
# network of the same widths.
WAYS = ("ours", "gcn", "csr", "torch_sparse", "gcnconv")
DROPOUT = 0.5
EPSILON = 1.5


def make_network(
    way: str, graph: Graph, x: Any, widths: Sequence[int], alpha: int
) -> tuple[nn.Module, tuple[Any, ...]]:
    """The network of layers `widths` on `graph` built one of the `WAYS`, and what it is called with.

    Args:
        way: one of `WAYS`.
        graph: N nodes.
        x: features (N, M), an array, a tensor or a SciPy CSR array, which the peers get dense.
        widths: of the layers, M first.
        alpha: highest power.

    Raises:
        ImportError: where the library of a peer is not installed.
    """
    if way == "ours":
        model = S2GNN(widths[0], widths[1], widths[-1], len(widths) - 1, alpha, EPSILON, "mlp", DROPOUT)
        return model, model.prepare(x, graph)
    dense = torch.as_tensor(x.toarray() if sp.issparse(x) else x).float()
    if way == "gcn":
        from torch_geometric.nn import GCN

        data = graph.to_pyg(torch.float32)
        gcn = GCN(widths[0], widths[1], len(widths) - 1, widths[-1], dropout=DROPOUT, cached=True)
        return gcn, (dense, data.edge_index, data.edge_weight)
    op = SobolevOperator(graph, alpha, EPSILON)
    if way == "gcnconv":
        edge_index, weights = coordinates(op)
        return nn.Sequential(*(GCNConvBranches(i, o, edge_index, weights) for i, o in pairwise(widths))), (dense,)
    products = csr_products(op) if way == "csr" else sparse_tensor_products(op)
    return nn.Sequential(*(ProductBranches(i, o, products) for i, o in pairwise(widths))), (dense,)


def make_epoch(model: nn.Module, inputs: tuple[Any, ...], labels: Tensor, train: Tensor) -> Callable[[], None]:
    """A function that takes one step of Adam on the nodes `train`, then evaluates the network on all.

    Labels (N,) are classes, with cross-entropy; labels (N, L) are 0 or 1, with binary cross-entropy.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loss = F.cross_entropy if labels.ndim == 1 else F.binary_cross_entropy_with_logits

    def run() -> None:
        model.train()
        optimizer.zero_grad()
        loss(model(*inputs)[train], labels[train]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(*inputs)

    return run
