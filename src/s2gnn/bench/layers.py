"""Training steps of single layers and of a small batch, ours and PyG's in the same run."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.bench.networks import BASELINES
from s2gnn.bench.record import Row
from s2gnn.bench.tasks import Workload, random_graph
from s2gnn.bench.timing import Way, race
from s2gnn.graphs import DisjointUnion, Graph
from s2gnn.nn import S2Conv, make_model
from s2gnn.operators import SobolevFamily, SobolevOperator
from s2gnn.operators.csr import csr_tensor

WIDTH, ALPHA = 64, 3
GRAPHS = ((5_000, 100_000), (10_000, 50_000))  # nodes, edges
# As small as the graphs of MUTAG.
BATCH, ATOMS, BONDS = 32, 18, 20


LINEAR, MLP = "S2Conv, linear fusion", "S2Conv, MLP fusion"
CACHED, ON_CSR = "PyG's GCNConv, cached", "PyG's GCNConv on a CSR adjacency"
COMPARED = (
    (LINEAR, CACHED),
    (LINEAR, ON_CSR),
    (MLP, CACHED),
    (MLP, ON_CSR),
    (LINEAR, "PyG's EGConv, three aggregators"),
    ("S2Conv, gradients of edge weights", "PyG's GCNConv, gradients of edge weights"),
    ("S2Conv, ε learned", LINEAR),
)


def time_layers(work: Workload, rounds: int) -> Iterator[Row]:
    """Time a forward and backward pass of each layer and of its alternative.

    The attention layers are on the graph of `work`. All layers map 64 channels to 64; S2Conv has four branches (α = 3).
    """
    for model in (name for name, baseline in BASELINES.items() if baseline.kept):
        for heads in (1, 4):
            ways = {way: partial(attention_step, work.graph, model, way, heads) for way in ("ours", "peer")}
            yield _row(f"{model}, heads: {heads}", f"PyG's {BASELINES[model].layer}", ways, rounds)
    for nodes, edges in GRAPHS:
        steps = graph_steps(random_graph(nodes, edges))
        for ours, peer in COMPARED:
            yield {
                **_row(ours, peer, {"ours": steps[ours], "peer": steps[peer]}, rounds),
                "graph": f"{nodes:,} nodes, mean degree {2 * edges // nodes}",
            }
    batch = small_batch()
    for name, way, peer, other in (
        ("edge_index", "edges", "two GCNConv of PyG", "gcn"),
        ("operator built before", "operator", "two GCNConv of PyG", "gcn"),
        ("edge_index", "edges", "the same branches in plain PyTorch, without a graph", "dense"),
    ):
        ways = {"ours": partial(batch_step, batch, way), "peer": partial(batch_step, batch, other)}
        yield _row(f"two S2Conv, {BATCH} graphs of {ATOMS} nodes, {name}", peer, ways, rounds)


def _row(layer: str, peer: str, ways: Mapping[str, Callable[[], Callable[[], None]]], rounds: int) -> Row:
    return {"layer": layer, "peer": peer, "ways": race({name: Way(0, make) for name, make in ways.items()}, rounds)}


def _step(forward: Callable[[], Tensor]) -> Callable[[], None]:
    """Return a forward and a backward pass."""
    gradient = torch.ones_like(forward())

    def run() -> None:
        forward().backward(gradient)  # type: ignore[no-untyped-call]

    return run


def attention_step(graph: Graph, model: str, way: str, heads: int) -> Callable[[], None]:
    """Return a pass of an attention layer, ours or PyG's ("peer")."""
    x = torch.randn(graph.n_nodes, WIDTH, requires_grad=True)
    if way == "ours":
        network = make_model(model, WIDTH, WIDTH, hidden_channels=WIDTH, num_layers=1, heads=heads)
        _, pairs = network.prepare(x.detach(), graph)
        return _step(lambda: network(x, pairs))
    from torch_geometric import nn as pyg

    layer = getattr(pyg, BASELINES[model].layer)(WIDTH, WIDTH, heads=heads, concat=False)
    edge_index = graph.to_pyg().edge_index
    return _step(lambda: layer(x, edge_index))


