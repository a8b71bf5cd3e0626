"""The benchmarks: each yields rows of a record, which `report` shows as tables."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from s2gnn.bench.cost import PROCESS, dense_flops, training_bytes
from s2gnn.bench.networks import (
    EPSILON,
    NETWORKS,
    PRODUCTS,
    Network,
    baseline_needs,
    make_baseline,
    make_epoch,
    make_network,
    network_needs,
)
from s2gnn.bench.record import Row
from s2gnn.bench.report import ALLOWANCE
from s2gnn.bench.tasks import Task, Workload, random_graph, stored_graph, workload
from s2gnn.bench.timing import Way, fastest, race
from s2gnn.data import CATALOGUE, data_file, dataset_graph, load_dataset
from s2gnn.devices import CPU
from s2gnn.graphs import Graph, diffuse, knn_graph, largest_component, smooth_graph
from s2gnn.operators import SobolevOperator
from s2gnn.operators.propagation import fan_in, fan_out
from s2gnn.resources import available_bytes, in_own_process, peak_bytes, resident_bytes, settled_bytes

ALPHA = 6  # of propagations
NODES = (500, 1_000, 2_000, 5_000, 10_000)  # of the grid
POINTS = (12_500, 25_000, 50_000, 100_000)  # to build graphs of


def time_operator(
    graphs: Iterable[tuple[str, Graph]], widths: Sequence[int], rounds: int, device: torch.device = CPU
) -> Iterator[Row]:
    """Time a propagation (N, F) → (α, N, F) with six branches, by our operator and by `PRODUCTS`.

    `streamed_bytes` counts every array once; `gathered_bytes` counts a row of the signal and α scalings for every
    stored direction.
    """
    for name, graph in graphs:
        op = SobolevOperator(graph, ALPHA, EPSILON, device=device)
        task = Task(graph.n_nodes, graph.n_edges, alpha=ALPHA)
        for width in widths:
            h = torch.randn(task.nodes, width, device=device)
            ways = {"ours": Way(4 * ALPHA * task.nodes * width, partial(_ours, op, h))}
            for way, products in PRODUCTS.items():
                ways[way] = Way(products.needs(task, [width], arrays=1), partial(_products, way, op, h))
            arrays = (1 + ALPHA) * (1 + width) * task.nodes + task.nodes + 1  # scalings, signal and results, pointers
            streamed = 8 * task.directions + 4 * arrays
            yield {
                "graph": name,
                "nodes": task.nodes,
                "nonzeros": task.nonzeros,
                "alpha": ALPHA,
                "width": width,
                "streamed_bytes": streamed,
                "gathered_bytes": streamed + 4 * (width + ALPHA) * task.directions,
                "ways": race(ways, rounds),
            }


def _ours(op: SobolevOperator, h: Tensor) -> Callable[[], Tensor]:
    return lambda: op.propagate(h)


def _products(way: str, op: SobolevOperator, h: Tensor) -> Callable[[], list[Tensor]]:
    products = PRODUCTS[way].of(op)
    return lambda: [product(h) for product in products]


def time_orders(graphs: Iterable[tuple[str, Graph]], width: int, rounds: int) -> Iterator[Row]:
    """Time propagation and its adjoint with the nodes in their original and in reverse Cuthill–McKee order."""
    for name, graph in graphs:
        adjacency = graph.to_scipy().tocsr()
        start = time.perf_counter()
        order = reverse_cuthill_mckee(adjacency, symmetric_mode=True)
        seconds = time.perf_counter() - start
        reordered = Graph.from_scipy(adjacency[order][:, order])
        given, other = (SobolevOperator(each, ALPHA, EPSILON).powers for each in (graph, reordered))
        h, g = torch.randn(graph.n_nodes, width), torch.randn(graph.n_nodes, ALPHA + 1, width)
        ways = {
            "forward": partial(fan_out, given, h),
            "forward, reordered": partial(fan_out, other, h),
            "backward": partial(fan_in, given, g),
            "backward, reordered": partial(fan_in, other, g),
        }
        timed = fastest(ways, rounds)
        yield {
            "graph": name,
            "nonzeros": Task(graph.n_nodes, graph.n_edges).nonzeros,
            "width": width,
            "alpha": ALPHA,
            "reordering": seconds,
            "seconds": timed,
        }


def unordered() -> Iterator[tuple[str, Graph]]:
    """Yield graphs with unordered nodes: two real ones, if their data is available, and a random one."""
    yield from ((found.name, found.graph) for found in map(workload, ("pubmed", "random-132000")))
    if data_file(CATALOGUE["ppi-human"].file or "") is not None:
        yield "ppi-human", dataset_graph(load_dataset("ppi-human"), "given")[1]


def grid() -> Iterator[tuple[str, Graph]]:
    """Yield the Erdős–Rényi graphs of the paper's Figure 5, and of 2,000 nodes, with their names."""
    for n in NODES:
        for p in (0.03, 0.04, 0.05, 0.06):
            yield f"N = {n:,}, p = {p:g}", random_graph(n, round(p * n * (n - 1) / 2))


