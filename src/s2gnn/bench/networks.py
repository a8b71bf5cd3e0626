"""The networks of the benchmarks: ours, the same network with other sparse products, and PyG's baselines."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.bench.cost import training_bytes
from s2gnn.bench.tasks import Task, Workload
from s2gnn.nn import S2GNN, make_model
from s2gnn.nn.inputs import Features
from s2gnn.operators import SobolevOperator
from s2gnn.operators.csr import csr_tensor
from s2gnn.operators.matrix import ConstantMatrix

DROPOUT = 0.5
EPSILON = 1.5

Product = Callable[[Tensor], Tensor]  # (N, F) → (N, F)
Network = tuple[nn.Module, tuple[Any, ...]]  # and its inputs


def csr_product(S: sp.csr_array, device: torch.device) -> Product:
    """Return H → S h by a torch CSR matrix with int32 indices, differentiable; S is symmetric."""
    indptr, indices = (torch.from_numpy(a.astype("int32")) for a in (S.indptr, S.indices))
    values = torch.from_numpy(S.data).float()
    matrix = csr_tensor(indptr, indices, values, S.shape).to(device)
    return ConstantMatrix((matrix,), (matrix,)).__matmul__


def sparse_tensor_product(S: sp.csr_array, device: torch.device) -> Product:
    """Return H → S h by torch_sparse."""
    from torch_sparse import SparseTensor, matmul

    rowptr, col = (torch.from_numpy(a.astype("int64")) for a in (S.indptr, S.indices))
    value = torch.from_numpy(S.data).float()
    matrix = SparseTensor(rowptr=rowptr, col=col, value=value, sparse_sizes=S.shape, is_sorted=True)
    return partial(matmul, matrix.to(device))


def gcnconv_product(S: sp.csr_array, device: torch.device) -> Product:
    """Return H → S h by the message passing of PyG's `GCNConv`."""
    from torch_geometric.nn import GCNConv

    edges = S.tocoo()
    edge_index = torch.stack([torch.from_numpy(axis.astype("int64")) for axis in (edges.row, edges.col)]).to(device)
    weight = torch.from_numpy(edges.data).float().to(device)
    propagate = GCNConv(1, 1, normalize=False, add_self_loops=False).propagate
    return lambda h: propagate(edge_index, x=h, edge_weight=weight)


@dataclass(frozen=True)
class Products:
    """One sparse product per branch, an alternative to our operator.

    Attributes:
        make: the map h → S_ρ h on a device; raises `ImportError` if the library is not installed.
        stored: estimated bytes per nonzero and branch.
        messages: number of arrays (nonzeros, F) that a product makes.
        branches: the number of products; default: α.
    """

    make: Callable[[sp.csr_array, torch.device], Product]
    stored: int
    messages: int = 0
    branches: int | None = None

    def of(self, op: SobolevOperator) -> list[Product]:
        """Return the maps h → S_ρ h for ρ = 1..α, or up to `branches`."""
        return [self.make(op.matrix(rho), op.device) for rho in range(1, (self.branches or op.alpha) + 1)]

    def needs(self, task: Task, widths: Sequence[int], arrays: int) -> int:
        """Return estimated bytes of branches of these `widths`, each with `arrays` arrays (N, width) alive at once."""
        branches = self.branches or task.alpha
        per_nonzero = self.stored * branches + 4 * self.messages * max(widths)
        return _estimate(task, arrays * (branches + 1) * sum(widths), per_nonzero)


PRODUCTS = {
    "one_csr": Products(csr_product, 8, branches=1),
    "csr": Products(csr_product, 8),
    "torch_sparse": Products(sparse_tensor_product, 28),  # int64, and the transpose in training
    "gcnconv": Products(gcnconv_product, 20, messages=2),
}
# The networks of an epoch: S2-GNN, PyG's first-order network of the same widths, and S2-GNN by other products.
NETWORKS = ("ours", "gcn", "csr", "torch_sparse", "gcnconv")


class ProductLayer(nn.Module):
    """One layer of S2-GNN with MLP fusion and dropout 0.5, with one sparse product per branch: (N, in) → (N, out)."""

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


def make_network(way: str, work: Workload) -> Network:
    """Return the network of a workload, one of `NETWORKS`, and its inputs."""
    task = work.task
    if way == "ours":
        model = S2GNN(task.features, task.hidden, task.labels, task.layers, task.alpha, EPSILON, "mlp", DROPOUT)
        return model, model.prepare(work.x, work.graph)
    if way == "gcn":
        return make_baseline("gcn", "pyg", work)
    products = PRODUCTS[way].of(SobolevOperator(work.graph, task.alpha, EPSILON))
    return nn.Sequential(*(ProductLayer(i, o, products) for i, o in pairwise(task.widths))), (_dense(work.x),)


