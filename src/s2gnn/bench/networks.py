"""The networks that the benchmarks train: ours, the same network built from other sparse products, PyG's baselines."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.graphs import Graph
from s2gnn.nn import S2GNN, make_model
from s2gnn.operators import SobolevOperator
from s2gnn.operators.matrix import ConstantMatrix

DROPOUT = 0.5
EPSILON = 1.5
# ours: S2-GNN; csr, torch_sparse, gcnconv: the same network by one sparse product per branch; gcn: PyG's first-order
# network of the same widths.
WAYS = ("ours", "gcn", "csr", "torch_sparse", "gcnconv")

Product = Callable[[Tensor], Tensor]  # (N, F) → (N, F)
Network = tuple[nn.Module, tuple[Any, ...]]  # and its inputs


def csr_products(op: SobolevOperator, powers: int | None = None) -> list[Product]:
    """The maps h → S_ρ h for ρ = 1..α, or up to `powers`, by torch CSR matrices with int32 indices, differentiable."""
    products: list[Product] = []
    for S in map(op.matrix, range(1, (powers or op.alpha) + 1)):
        indptr, indices = (torch.from_numpy(a.astype("int32")) for a in (S.indptr, S.indices))
        values = torch.from_numpy(S.data).float()
        matrix = torch.sparse_csr_tensor(indptr, indices, values, size=S.shape, check_invariants=False)
        products.append(ConstantMatrix(matrix, matrix).__matmul__)
    return products


def sparse_tensor_products(op: SobolevOperator) -> list[Product]:
    """The same maps by torch_sparse."""
    from torch_sparse import SparseTensor, matmul

    products: list[Product] = []
    for S in map(op.matrix, range(1, op.alpha + 1)):
        rowptr, col = (torch.from_numpy(a.astype("int64")) for a in (S.indptr, S.indices))
        value = torch.from_numpy(S.data).float()
        matrix = SparseTensor(rowptr=rowptr, col=col, value=value, sparse_sizes=S.shape, is_sorted=True)
        products.append(partial(matmul, matrix))
    return products


def gcnconv_products(op: SobolevOperator) -> list[Product]:
    """The same maps by the messages of PyG's `GCNConv`."""
    from torch_geometric.nn import GCNConv

    first = op.matrix(1).tocoo()
    edge_index = torch.stack([torch.from_numpy(axis.astype("int64")) for axis in (first.row, first.col)])
    conv = GCNConv(1, 1, normalize=False, add_self_loops=False)

    def product(weight: Tensor, h: Tensor) -> Tensor:
        propagated: Tensor = conv.propagate(edge_index, x=h, edge_weight=weight)
        return propagated

    return [partial(product, torch.from_numpy(op.matrix(rho).data).float()) for rho in range(1, op.alpha + 1)]


PRODUCTS: dict[str, Callable[[SobolevOperator], list[Product]]] = {
    "ours": lambda op: [op.propagate],
    "one_csr": partial(csr_products, powers=1),
    "csr": csr_products,
    "torch_sparse": sparse_tensor_products,
    "gcnconv": gcnconv_products,
}


class ProductLayer(nn.Module):
    """One layer of S2-GNN with MLP fusion and dropout 0.5, by one sparse product per branch: (N, in) → (N, out)."""

    def __init__(self, width_in: int, width_out: int, products: Sequence[Product]) -> None:
        super().__init__()
        self.products = [lambda h: h, *products]
        self.branches = nn.ModuleList(nn.Linear(width_in, width_out, bias=False) for _ in self.products)
        self.bias = nn.Parameter(torch.zeros(len(self.products), width_out))
        self.fusion = nn.Linear(len(self.products) * width_out, width_out)

    def forward(self, h: Tensor) -> Tensor:
        """Propagate and activate each branch, then fuse."""
        outputs = [
            F.dropout(F.relu(product(branch(h)) + bias), DROPOUT, self.training)
            for branch, product, bias in zip(self.branches, self.products, self.bias, strict=True)
        ]
        fused: Tensor = self.fusion(torch.cat(outputs, dim=1))
        return fused


def make_network(way: str, graph: Graph, x: Any, widths: Sequence[int], alpha: int) -> Network:
    """The network of layers `widths` (the features' first) on `graph`, one of `WAYS`, and its inputs.

    `x` (N, M) is an array, a tensor or a SciPy CSR array. An `ImportError` means that a library is not installed.
    """
    if way == "ours":
        model = S2GNN(widths[0], widths[1], widths[-1], len(widths) - 1, alpha, EPSILON, "mlp", DROPOUT)
        return model, model.prepare(x, graph)
    if way == "gcn":
        return make_pyg_baseline("gcn", graph, x, widths, heads=1)
    products = PRODUCTS[way](SobolevOperator(graph, alpha, EPSILON))
    return nn.Sequential(*(ProductLayer(i, o, products) for i, o in pairwise(widths))), (_dense(x),)


def make_epoch(model: nn.Module, inputs: tuple[Any, ...], labels: Tensor, train: Tensor) -> Callable[[], None]:
    """A function that takes one step of Adam on the nodes `train`, then evaluates the network on all nodes.

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


ATTENTION = {"gat": "GATConv", "gatv2": "GATv2Conv", "supergat": "SuperGATConv", "transformer": "TransformerConv"}
BASELINES = ("gcn", "cheby", "sgc", "clustergcn", *ATTENTION)
WEIGHTED = ("gcn", "cheby", "sgc")  # the released code passes no edge weights to the others
POLYNOMIALS = 2  # K of Cheby


def make_our_baseline(model: str, graph: Graph, x: Any, widths: Sequence[int], heads: int) -> Network:
    """Our network of one of the `BASELINES`, with `heads` if it has attention, and its inputs."""
    own = {"heads": heads} if model in ATTENTION else {"K": POLYNOMIALS} if model == "cheby" else {}
    network = make_model(
        model, widths[0], widths[-1], hidden_channels=widths[1], num_layers=len(widths) - 1, dropout=DROPOUT, **own
    )
    return network, network.prepare(x, graph)


def make_pyg_baseline(model: str, graph: Graph, x: Any, widths: Sequence[int], heads: int) -> Network:
    """The same network of PyG's layers, with PyG's caches enabled, and its inputs."""
    from torch_geometric import nn as pyg

    layer: Callable[[int, int], nn.Module]
    if model == "sgc":
        layer, widths = partial(pyg.SGConv, K=len(widths) - 1, cached=True), (widths[0], widths[-1])
    elif model in ATTENTION:
        layer = partial(getattr(pyg, ATTENTION[model]), heads=heads, concat=False)
    else:
        layer = {
            "gcn": partial(pyg.GCNConv, cached=True),
            "cheby": partial(pyg.ChebConv, K=POLYNOMIALS),
            "clustergcn": pyg.ClusterGCNConv,
        }[model]
    data = graph.to_pyg(torch.float32)
    edges = (data.edge_index, data.edge_weight) if model in WEIGHTED else (data.edge_index,)
    return PyGNetwork(layer(i, o) for i, o in pairwise(widths)), (_dense(x), *edges)


class PyGNetwork(nn.Module):
    """PyG's layers with ReLU and dropout between them: x (N, M), edge_index, edge_weight → logits (N, C)."""

    def __init__(self, layers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, *edges: Tensor) -> Tensor:
        """The logits (N, C)."""
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x, *edges)), DROPOUT, self.training)
        logits: Tensor = self.layers[-1](x, *edges)
        return logits


def _dense(x: Any) -> Tensor:
    return torch.as_tensor(x.toarray() if sp.issparse(x) else x).float()