def time_epoch(works: Iterable[Workload], rounds: int) -> Iterator[Row]:
    """Time an epoch of every network of `NETWORKS`."""
    for work in works:
        task = work.task
        makers = {way: partial(make_network, way) for way in NETWORKS}
        ways = {way: Way(network_needs(way, task), partial(_epoch, work, make)) for way, make in makers.items()}
        yield {**_facts(work), "alpha": task.alpha, "flops": dense_flops(task), "ways": race(ways, rounds)}


def time_baselines(works: Iterable[Workload], models: Sequence[str], heads: int, rounds: int) -> Iterator[Row]:
    """Time an epoch of each of the `BASELINES` in `models`, ours and PyG's; attention has `heads` heads."""
    for work in works:
        for model in models:
            ways = {}
            for way in ("ours", "pyg"):
                make = partial(make_baseline, model, way, heads=heads)
                ways[way] = Way(baseline_needs(model, way, work.task, heads), partial(_epoch, work, make))
            yield {**_facts(work), "model": model, "heads": heads, "ways": race(ways, rounds)}


def _facts(work: Workload) -> Row:
    task = work.task
    return {"workload": work.name, "nodes": task.nodes, "nonzeros": task.nonzeros, "widths": task.widths}


def _epoch(work: Workload, make: Callable[[Workload], Network]) -> Callable[[], None]:
    return make_epoch(make(work), *work.supervision())


def measure_memory(names: Iterable[str], alphas: Sequence[int]) -> Iterator[Row]:
    """Measure the memory of each workload's operator in a separate process, and compute that of alternatives."""
    for name in names:
        yield from in_own_process(memory_rows, name, alphas)


def memory_rows(name: str, alphas: Sequence[int]) -> list[Row]:
    """Return the rows of one workload, measured in this process."""
    work = workload(name)
    graph = work.graph
    SobolevOperator(graph, 1, EPSILON)  # loads what is loaded at first use
    rows = []
    for alpha in alphas:
        before = settled_bytes()
        op = SobolevOperator(graph, alpha, EPSILON)
        resident = settled_bytes() - before
        task = Task(graph.n_nodes, graph.n_edges, alpha=alpha)
        rows.append(
            {
                "workload": work.name,
                "nodes": task.nodes,
                "directions": task.directions,
                "alpha": alpha,
                "operator": operator_bytes(op),
                "graph": graph.indptr.nbytes + graph.indices.nbytes + graph.weights.nbytes,
                "resident": resident,
                "bound": ALLOWANCE * (8 * task.directions + 4 * alpha * task.nodes),
                "csr": alpha * (8 * task.nonzeros + 4 * (task.nodes + 1)),
                "edge_list": (16 + 4 * alpha) * task.nonzeros,  # one int64 edge_index, α weights
                "edge_lists": (16 + 4) * alpha * task.nonzeros,
            }
        )
        del op
    return rows


def operator_bytes(op: SobolevOperator) -> int:
    """Return the bytes of the tensors that `op` propagates with."""
    return sum(value.nbytes for value in op.powers if isinstance(value, Tensor))


