"""The paper's Figure 5: inference time and memory of every network on Erdős–Rényi graphs of growing size."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from s2gnn.errors import InputError
from s2gnn.graphs import erdos_renyi, save_graph
from s2gnn.nn import MODELS, hyperparameters
from s2gnn.operators import kernel
from s2gnn.resources import LimitError, Limits, available_bytes, forget_peak, in_own_process
from s2gnn.studies.budget import BUDGETS, Budget
from s2gnn.studies.cost_view import draw_cost, lay_out_cost
from s2gnn.studies.inference import PATIENCE, REPETITIONS, InferenceTask, run_task
from s2gnn.studies.measured import Measure, MeasuredStudy, Report

NODES = {"er-500": 500, "er-1000": 1_000, "er-5000": 5_000, "er-10000": 10_000}
PROBABILITIES = (0.03, 0.04, 0.05, 0.06)
FEATURES, CLASSES = 16, 10
PAPER_SEEDS = 30
# The paper prints no sizes of its networks here: these are the middle of its search space, with the fewest layers.
SIZES: Mapping[str, Any] = {
    "hidden_channels": 32,
    "num_layers": 2,
    "alpha": 4,
    "epsilon": 1.5,
    "fusion": "mlp",
    "K": 2,
    "powers": 2,
    "heads": 3,
}
LONGEST = 60.0  # seconds of a process
LARGEST = 4 * 2**30  # bytes of its resident memory
PRELOADED = (run_task.__module__, "torch._dynamo")  # the latter is imported by the first product of an operator
ENOUGH = 10.0  # seconds: a network that takes longer on one graph is not measured on the graphs of further seeds


@dataclass(frozen=True)
class Place:
    """A graph of the grid."""

    data: str
    p: float

    @property
    def nodes(self) -> int:
        """N."""
        return NODES[self.data]

    @property
    def title(self) -> str:
        """For people."""
        return f"N = {self.nodes:,}, p = {self.p:g}"


def grid(data: Sequence[str] | None = None) -> list[Place]:
    """The paper's grid, or the part of it with the names `data`."""
    return [Place(name, p) for name in data or NODES for p in PROBABILITIES]


def model_sizes(model: str) -> dict[str, Any]:
    """The `SIZES` that mean something to a model."""
    return {name: value for name, value in SIZES.items() if name in hyperparameters(model)}


def measure_within(budget: Budget) -> Measure:
    """Measure with as many seeds as `budget` allows, at most those of the paper."""
    return partial(_measure, seeds=min(budget.seeds, PAPER_SEEDS))


def _measure(data: Sequence[str] | None, report: Report, seeds: int) -> dict[str, Any]:
    forget_peak()  # refuses a system on which peaks cannot be measured
    limits = Limits(LONGEST, min(LARGEST, available_bytes()))
    rows = []
    for place in grid(data):
        found = {model: _Row(place, model) for model in MODELS}
        for seed in range(seeds):
            report(f"{place.title}, seed {seed + 1} of {seeds}: the graph")
            with _stored_graph(place, seed) as path:
                for model, row in found.items():
                    report(f"{place.title}, seed {seed + 1} of {seeds}: {model}")
                    row.measure(path, seed, limits)
        rows += [row.content() for row in found.values()]
    return {
        "seeds": seeds,
        "features": FEATURES,
        "classes": CLASSES,
        "models": {model: model_sizes(model) for model in MODELS},
        "threads": torch.get_num_threads(),
        "kernel": kernel.chosen(),
        "limits": asdict(limits),
        "enough_seconds": ENOUGH,
        "patience_seconds": PATIENCE,
        "repetitions": REPETITIONS,
        "rows": rows,
    }


@contextmanager
def _stored_graph(place: Place, seed: int) -> Iterator[Path]:
    """The graph of a place and a seed, in a file for the processes that measure on it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "graph.npz"
        save_graph(erdos_renyi(place.nodes, place.p, seed), path)
        yield path


class _Row:
    """A network on the graphs of one place: what was measured, or why nothing more is."""

    def __init__(self, place: Place, model: str) -> None:
        self.place = place
        self.model = model
        self.measured: list[dict[str, Any]] = []
        self.stopped: str | None = None

    def measure(self, graph: Path, seed: int, limits: Limits) -> None:
        if self.stopped is not None or any(one["new_graph_seconds"] > ENOUGH for one in self.measured):
            return
        task = InferenceTask(
            self.model,
            model_sizes(self.model),
            FEATURES,
            CLASSES,
            graph,
            seed,
            torch.get_num_threads(),
            kernel.chosen(),
        )
        try:
            found = in_own_process(run_task, task, limits=limits, preloaded=PRELOADED)
        except (LimitError, InputError) as error:  # it takes too much, or the network itself refuses the graph
            self.stopped = str(error)
        else:
            self.measured.append({"seed": seed, **asdict(found)})

    def content(self) -> dict[str, Any]:
        place = {"data": self.place.data, "nodes": self.place.nodes, "p": self.place.p}
        return {**place, "model": self.model, "measured": self.measured, "stopped": self.stopped}


STUDY = MeasuredStudy(
    "cost",
    "Inference time and memory on random graphs",
    "Figure 5",
    tuple(NODES),
    measure_within(BUDGETS["quick"]),
    lay_out_cost,
    draw_cost,
    measure_within,
)
