"""What full-batch training of S2-GNN takes on a graph of any size: bytes by formula, seconds by measured rates.

E is the number of stored directions, twice that of the edges. An epoch is a step and an evaluation. The networks are
those of the benchmarks: MLP fusion, float32, dense features.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import nnls

from s2gnn.bench.cost import PROCESS, Size
from s2gnn.errors import InputError
from s2gnn.graphs.graph import LARGEST_INT32_POINTER
from s2gnn.nn.plan import LARGEST_PREPARED_INPUT, LayerInput, Order, plan_input, plan_layer
from s2gnn.operators import PreparedInput, SobolevOperator
from s2gnn.operators.propagation import HadamardPowers
from s2gnn.operators.shifts import BLOCK

CSR_BYTES = 8  # of each direction of the float32 matrix that a graph is made of
CACHED_SIGNAL = 2**24  # bytes: half of the last cache, 32 MiB, of the machine of the records


@dataclass(frozen=True)
class Bytes:
    """What is held at the peak of training.

    Attributes:
        building: while the graph is made of a CSR matrix: the matrix, the checked copy, its transpose or final form.
        graph: indices and float64 weights.
        preparing: while the operator is made of the graph: float64 numbers of the nodes and of some edges at a time.
        operator: pattern, values, scalings.
        features: the caller's.
        copied: the network's own copy of the features, where it does not have them propagated once.
        propagated: the features under every power, where the plan keeps these.
        activations: what the forward pass keeps for the backward pass, and the gradients of the widest layer.
    """

    building: int
    graph: int
    preparing: int
    operator: int
    features: int
    copied: int
    propagated: int
    activations: int

    @property
    def network(self) -> int:
        """What training the network holds beside graph, operator and the caller's features."""
        return self.copied + self.propagated + self.activations

    @property
    def peak_of_building(self) -> int:
        """The largest resident memory of the process, itself included, until the graph is made."""
        return PROCESS + self.features + self.building

    @property
    def peak(self) -> int:
        """The largest resident memory of the process, itself included, until training ends."""
        held = PROCESS + self.graph + self.features
        return max(self.peak_of_building, held + self.preparing, held + self.operator + self.network)


def index_bytes(size: Size) -> int:
    """Of one index: 4, or 8 when the directions are too many for 32 bits, where the native kernel does not apply."""
    return 4 if size.directions <= LARGEST_INT32_POINTER else 8


def training_bytes(size: Size, widths: Sequence[int]) -> Bytes:
    """The bytes of training a network of layers `widths`, the input first."""
    index = index_bytes(size)
    graph = (index + 8) * size.directions + index * (size.nodes + 1)
    features = 4 * size.nodes * widths[0]
    plan = _Plan(size, widths)
    return Bytes(
        building=CSR_BYTES * size.directions + 2 * graph,
        graph=graph,
        preparing=_making_operator(size),
        operator=(index + 4) * size.directions + index * (size.nodes + 1) + 4 * (size.alpha + 1) * size.nodes,
        features=features,
        copied=0 if plan.is_propagated_once else features,
        propagated=(size.alpha + 1) * features if plan.keeps_propagated_input else 0,
        activations=4 * size.nodes * _numbers_alive(size.alpha, widths[1:]),
    )


def evaluation_bytes(size: Size, widths: Sequence[int]) -> int:
    """The bytes of calling such a network on all nodes without gradients, beside its input and the operator."""
    return 4 * size.nodes * _Plan(size, widths).numbers_in_evaluation()


def most_nodes_propagated_once(alpha: int, features: int) -> int:
    """The most nodes of a graph whose features the planner may propagate once for all epochs."""
    return LARGEST_PREPARED_INPUT // (4 * (alpha + 1) * features)


def _making_operator(size: Size) -> int:
    """Beside the graph, until its factors are float32: b of all directions, and numbers of 8 bytes.

    Of a block of directions three arrays, and three of the block before; of the nodes four, α degrees and, while the
    blocks are added up, a vector of ones. At the end of it the roots, inverses and a mask of the degrees.
    """
    block = 8 * min(size.directions, BLOCK)
    nodes, alpha = size.nodes, size.alpha
    adding_up = 8 * (5 + alpha) * nodes + (3 if size.directions <= BLOCK else 6) * block
    inverting = 8 * (4 + 3 * alpha) * nodes + alpha * nodes + 3 * block
    return 4 * size.directions + max(adding_up, inverting)


def _numbers_alive(alpha: int, outputs: Sequence[int]) -> int:
    """For each node, at the worst layer of the backward pass.

    Every layer up to it has its branches after the activation, and its result; it also has the gradients of its
    branches before and after the activation.
    """
    return max(
        (alpha + 1) * (kept + 2 * width) + kept for kept, width in zip(accumulate(outputs), outputs, strict=True)
    )


class Gather(NamedTuple):
    """A sparse product: the bytes that it fetches, and those of the signal that it fetches rows of."""

    fetched: int
    signal: int


def gathers_of_propagation(size: Size, width: int) -> list[Gather]:
    """Of one signal (N, width) to α branches; every direction fetches index, value, scalings and a row."""
    return [Gather(size.directions * (8 + 4 * size.alpha + 4 * width), 4 * size.nodes * width)]


