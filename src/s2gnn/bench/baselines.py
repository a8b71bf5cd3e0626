"""A training epoch of every baseline that PyTorch Geometric has too, ours and the network of its layers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from s2gnn.bench.cost import Size, baseline_needs
from s2gnn.bench.layers import make_ours, make_peer
from s2gnn.bench.networks import make_epoch
from s2gnn.bench.timing import Outcome, Way, race
from s2gnn.bench.workloads import Workload
from s2gnn.resources import available_bytes

MAKERS = {"ours": make_ours, "pyg": make_peer}


@dataclass(frozen=True)
class BaselineTiming:
    """One epoch of one baseline on one task.

    Attributes:
        workload: the task.
        model: one of `layers.BASELINES`.
        nodes: N.
        nonzeros: of A + I.
        widths: of the layers, the input first; SGC has only the first and the last.
        heads: of the networks with attention.
        ways: "ours" and "pyg".
    """

    workload: str
    model: str
    nodes: int
    nonzeros: int
    widths: list[int]
    heads: int
    ways: dict[str, Outcome]


def time_baseline(
    task: Workload, model: str, heads: int = 3, repetitions: int = 5, available: Callable[[], int] = available_bytes
) -> BaselineTiming:
    """Measure one epoch of `model` on `task`, ours and PyG's, a tenth of the nodes in training."""
    size = Size(task.graph.n_nodes, len(task.graph.indices), alpha=1)

    def make(way: str) -> Callable[[], object]:
        return make_epoch(*MAKERS[way](model, task.graph, task.x, task.widths, heads), *task.supervision())

    ways = {way: Way(baseline_needs(way, model, size, task.widths, heads), partial(make, way)) for way in MAKERS}
    outcomes = race(ways, repetitions, available)
    return BaselineTiming(task.name, model, size.nodes, size.nonzeros, task.widths, heads, outcomes)
