"""Time one propagation, a training epoch, and the baselines, each against its alternatives in the same run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import torch
from torch import Tensor

from s2gnn.bench.cost import Size, baseline_needs, dense_flops, gathered_bytes, needs, streamed_bytes
from s2gnn.bench.networks import (
    EPSILON,
    PRODUCTS,
    WAYS,
    make_epoch,
    make_network,
    make_our_baseline,
    make_pyg_baseline,
)
from s2gnn.bench.tasks import Workload, random_graph
from s2gnn.bench.timing import Outcome, Way, race
from s2gnn.graphs import Graph
from s2gnn.operators import SobolevOperator
from s2gnn.resources import available_bytes

ALPHA = 6
# The grid of the paper's Figure 5, and 2,000 nodes.
NODES = (500, 1_000, 2_000, 5_000, 10_000)
PROBABILITIES = (0.03, 0.04, 0.05, 0.06)
GRID_WIDTH = 16


@dataclass(frozen=True)
class OperatorTiming:
    """One propagation (N, F) → (α, N, F) by every way of `PRODUCTS`, and the bytes that ours moves (see `cost`)."""

    graph: str
    nodes: int
    nonzeros: int
    alpha: int
    width: int
    streamed_bytes: int
    gathered_bytes: int
    ways: dict[str, Outcome]


def time_operator(
    name: str,
    graph: Graph,
    widths: Sequence[int] = (64, 16),
    rounds: int = 5,
    available: Callable[[], int] = available_bytes,
) -> list[OperatorTiming]:
    """Time propagations on `graph` for every width."""
    op = SobolevOperator(graph, ALPHA, EPSILON)
    size = Size(op.n_nodes, len(graph.indices), ALPHA)
    products = cache(lambda way: PRODUCTS[way](op))  # made once for all widths

    def make(way: str, h: Tensor) -> Callable[[], object]:
        made = products(way)
        return lambda: [product(h) for product in made]

    timings = []
    for width in widths:
        h = torch.randn(op.n_nodes, width)
        memory = {way: needs(way, size, [width, width], training=False) for way in PRODUCTS}
        outcomes = race({way: Way(memory[way], partial(make, way, h)) for way in PRODUCTS}, rounds, available)
        moved = streamed_bytes(size, width), gathered_bytes(size, width)
        timings.append(OperatorTiming(name, size.nodes, size.nonzeros, ALPHA, width, *moved, outcomes))
    return timings


def time_grid(
    nodes: Sequence[int] = NODES, probabilities: Sequence[float] = PROBABILITIES, rounds: int = 5
) -> Iterator[OperatorTiming]:
    """Propagation of 16 features on every Erdős–Rényi graph of the grid."""
    for n in nodes:
        for p in probabilities:
            graph = random_graph(n, round(p * n * (n - 1) / 2))
            yield from time_operator(f"N = {n:,}, p = {p:g}", graph, (GRID_WIDTH,), rounds)


@dataclass(frozen=True)
class EpochTiming:
    """One epoch of every network of `WAYS` on one task, and the floating-point operations of our dense products."""

    workload: str
    nodes: int
    nonzeros: int
    alpha: int
    widths: list[int]
    flops: int
    ways: dict[str, Outcome]


def time_epoch(task: Workload, rounds: int = 5, available: Callable[[], int] = available_bytes) -> EpochTiming:
    """Time one epoch of every network on `task`."""
    size, widths = task.size, task.widths

    def make(way: str) -> Callable[[], object]:
        return make_epoch(*make_network(way, task.graph, task.x, widths, task.alpha), *task.supervision())

    ways = {way: Way(needs(way, size, widths, training=True), partial(make, way)) for way in WAYS}
    outcomes = race(ways, rounds, available)
    flops = dense_flops(size.nodes, size.alpha, widths)
    return EpochTiming(task.name, size.nodes, size.nonzeros, size.alpha, widths, flops, outcomes)


@dataclass(frozen=True)
class BaselineTiming:
    """One epoch of one baseline on one task, the way "ours" and "pyg"; `nonzeros` of A + I, `heads` of attention."""

    workload: str
    model: str
    nodes: int
    nonzeros: int
    widths: list[int]
    heads: int
    ways: dict[str, Outcome]


def time_baseline(
    task: Workload, model: str, heads: int = 3, rounds: int = 5, available: Callable[[], int] = available_bytes
) -> BaselineTiming:
    """Time one epoch of `model`, one of `BASELINES`, on `task`."""
    size = Size(task.graph.n_nodes, len(task.graph.indices), alpha=1)
    makers = {"ours": make_our_baseline, "pyg": make_pyg_baseline}

    def make(way: str) -> Callable[[], object]:
        return make_epoch(*makers[way](model, task.graph, task.x, task.widths, heads), *task.supervision())

    ways = {way: Way(baseline_needs(way, model, size, task.widths, heads), partial(make, way)) for way in makers}
    outcomes = race(ways, rounds, available)
    return BaselineTiming(task.name, model, size.nodes, size.nonzeros, task.widths, heads, outcomes)
