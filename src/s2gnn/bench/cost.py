"""Bytes held, bytes fetched and floating-point operations of the operator, the networks and an epoch, by formula.

E is the number of stored directions of a graph (twice its edges) and N its number of nodes; S_ρ has E + N nonzeros,
including its diagonal. Values are float32, features are dense, fusion is "mlp", and an epoch is a training step and
an evaluation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from s2gnn.graphs import Graph
from s2gnn.graphs.graph import LARGEST_INT32_POINTER
from s2gnn.nn.inputs import LayerInput
from s2gnn.nn.plan import LARGEST_PREPARED_INPUT, Order, plan_input, plan_layer
from s2gnn.operators import PreparedInput, SobolevOperator
from s2gnn.operators.propagation import HadamardPowers
from s2gnn.operators.shifts import BLOCK

GIB = 2**30
PROCESS = 400 * 2**20  # bytes of an interpreter with torch and the package loaded
ALLOWANCE = 1.3  # on the bytes that the operator must hold
CACHED_SIGNAL = 2**24  # bytes: half of the last-level cache (32 MiB) of the machine of the records
_TEMPORARIES = 96  # bytes per nonzero that `SobolevOperator.matrix` holds while it makes one S_ρ
# Arrays (nonzeros, heads, out) that PyG's attention layers keep for the backward pass.
_KEPT_MESSAGES = {"gat": 1, "gatv2": 3, "supergat": 6, "transformer": 3}


@dataclass(frozen=True)
class Size:
    """A graph of N `nodes` and E `directions` with branches 1..α."""

    nodes: int
    directions: int
    alpha: int

    @property
    def nonzeros(self) -> int:
        """Of one S_ρ."""
        return self.directions + self.nodes


def operator_bound(size: Size) -> float:
    """The bytes that the operator may hold: 1.3 times (8 per stored direction and 4 α per node)."""
    return ALLOWANCE * (8 * size.directions + 4 * size.alpha * size.nodes)


def matrix_bytes(way: str, size: Size) -> int:
    """The bytes of S_1..S_α as an alternative to our operator holds them."""
    per_matrix, rows = size.nonzeros, size.nodes + 1
    return {
        "one_csr": 8 * per_matrix + 4 * rows,
        "csr": size.alpha * (8 * per_matrix + 4 * rows),
        "torch_sparse": size.alpha * (12 * per_matrix + 8 * rows),  # int64 indices
        "gcnconv": (16 + 4 * size.alpha) * per_matrix,  # one int64 edge_index, α weights
        "gcn": 3 * 20 * per_matrix,  # the edges as given, with self-loops, and normalised
    }[way]


def needs(way: str, size: Size, widths: Sequence[int], *, training: bool) -> int:
    """Estimated bytes of a network of layers `widths`, built one way, in addition to graph, input and operator.

    One array (N, out) of each branch is the result of a propagation; for the alternatives to ours, six are alive at the
    peak of training.
    """
    if way == "ours":
        return training_bytes(size, widths).network if training else 4 * size.alpha * size.nodes * widths[-1]
    outputs = widths[1:]
    branches = 1 if way in ("one_csr", "gcn") else size.alpha + 1
    activations = 4 * (6 if training else 1) * branches * size.nodes * sum(outputs)
    transposes = 16 * size.alpha * size.nonzeros if training and way == "torch_sparse" else 0
    messages = 8 * max(outputs) if way in ("gcn", "gcnconv") else 0  # gathered rows and their weighted products
    return activations + matrix_bytes(way, size) + transposes + size.nonzeros * max(_TEMPORARIES, messages)


def baseline_needs(way: str, model: str, size: Size, widths: Sequence[int], heads: int) -> int:
    """Estimated bytes of training a baseline, "ours" or "pyg", in addition to graph and input.

    Ours holds pairs of nodes and, with attention, numbers per edge and head; PyG's edge lists and messages.
    """
    layers, outputs = len(widths) - 1, widths[1:]
    heads = heads if model in _KEPT_MESSAGES else 1
    activations = 4 * size.nodes * (6 * heads * sum(outputs) + 2 * widths[0])
    if way == "ours":
        numbers = 36 * layers * heads if model in _KEPT_MESSAGES else 0
        return activations + size.nonzeros * (40 + 20 * layers + max(_TEMPORARIES, numbers))
    messages = _KEPT_MESSAGES.get(model, 0) * sum(outputs) + 3 * max(outputs if model in _KEPT_MESSAGES else widths)
    return activations + size.nonzeros * (80 + 4 * heads * messages)


def streamed_bytes(size: Size, width: int) -> int:
    """The minimum that a propagation (N, F) → (α, N, F) moves: every array once."""
    pattern = 8 * size.directions + 4 * (size.nodes + 1)
    scalings = 4 * (size.alpha + 1) * size.nodes
    return pattern + scalings + 4 * (1 + size.alpha) * size.nodes * width


def gathered_bytes(size: Size, width: int) -> int:
    """The same if every direction fetches its row of the signal and its α scalings from memory."""
    return streamed_bytes(size, width) + 4 * (width + size.alpha) * size.directions


@dataclass(frozen=True)
class Bytes:
    """What training holds.

    Attributes:
        building: while the graph is built from a CSR matrix: the matrix, the validated copy, its transpose or result.
        graph: indices and float64 weights.
        preparing: while the operator is built: float64 numbers of all nodes and of a block of edges.
        operator: pattern, values, scalings.
        features: the caller's.
        copied: the network's copy of the features, unless they are propagated once.
        propagated: the features under every power, if the plan keeps them.
        activations: what the forward pass keeps for the backward pass, and the gradients of the widest layer.
        evaluation: activations of an evaluation on all nodes without gradients.
        metis: neighbours, weights and pointers as METIS reads them.
    """

    building: int
    graph: int
    preparing: int
    operator: int
    features: int
    copied: int
    propagated: int
    activations: int
    evaluation: int
    metis: int

    @property
    def network(self) -> int:
        """What training the network adds to graph, operator and features."""
        return self.copied + self.propagated + self.activations

    @property
    def peak_of_building(self) -> int:
        """The peak resident memory of the process until the graph is built."""
        return PROCESS + self.features + self.building

    @property
    def peak(self) -> int:
        """The peak resident memory of the process until training ends."""
        held = PROCESS + self.graph + self.features
        return max(self.peak_of_building, held + self.preparing, held + self.operator + self.network)

    def in_clusters(self) -> dict[str, int]:
        """What mini-batch training holds of the whole graph at each stage, in addition to a batch and the process."""
        held = self.graph + self.features
        prepared = held + self.operator + (self.copied or self.propagated)
        return {
            "every process, while the graph is built": self.features + self.building,
            "the first process, while METIS partitions it, without its coarser graphs": held + self.metis,
            "every process afterwards, `--degrees part`": held + self.features,
            "every process afterwards, `--degrees whole`": max(prepared, held + self.preparing),
            "the first process in an evaluation, `--degrees whole --evaluate whole`": prepared + self.evaluation,
        }


def training_bytes(size: Size, widths: Sequence[int]) -> Bytes:
    """The bytes of training a network of layers `widths`, the input first."""
    nodes, directions, alpha = size.nodes, size.directions, size.alpha
    index = 4 if directions <= LARGEST_INT32_POINTER else 8  # beyond, the native kernel does not apply
    graph = (index + 8) * directions + index * (nodes + 1)
    features = 4 * nodes * widths[0]
    training, evaluation = planned_orders(size, widths)
    return Bytes(
        building=8 * directions + 2 * graph,
        graph=graph,
        preparing=_building_operator(size),
        operator=(index + 4) * directions + index * (nodes + 1) + 4 * (alpha + 1) * nodes,
        features=features,
        copied=0 if training[0] == "prepared" else features,
        propagated=0 if training[0] == "transform" else (alpha + 1) * features,
        activations=4 * nodes * _numbers_in_training(alpha, widths[1:]),
        evaluation=4 * nodes * _numbers_in_evaluation(alpha, widths, evaluation),
        metis=8 * (2 * directions + nodes + 1),
    )


def _building_operator(size: Size) -> int:
    """Float64 numbers of nodes and blocks of directions, in addition to the float32 values of all directions.

    Three arrays of a block, and three of the block before; four numbers per node, α degrees and, while the blocks are
    summed, ones. At the end the roots, inverses and a mask of the degrees.
    """
    block = 8 * min(size.directions, BLOCK)
    nodes, alpha = size.nodes, size.alpha
    summing = 8 * (5 + alpha) * nodes + (3 if size.directions <= BLOCK else 6) * block
    inverting = 8 * (4 + 3 * alpha) * nodes + alpha * nodes + 3 * block
    return 4 * size.directions + max(summing, inverting)


def _numbers_in_training(alpha: int, outputs: Sequence[int]) -> int:
    """Per node, at the worst layer of the backward pass.

    Every layer up to it holds its activated branches and its result; the layer itself also holds the gradients of its
    branches before and after the activation.
    """
    return max(
        (alpha + 1) * (kept + 2 * width) + kept for kept, width in zip(accumulate(outputs), outputs, strict=True)
    )


def _numbers_in_evaluation(alpha: int, widths: Sequence[int], orders: Sequence[Order]) -> int:
    """Per node, at the worst layer of an evaluation.

    It holds the results of the layers before it, and its branches either with the propagated input that they are
    computed from, or before and after the activation with the result.
    """
    before, worst = 0, 0
    for order, (width_in, width_out) in zip(orders, pairwise(widths), strict=True):
        aggregated = (alpha + 1) * (width_in + width_out) if order == "aggregate" else 0
        worst = max(worst, before + max(aggregated, 2 * (alpha + 1) * width_out + width_out))
        before += width_out
    return worst


def planned_orders(size: Size, widths: Sequence[int]) -> tuple[list[Order], list[Order]]:
    """The orders in which the planner lets each layer multiply, in training and in evaluation."""
    op = _operator_of(size)
    prepared = plan_input(op, widths[0], widths[1], size.nodes * widths[0]) == "prepared"
    first: LayerInput = PreparedInput(torch.empty(0), op) if prepared else torch.empty(0)
    inputs = [first, *[torch.empty(0, requires_grad=True)] * (len(widths) - 2)]
    layers = list(zip(inputs, pairwise(widths), strict=True))
    with torch.enable_grad():
        training = [plan_layer(x, op, *layer).order for x, layer in layers]
    with torch.no_grad():
        evaluation = [plan_layer(x, op, *layer).order for x, layer in layers]
    return training, evaluation


def _operator_of(size: Size) -> SobolevOperator:
    """An operator of that size for the planner, on the meta device, where arrays take no memory."""
    op = SobolevOperator(Graph.from_edge_list([(0, 1), (1, 2)], [1.0, 2.0]), size.alpha)
    indices, b = (torch.empty(size.directions, dtype=kind, device="meta") for kind in (torch.int32, torch.float32))
    op.n_nodes, op.powers = size.nodes, HadamardPowers(indices[:0], indices, b, b[:0], b[:0], 1)
    return op


def most_nodes_propagated_once(alpha: int, features: int) -> int:
    """The largest graph, in nodes, whose features the planner propagates once for all epochs."""
    return LARGEST_PREPARED_INPUT // (4 * (alpha + 1) * features)


def fetched(size: Size, width: int, *, by_branch: bool = False) -> NDArray[np.int64]:
    """Bytes that a sparse product fetches from a signal that stays in the caches and from a larger one, (2,).

    Every direction fetches its index, value and scalings, and one row of a signal for all branches; or, if each branch
    has its own signal, α adjacent rows.
    """
    rows, signals = (size.alpha, size.alpha + 1) if by_branch else (1, 1)
    total = size.directions * (8 + 4 * size.alpha + 4 * rows * width)
    cached = 4 * signals * size.nodes * width <= CACHED_SIGNAL
    return np.array([total, 0] if cached else [0, total])


def fetched_in_epoch(size: Size, widths: Sequence[int]) -> NDArray[np.int64]:
    """The same for all sparse products of an epoch: in the step, in the backward pass and in the evaluation."""
    total = np.zeros(2, dtype=np.int64)
    layers = zip(pairwise(widths), *planned_orders(size, widths), strict=True)
    for layer, ((width_in, width_out), training, evaluation) in enumerate(layers):
        branches = fetched(size, width_out, by_branch=True)
        for order in (training, evaluation):
            if order != "prepared":
                total += branches if order == "transform" else fetched(size, width_in)
        if layer > 0 or training == "transform":  # the weights of a propagated input without gradient need none
            total += branches
    return total


def dense_flops(nodes: int, alpha: int, widths: Sequence[int]) -> int:
    """The floating-point operations of the dense products in an epoch.

    Each layer multiplies by the weights of α + 1 branches and by those of the MLP fusion: forward twice (step and
    evaluation), backward once for the weights and once for the input, except that the features need no gradient.
    """
    total = 0
    for layer, (width_in, width_out) in enumerate(pairwise(widths)):
        branches = 2 * nodes * (alpha + 1) * width_in * width_out
        fusion = 2 * nodes * (alpha + 1) * width_out * width_out
        total += (4 if layer else 3) * branches + 4 * fusion
    return total
