"""Time and peak memory of inference: a forward pass without gradients, on one graph."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from s2gnn.graphs import Graph, erdos_renyi, load_graph
from s2gnn.learning import seeded
from s2gnn.nn import GraphNetwork, make_model
from s2gnn.nn.inputs import NetworkInput
from s2gnn.operators import GraphOperator, kernel
from s2gnn.resources import forget_peak, least_seconds, peak_bytes, settled_bytes

FEATURES, CLASSES = 16, 10
PATIENCE = 1.0  # seconds in which a measurement is repeated
REPETITIONS = 10  # maximum number


def measure_model(
    model: str, arguments: dict[str, Any], graph_file: Path, seed: int, threads: int, kernel_name: str
) -> dict[str, Any]:
    """Measure a model with random features and parameters in this process, which should do nothing else."""
    torch.set_num_threads(threads)
    with kernel.use(kernel_name), seeded(seed), torch.no_grad():
        network = make_model(model, FEATURES, CLASSES, **arguments).eval()
        graph = load_graph(graph_file)
        x = torch.randn(graph.n_nodes, FEATURES)
        # Libraries and threads are loaded at first use and are not memory of the network.
        small = erdos_renyi(500, 0.03, seed=0)
        network(*network.prepare(torch.randn(small.n_nodes, FEATURES), small))
        return measure_inference(network, x, graph)


def measure_inference(network: GraphNetwork, x: torch.Tensor, graph: Graph) -> dict[str, Any]:
    """Return shortest time and peak memory of a network, in its present mode, with features x (N, F).

    "New graph" is `prepare` and the forward pass on its result; "prepared" is that forward pass alone, whose memory
    includes what `prepare` returned. Memory is the peak of the resident memory above that of the process with graph,
    features and parameters. Gradients should be off.
    """

    def infer() -> tuple[NetworkInput, GraphOperator | None]:
        inputs = network.prepare(x, graph)
        network(*inputs)
        return inputs

    before = settled_bytes()
    forget_peak()
    start = time.perf_counter()
    inputs = infer()
    new_graph_seconds = time.perf_counter() - start
    new_graph_bytes = peak_bytes() - before

    settled_bytes()
    forget_peak()
    network(*inputs)
    prepared_bytes = peak_bytes() - before
    prepared_seconds = least_seconds(partial(network, *inputs), REPETITIONS, PATIENCE)

    del inputs
    if new_graph_seconds < PATIENCE:
        new_graph_seconds = min(new_graph_seconds, least_seconds(infer, REPETITIONS - 1, PATIENCE - new_graph_seconds))
    return {
        "edges": graph.n_edges,
        "new_graph_seconds": new_graph_seconds,
        "prepared_seconds": prepared_seconds,
        "new_graph_bytes": new_graph_bytes,
        "prepared_bytes": prepared_bytes,
    }
