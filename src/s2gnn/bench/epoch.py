"""A whole training epoch, step and evaluation, against the same network built the other ways and against a GCN."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from s2gnn.bench.cost import Size, dense_flops, peer_needs
from s2gnn.bench.cost_model import training_bytes
from s2gnn.bench.networks import WAYS, make_epoch, make_network
from s2gnn.bench.timing import Outcome, Way, race
from s2gnn.bench.workloads import Workload
from s2gnn.resources import available_bytes


@dataclass(frozen=True)
class EpochTiming:
    """One epoch of every network on one task.

    Attributes:
        workload: the task.
        nodes: N.
        nonzeros: of one S_ρ, the diagonal among them.
        alpha: highest power.
        widths: of the layers, the input first.
        flops: floating-point operations of our dense products in the epoch.
        ways: the networks of `networks.WAYS`.
    """

    workload: str
    nodes: int
    nonzeros: int
    alpha: int
    widths: list[int]
    flops: int
    ways: dict[str, Outcome]


def time_epoch(task: Workload, repetitions: int = 5, available: Callable[[], int] = available_bytes) -> EpochTiming:
    """Measure one epoch of every network on `task`, a tenth of the nodes in training."""
    size = Size(task.graph.n_nodes, len(task.graph.indices), task.alpha)
    widths = task.widths

    def make(way: str) -> Callable[[], object]:
        return make_epoch(*make_network(way, task.graph, task.x, widths, task.alpha), *task.supervision())

    needs = {
        way: training_bytes(size, widths).network if way == "ours" else peer_needs(way, size, widths) for way in WAYS
    }
    ways = {way: Way(needs[way], partial(make, way)) for way in WAYS}
    outcomes = race(ways, repetitions, available)
    flops = dense_flops(size.nodes, size.alpha, widths)
    return EpochTiming(task.name, size.nodes, size.nonzeros, size.alpha, widths, flops, outcomes)