def graph_steps(graph: Graph) -> dict[str, Callable[[], Callable[[], None]]]:
    """Return functions that prepare a pass of one convolution on `graph`, by name."""
    x = torch.randn(graph.n_nodes, WIDTH, requires_grad=True)

    def ours(operator: Callable[[], Any], **options: Any) -> Callable[[], None]:
        conv, op = S2Conv(WIDTH, WIDTH, ALPHA, **options), operator()
        return _step(lambda: conv(x, op))

    def fixed() -> SobolevOperator:
        return SobolevOperator(graph, ALPHA, 1.0)

    def by_edges(conv: nn.Module, learned: bool = False) -> Callable[[], None]:
        data = graph.to_pyg()
        weight = data.edge_weight.requires_grad_(learned)
        return _step(lambda: conv(x, data.edge_index, weight))

    def by_pattern(conv: nn.Module, pattern: Tensor) -> Callable[[], None]:
        return _step(lambda: conv(x, pattern))

    def peer(name: str, **options: Any) -> nn.Module:
        from torch_geometric import nn as pyg

        layer: nn.Module = getattr(pyg, name)(WIDTH, WIDTH, **options)
        return layer

    return {
        LINEAR: lambda: ours(fixed),
        MLP: lambda: ours(fixed, fusion="mlp"),
        CACHED: lambda: by_edges(peer("GCNConv", cached=True)),
        ON_CSR: lambda: by_pattern(peer("GCNConv", normalize=False), normalised_csr(graph)),
        "PyG's EGConv, three aggregators": lambda: by_pattern(
            peer("EGConv", aggregators=["sum", "mean", "symnorm"], cached=True), graph.to_pyg().edge_index
        ),
        "S2Conv, gradients of edge weights": lambda: by_edges(S2Conv(WIDTH, WIDTH, ALPHA), learned=True),
        "PyG's GCNConv, gradients of edge weights": lambda: by_edges(peer("GCNConv"), learned=True),
        "S2Conv, ε learned": lambda: ours(lambda: SobolevFamily(graph, ALPHA), epsilon="learn"),
    }


def normalised_csr(graph: Graph) -> Tensor:
    """Return the normalised adjacency matrix with self-loops of GCNConv, as a torch CSR matrix."""
    S = SobolevOperator(graph, 1, 1.0).matrix(1)
    indptr, indices, values = (torch.from_numpy(part) for part in (S.indptr, S.indices, S.data))
    return csr_tensor(indptr, indices, values.float(), S.shape)


def small_batch() -> tuple[Graph, Tensor, Tensor, Tensor]:
    """Return a disjoint union of small random graphs, its features (N, 7), the graph of every node and the labels."""
    union = DisjointUnion.of([random_graph(ATOMS, BONDS, seed) for seed in range(BATCH)])
    x = torch.randn(union.graph.n_nodes, 7, generator=torch.Generator().manual_seed(0))
    return union.graph, x, torch.from_numpy(union.graph_of_node), torch.arange(BATCH) % 2


class DenseBranches(nn.Module):
    """Σ_ρ μ_ρ ReLU(H W_ρ + b_ρ): an S2Conv whose operators S_ρ are all the identity."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, (ALPHA + 1) * out_channels)
        self.mu = nn.Parameter(torch.randn(ALPHA + 1))

    def forward(self, h: Tensor) -> Tensor:
        """Map (N, in) to (N, out)."""
        branches: Tensor = self.linear(h).relu().view(len(h), ALPHA + 1, -1)
        return self.mu @ branches


def batch_step(batch: tuple[Graph, Tensor, Tensor, Tensor], way: str) -> Callable[[], None]:
    """Return an Adam step of two layers, pooling and a linear layer; `way` is "edges", "operator", "gcn" or "dense"."""
    graph, x, graph_of_node, labels = batch
    data = graph.to_pyg()
    edges: tuple[Any, ...] = (data.edge_index, data.edge_weight)
    layer: Callable[..., nn.Module] = partial(S2Conv, alpha=ALPHA)
    if way == "gcn":
        from torch_geometric.nn import GCNConv

        layer = GCNConv
    elif way == "operator":
        edges = (SobolevOperator(graph, ALPHA, 1.0),)
    elif way == "dense":
        layer, edges = DenseBranches, ()
    layers = nn.ModuleList([layer(7, WIDTH), layer(WIDTH, WIDTH), nn.Linear(WIDTH, 2)])
    optimizer = torch.optim.Adam(layers.parameters())

    def run() -> None:
        optimizer.zero_grad()
        h = layers[1](layers[0](x, *edges).relu(), *edges)
        pooled = h.new_zeros(BATCH, WIDTH).index_add(0, graph_of_node, h)
        F.cross_entropy(layers[2](pooled), labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return run