def train_large(task: Task, ways: Iterable[str], epochs: int) -> Iterator[Row]:
    """Measure full-batch training of networks on a large random graph, each in a separate process.

    A row has the time and memory of the `stages` start, load, graph, operator, network, and of every epoch.
    """
    for way in ways:
        path = stored_graph(task.nodes, task.edges)
        row: Row = {"way": way, "needs": large_needs(task, way), "stages": [], "not_run": None}
        try:
            if row["needs"] > available_bytes():
                row["not_run"] = "memory"
            else:
                row["stages"] = in_own_process(_train, path, task, way, epochs)
        except ImportError:
            row["not_run"] = "not installed"
        yield row


def large_needs(task: Task, way: str) -> int:
    """Return the estimated peak memory of a process that trains a network, in bytes."""
    ours = training_bytes(task)
    if way == "ours":
        return ours.peak
    held = ours.graph + ours.features + ours.operator + network_needs(way, task)
    return max(ours.peak_of_building, PROCESS + held)


def _train(path: Path, task: Task, way: str, epochs: int) -> list[Row]:
    stages: list[Row] = []
    start = time.perf_counter()

    def end(name: str) -> None:
        nonlocal start
        now = time.perf_counter()
        stages.append({"name": name, "seconds": now - start, "resident": resident_bytes(), "peak": peak_bytes()})
        start = now

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(task.nodes, task.features, generator=generator)
    labels = torch.randint(2, (task.nodes, task.labels), generator=generator).float()
    train = torch.randperm(task.nodes, generator=generator)[: round(0.6 * task.nodes)]
    end("start")
    adjacency = sp.load_npz(path)
    end("load")
    graph = Graph(adjacency)
    del adjacency
    end("graph")
    SobolevOperator(graph, task.alpha, EPSILON)  # to time it; the network makes another
    end("operator")
    run = make_epoch(make_network(way, Workload("large", task, graph, x)), labels, train)
    end("network")
    for epoch in range(1, epochs + 1):
        run()
        end(f"epoch {epoch}")
    return stages


def time_graphs(most: int) -> Iterator[Row]:
    """Time building k-NN and learned graphs of up to `most` points, and Pubmed's diffusion if it is available."""
    for n in (n for n in POINTS if n <= most):
        for what in ("k-NN", "learned"):
            yield in_own_process(build_graph, what, n)
    pubmed = data_file("citation/pubmed.npz")
    if pubmed is not None:
        with np.load(pubmed, allow_pickle=False) as archive:
            yield in_own_process(build_graph, "diffusion", len(archive["y"]), archive["edge_index"])


def build_graph(what: str, n: int, edge_index: NDArray[np.int64] | None = None) -> Row:
    """Build the "k-NN" or "learned" graph of `n` points, or the "diffusion" of the `n` nodes of `edge_index`."""
    notes: list[str] = []
    if edge_index is not None:
        component, _ = largest_component(Graph.from_edge_index(edge_index, n_nodes=n))
        n, build = component.n_nodes, partial(diffuse, component)  # teleport 0.05, top 128
    elif what == "k-NN":
        build = partial(knn_graph, points_on_clusters(n), 30, report=lambda i: notes.append(f"recall {i.recall:.3f}"))
    else:
        note = "recall {0.recall:.3f}, {0.iterations} iterations"
        build = partial(smooth_graph, points_on_clusters(n), 30, report=lambda i: notes.append(note.format(i)))
    start = time.perf_counter()
    graph = build()
    seconds, peak = time.perf_counter() - start, peak_bytes() / 2**20
    facts = {"what": what, "points": n, "seconds": seconds, "peak_mib": peak}
    return {**facts, "edges": graph.n_edges, "note": ", ".join(notes)}


def points_on_clusters(n: int, seed: int = 0) -> NDArray[np.float32]:
    """Return `n` points in 64 dimensions around 100 centres, each cluster stretched along 10 directions."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(100, 64))
    directions = rng.normal(size=(100, 10, 64)) / 8
    cluster = rng.integers(100, size=n)
    along = rng.normal(size=(n, 10))
    spread = np.einsum("nd,ndf->nf", along, directions[cluster], optimize=True)
    points: NDArray[np.float32] = (centres[cluster] + spread + 0.1 * rng.normal(size=(n, 64))).astype(np.float32)
    return points
