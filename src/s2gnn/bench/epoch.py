"""A whole training epoch, step and evaluation, against the same network built the other ways and against a GCN."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.bench.peers import CSRBranches, GCNConvBranches, coordinates, csr_matrices
from s2gnn.bench.timing import fastest
from s2gnn.bench.workloads import Workload
from s2gnn.nn import S2GNN
from s2gnn.operators import SobolevOperator


@dataclass(frozen=True)
class EpochTiming:
    """The least milliseconds of one epoch.

    Attributes:
        workload: the task.
        ours: S2-GNN, α branches, prepared input.
        gcnconv: the same network with PyG's `GCNConv` for each branch; `None` without PyTorch Geometric.
        csr: the same network with α torch CSR matrices.
        gcn: PyG's first-order GCN of the same width and depth; `None` without PyTorch Geometric.
    """

    workload: str
    ours: float
    gcnconv: float | None
    csr: float
    gcn: float | None


def time_epoch(task: Workload, repetitions: int = 5) -> EpochTiming:
    """Measure one epoch of every network on `task`."""
    op = SobolevOperator(task.graph, task.alpha, 1.5)
    widths = [task.x.shape[1], *[task.hidden] * (task.layers - 1), task.classes]
    ours = S2GNN(widths[0], task.hidden, task.classes, task.layers, task.alpha, 1.5, "mlp", 0.5)
    matrices = csr_matrices(op)
    csr = nn.Sequential(*(CSRBranches(i, o, matrices) for i, o in pairwise(widths)))
    labels = torch.arange(op.n_nodes) % task.classes
    prepared = op.prepare(task.x)
    ways = {"ours": _epoch(ours, (prepared, op), labels), "csr": _epoch(csr, (task.x,), labels)}
    with contextlib.suppress(ImportError):
        ways |= _pyg_ways(task, op, widths, labels)
    best = fastest(ways, repetitions)
    milliseconds = {way: 1e3 * seconds for way, seconds in best.items()}
    return EpochTiming(
        task.name, milliseconds["ours"], milliseconds.get("gcnconv"), milliseconds["csr"], milliseconds.get("gcn")
    )


def _pyg_ways(task: Workload, op: SobolevOperator, widths: list[int], labels: Tensor) -> dict[str, Callable[[], None]]:
    from torch_geometric.nn import GCN

    edge_index, weights = coordinates(op)
    branches = nn.Sequential(*(GCNConvBranches(i, o, edge_index, weights) for i, o in pairwise(widths)))
    data = task.graph.to_pyg(torch.float32)
    gcn = GCN(widths[0], task.hidden, task.layers, task.classes, dropout=0.5)
    return {
        "gcnconv": _epoch(branches, (task.x,), labels),
        "gcn": _epoch(gcn, (task.x, data.edge_index, data.edge_weight), labels),
    }


def _epoch(model: nn.Module, inputs: tuple[Any, ...], labels: Tensor) -> Callable[[], None]:
    """One step of Adam on a tenth of the nodes, then an evaluation."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train = torch.arange(0, len(labels), 10)

    def run() -> None:
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(*inputs)[train], labels[train]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model(*inputs)

    return run
