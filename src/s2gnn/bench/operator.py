"""Forward propagation with all branches against one sparse product, the price of a first-order network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import torch
from torch import Tensor

from s2gnn.bench.cost import Size, gathered_bytes, propagation_needs, streamed_bytes
from s2gnn.bench.peers import Product, csr_products, gcnconv_products, sparse_tensor_products
from s2gnn.bench.timing import Outcome, Way, race
from s2gnn.graphs import Graph
from s2gnn.operators import SobolevOperator
from s2gnn.resources import available_bytes

ALPHA = 6


@dataclass(frozen=True)
class OperatorTiming:
    """One propagation (N, F) → (α, N, F) every way.

    Attributes:
        graph: its name.
        nodes: N.
        nonzeros: of one S_ρ, the diagonal among them.
        alpha: number of branches.
        width: F.
        streamed_bytes: the least that ours moves when every array is touched once.
        gathered_bytes: the same when every nonzero fetches its row from memory.
        ways: `ours`; `one_csr`, a single torch CSR product; `csr`, α of them; `torch_sparse`; `gcnconv`.
    """

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
    repetitions: int = 5,
    available: Callable[[], int] = available_bytes,
) -> list[OperatorTiming]:
    """Measure on `graph` for every width."""
    op = SobolevOperator(graph, ALPHA, 1.5)
    size = Size(op.n_nodes, len(graph.indices), ALPHA)
    products = cache(lambda way: PRODUCTS[way](op))  # made once for all widths

    def make(way: str, h: Tensor) -> Callable[[], object]:
        made = products(way)
        return lambda: [product(h) for product in made]

    timings = []
    for width in widths:
        h = torch.randn(op.n_nodes, width)
        ways = {way: Way(propagation_needs(way, size, width), partial(make, way, h)) for way in PRODUCTS}
        outcomes = race(ways, repetitions, available)
        moved = streamed_bytes(size, width), gathered_bytes(size, width)
        timings.append(OperatorTiming(name, size.nodes, size.nonzeros, ALPHA, width, *moved, outcomes))
    return timings


def _ours(op: SobolevOperator) -> list[Product]:
    return [op.propagate]


def _one_csr(op: SobolevOperator) -> list[Product]:
    return csr_products(op, powers=1)


PRODUCTS: dict[str, Callable[[SobolevOperator], list[Product]]] = {
    "ours": _ours,
    "one_csr": _one_csr,
    "csr": csr_products,
    "torch_sparse": sparse_tensor_products,
    "gcnconv": gcnconv_products,
}
