"""Formulas for the memory, sparse products and dense products of full-batch training.

Values are float32, features are dense, fusion is "mlp", and an epoch is a training step and an evaluation on all nodes.
"""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray

from s2gnn.bench.tasks import Task
from s2gnn.graphs import Graph
from s2gnn.graphs.graph import LARGEST_INT32_POINTER
from s2gnn.nn.inputs import LayerInput
from s2gnn.nn.plan import Order, plan_input, plan_layer
from s2gnn.operators import PreparedInput, SobolevOperator
from s2gnn.operators.powers import HadamardPowers

PROCESS = 400 * 2**20  # bytes of an interpreter with torch and the package loaded
EDGES_PER_VISIT, CACHED_ROWS = 32, 2**23  # of the native kernel
CACHED_SIGNAL = 2**24  # bytes: half of the last-level cache (32 MiB) of the machine of the records


@dataclass(frozen=True)
class Bytes:
    """The memory of training on a graph built from a CSR matrix; `cost_model.LABELS` describes the first fields.

    Attributes:
        evaluation: activations of an evaluation on all nodes without gradients.
        metis: METIS's copies of neighbours, weights and pointers.
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
        """The memory of training in addition to graph, operator and features."""
        return self.copied + self.propagated + self.activations

    @property
    def peak_of_building(self) -> int:
        """The peak resident memory of the process until the graph is built."""
        return PROCESS + self.features + self.building

    @property
    def peak(self) -> int:
        """The peak resident memory of the process until training ends."""
        return max(self.peak_of_building, PROCESS + self.graph + self.features + self.operator + self.network)

    def in_clusters(self) -> dict[str, int]:
        """Return the memory of mini-batch training at each stage, in addition to a batch and the process."""
        held = self.graph + self.features
        prepared = held + self.operator + (self.copied or self.propagated)
        return {
            "every process, while the graph is built": self.features + self.building,
            "the first process, while METIS partitions it, without its coarser graphs": held + self.metis,
            "every process afterwards, `--degrees part`": held + self.features,
            "every process afterwards, `--degrees whole`": max(prepared, held + self.preparing),
            "the first process in an evaluation, `--degrees whole --evaluate whole`": prepared + self.evaluation,
        }


def training_bytes(task: Task) -> Bytes:
    """Return the memory of training on `task`."""
    nodes, directions, branches = task.nodes, task.directions, task.alpha + 1
    index = 4 if directions <= LARGEST_INT32_POINTER else 8  # beyond, the native kernel does not apply
    graph = (index + 8) * directions + index * (nodes + 1)
    features = 4 * nodes * task.features
    outputs = task.widths[1:]
    # At a layer of the backward pass, every layer up to it holds its activated branches and its result; the layer
    # itself also holds the gradients of its branches before and after the activation.
    kept_for_backward = zip(accumulate(outputs), outputs, strict=True)
    training = max(branches * (kept + 2 * width) + kept for kept, width in kept_for_backward)
    first = planned_orders(task)[0][0]
    return Bytes(
        building=8 * directions + 2 * graph,  # the matrix, the validated copy, its transpose or result
        graph=graph,
        preparing=_preparing(task),
        operator=(index + 4) * directions + index * (nodes + 1) + 4 * branches * nodes,
        features=features,
        copied=0 if first == "prepared" else features,
        propagated=0 if first == "transform" else branches * features,
        activations=4 * nodes * training,
        evaluation=4 * nodes * _numbers_in_evaluation(task),
        metis=8 * (2 * directions + nodes + 1),
    )


def _preparing(task: Task) -> int:
    """Return the float32 values of all directions; per node, four float64 numbers and α degrees."""
    return 4 * task.directions + 8 * (4 + task.alpha) * task.nodes


def _numbers_in_evaluation(task: Task) -> int:
    """Return the number of values per node at the worst layer: results of earlier layers, and its branches.

    The branches are in memory either with the propagated input, or before and after the activation with the result.
    """
    branches, before, worst = task.alpha + 1, 0, 0
    for order, (width_in, width_out) in zip(planned_orders(task)[1], pairwise(task.widths), strict=True):
        aggregated = branches * (width_in + width_out) if order == "aggregate" else 0
        worst = max(worst, before + max(aggregated, 2 * branches * width_out + width_out))
        before += width_out
    return worst


def planned_orders(task: Task) -> tuple[list[Order], list[Order]]:
    """Return the planned order of multiplication of each layer, in training and evaluation."""
    op = SobolevOperator(Graph.from_edge_list([(0, 1), (1, 2)], [1.0, 2.0]), task.alpha)
    # The planner reads only sizes, so the arrays are on the meta device, where they take no memory.
    indices, b = (torch.empty(task.directions, dtype=kind, device="meta") for kind in (torch.int32, torch.float32))
    op.n_nodes, op.powers = task.nodes, HadamardPowers(indices[:0], indices, b, b[:0], b[:0], 1)
    widths = task.widths
    prepared = plan_input(op, widths[0], widths[1], task.nodes * widths[0]) == "prepared"
    first: LayerInput = PreparedInput(torch.empty(0), op) if prepared else torch.empty(0)
    inputs = [first, *[torch.empty(0, requires_grad=True)] * (task.layers - 1)]
    layers = list(zip(inputs, pairwise(widths), strict=True))
    with torch.enable_grad():
        training = [plan_layer(x, op, *layer).order for x, layer in layers]
    with torch.no_grad():
        evaluation = [plan_layer(x, op, *layer).order for x, layer in layers]
    return training, evaluation


def fetched(task: Task, width: int, *, by_branch: bool = False) -> NDArray[np.int64]:
    """Return the bytes that a sparse product fetches from cached and from larger signals, (2,).

    Every stored direction fetches its index, value and scalings, and one row of the signal, or α adjacent rows if each
    branch has a separate signal. A larger signal shared by all branches is processed in passes over blocks that fit
    into the caches, if nodes have enough neighbours.
    """
    rows, signals = (task.alpha, task.alpha + 1) if by_branch else (1, 1)
    total = task.directions * (8 + 4 * task.alpha + 4 * rows * width)
    size = 4 * signals * task.nodes * width
    in_passes = not by_branch and task.directions >= EDGES_PER_VISIT * task.nodes * ceil(size / CACHED_ROWS)
    cached = in_passes or size <= CACHED_SIGNAL
    return np.array([total, 0] if cached else [0, total])


def fetched_in_epoch(task: Task) -> NDArray[np.int64]:
    """Return the bytes that all sparse products of an epoch fetch (forward, backward and evaluation), see `fetched`."""
    total = np.zeros(2, dtype=np.int64)
    layers = zip(pairwise(task.widths), *planned_orders(task), strict=True)
    for layer, ((width_in, width_out), training, evaluation) in enumerate(layers):
        branches, one = fetched(task, width_out, by_branch=True), fetched(task, width_in)
        for order in (training, evaluation):
            if order != "prepared":
                total += branches if order == "transform" else one
        if training == "transform":
            total += branches
        elif layer > 0:  # the input is aggregated again, and has a gradient
            total += 2 * one
    return total


def dense_flops(task: Task) -> int:
    """Return the floating-point operations of the dense products in an epoch.

    Each layer multiplies by the weights of α + 1 branches and by those of the MLP fusion: forward twice (step and
    evaluation), backward once for the weights and once for the input, except that the features need no gradient.
    """
    total = 0
    for layer, (width_in, width_out) in enumerate(pairwise(task.widths)):
        per_width = 2 * task.nodes * (task.alpha + 1) * width_out
        total += per_width * ((4 if layer else 3) * width_in + 4 * width_out)
    return total