def network_needs(way: str, task: Task) -> int:
    """Return estimated bytes of training a network of `NETWORKS`, in addition to graph, input and operator."""
    if way == "ours":
        return training_bytes(task).network
    if way == "gcn":
        return baseline_needs("gcn", "pyg", task)
    return PRODUCTS[way].needs(task, task.widths[1:], arrays=6)


def _estimate(task: Task, per_node: int, per_nonzero: int) -> int:
    """Return bytes of float32 numbers per node, and per nonzero with the temporaries of `SobolevOperator.matrix`."""
    return 4 * per_node * task.nodes + (96 + per_nonzero) * task.nonzeros


@dataclass(frozen=True)
class Baseline:
    """A baseline that PyG also has.

    Attributes:
        layer: name of the layer in `torch_geometric.nn`.
        pyg: additional arguments of that layer.
        ours: additional hyperparameters of our network.
        weighted: whether the released code passes edge weights.
        kept: arrays (nonzeros, heads, out) that PyG's attention keeps for the backward pass; 0 without attention.
    """

    layer: str
    pyg: Mapping[str, Any] = field(default_factory=dict)
    ours: Mapping[str, Any] = field(default_factory=dict)
    weighted: bool = False
    kept: int = 0


BASELINES = {
    "gcn": Baseline("GCNConv", {"cached": True}, weighted=True),
    "cheby": Baseline("ChebConv", {"K": 2}, {"K": 2}, weighted=True),
    "sgc": Baseline("SGConv", {"cached": True}, weighted=True),
    "clustergcn": Baseline("ClusterGCNConv"),
    "gat": Baseline("GATConv", {"concat": False}, kept=1),
    "gatv2": Baseline("GATv2Conv", {"concat": False}, kept=3),
    "supergat": Baseline("SuperGATConv", {"concat": False}, kept=6),
    "transformer": Baseline("TransformerConv", {"concat": False}, kept=3),
}


def make_baseline(model: str, way: str, work: Workload, heads: int = 1) -> Network:
    """Create the baseline `model`, "ours" or from the layers of "pyg" with caches enabled, and its inputs."""
    baseline, task, widths = BASELINES[model], work.task, work.task.widths
    options: dict[str, Any] = {"heads": heads} if baseline.kept else {}
    if way == "ours":
        options |= {"hidden_channels": task.hidden, "num_layers": task.layers, "dropout": DROPOUT}
        network = make_model(model, task.features, task.labels, **options, **baseline.ours)
        return network, network.prepare(work.x, work.graph)
    from torch_geometric import nn as pyg

    if model == "sgc":  # one layer on features propagated once per layer of the others
        options["K"], widths = task.layers, [task.features, task.labels]
    layer = partial(getattr(pyg, baseline.layer), **options, **baseline.pyg)
    data = work.graph.to_pyg()
    edges = (data.edge_index, data.edge_weight) if baseline.weighted else (data.edge_index,)
    return PyGNetwork(layer(i, o) for i, o in pairwise(widths)), (_dense(work.x), *edges)


def baseline_needs(model: str, way: str, task: Task, heads: int = 1) -> int:
    """Return estimated bytes of training a baseline, in addition to graph and input.

    Ours stores pairs of nodes and, with attention, scores per edge and head; PyG's stores edge lists and messages.
    """
    kept, outputs = BASELINES[model].kept, task.widths[1:]
    heads = heads if kept else 1
    if way == "ours":
        per_nonzero = 40 + 20 * task.layers + (36 * task.layers * heads if kept else 0)
    else:
        per_nonzero = 80 + 4 * heads * (kept * sum(outputs) + 2 * max(outputs if kept else task.widths))
    return _estimate(task, 6 * heads * sum(outputs) + 2 * task.features, per_nonzero)


class PyGNetwork(nn.Module):
    """PyG's layers with ReLU and dropout between them: x (N, M), edge_index, edge_weight → logits (N, C)."""

    def __init__(self, layers: Iterable[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, *edges: Tensor) -> Tensor:
        """Return the logits (N, C)."""
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x, *edges)), DROPOUT, self.training)
        logits: Tensor = self.layers[-1](x, *edges)
        return logits


def make_epoch(network: Network, labels: Tensor, train: Tensor) -> Callable[[], None]:
    """Create a function that takes a step of Adam on the nodes `train`, and evaluates the network on all nodes.

    Labels (N,) are classes, with cross-entropy; labels (N, L) are 0 or 1, with binary cross-entropy.
    """
    model, inputs = network
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


def _dense(x: Features) -> Tensor:
    return torch.as_tensor(x.toarray() if isinstance(x, sp.sparray | sp.spmatrix) else x).float()
