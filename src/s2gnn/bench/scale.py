"""Large graphs: the paper's grid of random graphs, and full-batch training at the size of ogbn-proteins."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from s2gnn.bench.cost import PROCESS, Size, dense_flops, peer_needs
from s2gnn.bench.cost_model import training_bytes
from s2gnn.bench.networks import EPSILON, make_epoch, make_network
from s2gnn.bench.operator import OperatorTiming, time_operator
from s2gnn.bench.stored import load_csr, stored_csr
from s2gnn.bench.workloads import random_graph
from s2gnn.graphs import Graph
from s2gnn.operators import SobolevOperator
from s2gnn.resources import available_bytes, in_own_process, peak_bytes, resident_bytes

# The grid of the paper's Figure 5, and 2,000 nodes.
NODES = (500, 1_000, 2_000, 5_000, 10_000)
PROBABILITIES = (0.03, 0.04, 0.05, 0.06)
GRID_WIDTH = 16


@dataclass(frozen=True)
class LargeTask:
    """A training task with several labels for each node, on a stored random graph; by default `proteins-size`."""

    nodes: int = 132_534
    edges: int = 39_600_000
    features: int = 8
    labels: int = 112
    hidden: int = 64
    layers: int = 3
    alpha: int = 6

    @property
    def widths(self) -> list[int]:
        """Of the layers, the input first."""
        return [self.features, *[self.hidden] * (self.layers - 1), self.labels]

    @property
    def size(self) -> Size:
        """Of the graph and its branches."""
        return Size(self.nodes, 2 * self.edges, self.alpha)


@dataclass(frozen=True)
class Stage:
    """A part of a run.

    Attributes:
        name: of the part.
        seconds: by the clock.
        resident: memory after it, in bytes.
        peak: the largest until then.
    """

    name: str
    seconds: float
    resident: int
    peak: int


@dataclass(frozen=True)
class LargeTraining:
    """Full-batch training one of `networks.WAYS`, in a process of its own that reads the stored graph.

    Attributes:
        way: how the network is built.
        needs: bytes by estimate.
        stages: start, load, graph, operator, network, then every epoch; none if it was not run.
        not_run: why not, "memory" or "not installed".
    """

    way: str
    needs: int
    stages: list[Stage]
    not_run: str | None = None


def grid(
    nodes: tuple[int, ...] = NODES, probabilities: tuple[float, ...] = PROBABILITIES
) -> Iterator[tuple[str, Graph]]:
    """Names and graphs of the Erdős–Rényi grid."""
    for n in nodes:
        for p in probabilities:
            yield f"N = {n:,}, p = {p:g}", random_graph(n, round(p * n * (n - 1) / 2))


def time_grid(
    nodes: tuple[int, ...] = NODES, probabilities: tuple[float, ...] = PROBABILITIES, repetitions: int = 5
) -> Iterator[OperatorTiming]:
    """Propagation of 16 features on every graph of the grid."""
    for name, graph in grid(nodes, probabilities):
        yield from time_operator(name, graph, (GRID_WIDTH,), repetitions)


def train_large(
    task: LargeTask, way: str, epochs: int = 2, available: Callable[[], int] = available_bytes
) -> LargeTraining:
    """Train one way for `epochs`, if the memory is there."""
    folder = stored_csr(task.nodes, task.edges)
    needs = large_needs(task, way)
    if needs > available():
        return LargeTraining(way, needs, [], "memory")
    try:
        return LargeTraining(way, needs, in_own_process(_train, folder, task, way, epochs))
    except ImportError:
        return LargeTraining(way, needs, [], "not installed")


def large_needs(task: LargeTask, way: str) -> int:
    """The bytes that training takes one way by estimate, at the peak of the process."""
    needs = training_bytes(task.size, task.widths)
    if way == "ours":
        return needs.peak
    held = needs.graph + needs.features + needs.operator + peer_needs(way, task.size, task.widths)
    return max(needs.peak_of_building, PROCESS + held)


def large_flops(task: LargeTask) -> int:
    """The floating-point operations of our dense products in an epoch."""
    return dense_flops(task.nodes, task.alpha, task.widths)


class _Stages:
    """Collects the stages of a run, each since the one before."""

    def __init__(self) -> None:
        self.done: list[Stage] = []
        self._start = time.perf_counter()

    def end(self, name: str) -> None:
        now = time.perf_counter()
        self.done.append(Stage(name, now - self._start, resident_bytes(), peak_bytes()))
        self._start = now


def _train(folder: Path, task: LargeTask, way: str, epochs: int) -> list[Stage]:
    stages = _Stages()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(task.nodes, task.features, generator=generator)
    labels = torch.randint(2, (task.nodes, task.labels), generator=generator).float()
    train = torch.randperm(task.nodes, generator=generator)[: round(0.6 * task.nodes)]
    stages.end("start")
    adjacency = load_csr(folder)
    stages.end("load")
    graph = Graph(adjacency)
    del adjacency
    stages.end("graph")
    SobolevOperator(graph, task.alpha, EPSILON)  # to be timed; the network makes its own
    stages.end("operator")
    run = make_epoch(*make_network(way, graph, x, task.widths, task.alpha), labels, train)
    stages.end("network")
    for epoch in range(1, epochs + 1):
        run()
        stages.end(f"epoch {epoch}")
    return stages.done