def gathers_of_branches(size: Size, width: int) -> list[Gather]:
    """Of α signals of that width, each by its own power; every direction fetches α rows that lie side by side."""
    fetched = size.directions * (8 + 4 * size.alpha + 4 * size.alpha * width)
    return [Gather(fetched, 4 * (size.alpha + 1) * size.nodes * width)]


def gathers_of_epoch(size: Size, widths: Sequence[int]) -> list[Gather]:
    """Of a network of layers `widths`, the input first."""
    return list(_Plan(size, widths).gathers())


class _Plan:
    """The orders in which the layers of a network multiply on a graph of this size, as the planner chooses them."""

    def __init__(self, size: Size, widths: Sequence[int]) -> None:
        self._size = size
        self._layers = list(pairwise(widths))
        op = _without_numbers(size)
        prepared = plan_input(op, widths[0], widths[1], size.nodes * widths[0]) == "prepared"
        first: LayerInput = PreparedInput(torch.empty(0), op) if prepared else torch.empty(0)
        inputs = [first, *[torch.empty(0, requires_grad=True)] * (len(self._layers) - 1)]
        steps = list(zip(inputs, self._layers, strict=True))
        with torch.enable_grad():
            self._training = [plan_layer(x, op, *layer).order for x, layer in steps]
        with torch.no_grad():
            self._evaluation = [plan_layer(x, op, *layer).order for x, layer in steps]
        self.is_propagated_once = prepared
        self.keeps_propagated_input = prepared or self._training[0] == "aggregate"

    def gathers(self) -> Iterator[Gather]:
        """The sparse products of every layer: in the step, in the evaluation and in the backward pass."""
        for layer, (width_in, width_out) in enumerate(self._layers):
            branches = gathers_of_branches(self._size, width_out)
            products: dict[Order, list[Gather]] = {
                "prepared": [],
                "aggregate": gathers_of_propagation(self._size, width_in),
                "transform": branches,
            }
            training = self._training[layer]
            yield from products[training]
            yield from products[self._evaluation[layer]]
            # Only the weights behind an input that was propagated, and has no gradient, need nothing sparse.
            if layer > 0 or training == "transform":
                yield from branches

    def numbers_in_evaluation(self) -> int:
        """For each node, at the worst layer of an evaluation.

        It has the results of the layers before it, and its branches either with the propagated input that they are
        made of, or before and after the activation with the result.
        """
        before, worst, branches = 0, 0, self._size.alpha + 1
        for order, (width_in, width_out) in zip(self._evaluation, self._layers, strict=True):
            aggregated = branches * (width_in + width_out) if order == "aggregate" else 0
            worst = max(worst, before + max(aggregated, 2 * branches * width_out + width_out))
            before += width_out
        return worst


def _without_numbers(size: Size) -> SobolevOperator:
    """An operator that can be planned with and takes no memory."""
    op = SobolevOperator.__new__(SobolevOperator)
    op.alpha, op.n_nodes, op.device = size.alpha, size.nodes, torch.device("cpu")
    indices, b = (torch.empty(size.directions, dtype=kind, device="meta") for kind in (torch.int32, torch.float32))
    op.powers = HadamardPowers(indices[:0], indices, b, b[:0], b[:0], 1)
    return op


@dataclass(frozen=True)
class Measured:
    """The seconds of an epoch or of a propagation, and the work that was done in them.

    Attributes:
        name: of what was measured.
        directions: of the graph.
        dense_floor: seconds of its dense products at the rate of a large one in the same run; 0 without any.
        gathers: its sparse products.
        seconds: that it took.
    """

    name: str
    directions: int
    dense_floor: float
    gathers: Sequence[Gather]
    seconds: float


@dataclass(frozen=True)
class Rates:
    """How fast work is done.

    Attributes:
        slowdown: of the dense products of a network against one large product, elementwise work included.
        cached: bytes a second that a sparse product fetches from signals that stay in the caches.
        memory: the same from larger ones.
    """

    slowdown: float
    cached: float
    memory: float

    def seconds(self, dense_floor: float, gathers: Sequence[Gather]) -> float:
        """Of work with these dense and sparse products."""
        cached, memory = _fetched(gathers)
        return self.slowdown * dense_floor + cached / self.cached + memory / self.memory

    def ratio(self, measured: Measured) -> float:
        """Measured by modelled seconds."""
        return measured.seconds / self.seconds(measured.dense_floor, measured.gathers)


def fit_rates(measured: Sequence[Measured]) -> Rates:
    """The rates of one machine that make the squares of relative errors least."""
    seconds = np.array([one.seconds for one in measured])
    parts = np.array([(one.dense_floor, *_fetched(one.gathers)) for one in measured])
    found, _ = nnls(parts / seconds[:, None], np.ones(len(measured)))
    if not (found > 0).all():
        raise InputError(
            "the measurements do not tell dense products from sparse ones within the caches and beyond: measure epochs "
            "and propagations on small and large graphs"
        )
    return Rates(float(found[0]), 1 / float(found[1]), 1 / float(found[2]))


def _fetched(gathers: Sequence[Gather]) -> tuple[int, int]:
    """The bytes that are fetched from signals within the caches and beyond."""
    cached = sum(gather.fetched for gather in gathers if gather.signal <= CACHED_SIGNAL)
    return cached, sum(gather.fetched for gather in gathers) - cached
