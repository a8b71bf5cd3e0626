"""Forward propagation with all branches against one sparse product, the price of a first-order network."""

from dataclasses import dataclass

import torch

from s2gnn.bench.peers import csr_matrices
from s2gnn.bench.timing import fastest
from s2gnn.bench.workloads import random_graph
from s2gnn.operators import SobolevOperator, kernel

# name: nodes, edges
GRAPHS = {"10,000 nodes, p = 0.06": (10_000, 2_999_700), "132,000 nodes": (132_000, 3_900_000)}
ALPHA = 6


@dataclass(frozen=True)
class OperatorTiming:
    """The least milliseconds of one propagation (N, F) → (α, N, F).

    Attributes:
        graph: nodes of the random graph.
        width: F.
        kernel: that computes ours.
        ours: all α branches.
        one_csr: a single torch CSR product, int32 indices.
        all_csr: α torch CSR products.
    """

    graph: str
    width: int
    kernel: str
    ours: float
    one_csr: float
    all_csr: float


def time_operator(name: str, widths: tuple[int, ...] = (64, 16), repetitions: int = 5) -> list[OperatorTiming]:
    """Measure on the random graph called `name`, one of `GRAPHS`."""
    op = SobolevOperator(random_graph(*GRAPHS[name]), ALPHA, 1.5)
    matrices = csr_matrices(op)
    timings = []
    for width in widths:
        h = torch.randn(op.n_nodes, width)
        ways = {
            "ours": lambda h=h: op.propagate(h),
            "one": lambda h=h: matrices[0] @ h,
            "all": lambda h=h: [S @ h for S in matrices],
        }
        best = fastest(ways, repetitions)
        ours, one, every = (1e3 * best[way] for way in ("ours", "one", "all"))
        timings.append(OperatorTiming(name, width, kernel.chosen(), ours, one, every))
    return timings
