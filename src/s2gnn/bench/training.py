"""Full-batch training on a large random graph, with time and memory of every stage."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from s2gnn.bench.cost import PROCESS, needs, training_bytes
from s2gnn.bench.networks import EPSILON, make_epoch, make_network
from s2gnn.bench.tasks import LargeTask, load_csr, stored_csr
from s2gnn.graphs import Graph
from s2gnn.operators import SobolevOperator
from s2gnn.resources import available_bytes, in_own_process, peak_bytes, resident_bytes


@dataclass(frozen=True)
class Stage:
    """A stage of a run: its seconds, and resident memory at its end and peak so far, in bytes."""

    name: str
    seconds: float
    resident: int
    peak: int


@dataclass(frozen=True)
class LargeTraining:
    """Full-batch training of one network of `WAYS`, in a separate process.

    Attributes:
        needs: estimated bytes.
        stages: start, load, graph, operator, network, then every epoch; empty if it was not run.
        not_run: why not, "memory" or "not installed".
    """

    way: str
    needs: int
    stages: list[Stage]
    not_run: str | None = None


def train_large(
    task: LargeTask, way: str, epochs: int = 2, available: Callable[[], int] = available_bytes
) -> LargeTraining:
    """Train one way for `epochs` if it fits into memory."""
    folder = stored_csr(task.nodes, task.edges)
    needed = large_needs(task, way)
    if needed > available():
        return LargeTraining(way, needed, [], "memory")
    try:
        return LargeTraining(way, needed, in_own_process(_train, folder, task, way, epochs))
    except ImportError:
        return LargeTraining(way, needed, [], "not installed")


def large_needs(task: LargeTask, way: str) -> int:
    """The estimated peak memory of a process that trains one way, in bytes."""
    ours = training_bytes(task.size, task.widths)
    if way == "ours":
        return ours.peak
    held = ours.graph + ours.features + ours.operator + needs(way, task.size, task.widths, training=True)
    return max(ours.peak_of_building, PROCESS + held)


def _train(folder: Path, task: LargeTask, way: str, epochs: int) -> list[Stage]:
    stages: list[Stage] = []
    start = time.perf_counter()

    def end(name: str) -> None:
        nonlocal start
        now = time.perf_counter()
        stages.append(Stage(name, now - start, resident_bytes(), peak_bytes()))
        start = now

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(task.nodes, task.features, generator=generator)
    labels = torch.randint(2, (task.nodes, task.labels), generator=generator).float()
    train = torch.randperm(task.nodes, generator=generator)[: round(0.6 * task.nodes)]
    end("start")
    adjacency = load_csr(folder)
    end("load")
    graph = Graph(adjacency)
    del adjacency
    end("graph")
    SobolevOperator(graph, task.alpha, EPSILON)  # to time it; the network makes another
    end("operator")
    run = make_epoch(*make_network(way, graph, x, task.widths, task.alpha), labels, train)
    end("network")
    for epoch in range(1, epochs + 1):
        run()
        end(f"epoch {epoch}")
    return stages
