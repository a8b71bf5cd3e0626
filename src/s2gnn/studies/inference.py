"""Time and peak memory of a network that only answers: a forward pass without gradients, on one graph."""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from s2gnn.graphs import Graph, erdos_renyi, load_graph
from s2gnn.learning.seeding import seeded
from s2gnn.nn import make_model
from s2gnn.operators import kernel
from s2gnn.resources import forget_peak, least_seconds, peak_bytes, settled_bytes

PATIENCE = 1.0  # seconds in which a measurement is repeated
REPETITIONS = 10  # at most


@dataclass(frozen=True)
class Inference:
    """What the forward pass of one network took on one graph.

    Memory is the peak of the resident memory above what the process had with the graph, the features and the network's
    parameters in it. "On a new graph" is `prepare` and the forward pass on what it gave; the other is that forward
    pass alone, whose memory has among it what `prepare` left.

    Attributes:
        edges: of the graph.
        new_graph_seconds: least time on a new graph.
        prepared_seconds: least time of the forward pass alone.
        new_graph_bytes: peak memory on a new graph.
        prepared_bytes: peak memory of the forward pass alone.
    """

    edges: int
    new_graph_seconds: float
    prepared_seconds: float
    new_graph_bytes: int
    prepared_bytes: int


@dataclass(frozen=True)
class InferenceTask:
    """What a process measures.

    Attributes:
        model: one of `s2gnn.nn.MODELS`.
        hyperparameters: of `make_model`.
        features: width of the random features.
        classes: width of the output.
        graph: file of the graph, written by `save_graph`.
        seed: of the features and the parameters.
        threads: to compute with.
        kernel: to compute with.
    """

    model: str
    hyperparameters: dict[str, Any]
    features: int
    classes: int
    graph: Path
    seed: int
    threads: int
    kernel: str


def run_task(task: InferenceTask) -> Inference:
    """Measure in this process, which should be one of its own."""
    torch.set_num_threads(task.threads)
    with kernel.use(task.kernel), seeded(task.seed), torch.no_grad():
        network = make_model(task.model, task.features, task.classes, **task.hyperparameters).eval()
        graph = load_graph(task.graph)
        x = torch.randn(graph.n_nodes, task.features)
        _load_libraries(network, task.features)
        return measure_inference(network, x, graph)


def _load_libraries(network: nn.Module, features: int) -> None:
    """Answer once on a small graph: libraries and threads, which come at first use, are no memory of the network."""
    small = erdos_renyi(500, 0.03, seed=0)
    network(*network.prepare(torch.randn(small.n_nodes, features), small))  # type: ignore[operator]


def measure_inference(network: nn.Module, x: torch.Tensor, graph: Graph) -> Inference:
    """Measure a network, in its present mode, with features x (N, F); gradients should be off."""

    def answer() -> Any:
        inputs = network.prepare(x, graph)  # type: ignore[operator]
        network(*inputs)
        return inputs

    before = settled_bytes()
    forget_peak()
    start = time.perf_counter()
    inputs = answer()
    new_graph_seconds = time.perf_counter() - start
    new_graph_bytes = peak_bytes() - before

    settled_bytes()
    forget_peak()
    network(*inputs)
    prepared_bytes = peak_bytes() - before
    prepared_seconds = least_seconds(partial(network, *inputs), REPETITIONS, PATIENCE)

    del inputs
    if new_graph_seconds < PATIENCE:
        new_graph_seconds = min(new_graph_seconds, least_seconds(answer, REPETITIONS - 1, PATIENCE - new_graph_seconds))
    return Inference(graph.n_edges, new_graph_seconds, prepared_seconds, new_graph_bytes, prepared_bytes)
