"""The stored benchmarks that the cost model rests on: what its rates are fitted to, and what it is held to."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2gnn.bench.cost import Size, dense_flops
from s2gnn.bench.cost_model import Measured, gathers_of_epoch, gathers_of_propagation, training_bytes
from s2gnn.bench.scale import LargeTask
from s2gnn.errors import InputError

NAMES = EPOCHS, OPERATOR, SCALE, MEMORY, COST, COST_KEPT = tuple(
    f"bench-{name}.json" for name in ("epoch", "operator", "scale", "memory", "cost", "cost-kept")
)
FEWEST_DIRECTIONS = 100_000  # below, an epoch is the time of calls more than that of their work


@dataclass(frozen=True)
class ByteCheck:
    """Bytes by formula beside those that were measured.

    Attributes:
        what: that was measured, and on which graphs.
        pairs: by formula and measured, for every measurement.
    """

    what: str
    pairs: list[tuple[int, int]]


def read_record(results: Path, name: str) -> dict[str, Any]:
    """The benchmark stored as `name` in the folder `results`."""
    path = results / name
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        command = f"s2gnn bench {path.stem.split('-')[1]} --json > {path}"
        raise InputError(f"there is no record {path}: make it with {command}, or give its folder") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}): make it anew") from error
    return record


def measured_epochs(results: Path) -> list[Measured]:
    """The epochs of S2-GNN in the folder `results`, on graphs with at least 100,000 directions."""
    epochs, scale = (read_record(results, name) for name in (EPOCHS, SCALE))
    return _large_enough([*_epochs(epochs), _large_epoch(scale, scale["machine"]["gemm"])])


def measured_propagations(results: Path) -> list[Measured]:
    """The propagations in the folder `results`, on graphs with at least 100,000 directions."""
    found = []
    for timing in read_record(results, OPERATOR)["timings"]:
        size, seconds = _size(timing), timing["ways"]["ours"]["milliseconds"] / 1e3
        name = f"{timing['graph']}, F = {timing['width']}"
        found.append(Measured(name, size.directions, 0, gathers_of_propagation(size, timing["width"]), seconds))
    return _large_enough(found)


def held_to(results: Path) -> list[Measured]:
    """The epoch of the training that the model is held to.

    First as the system gives memory, a new array on new pages; then with an allocator that keeps them.
    """
    gemm = mean_gemm(results)
    pages = ((COST, "new pages"), (COST_KEPT, "kept pages"))
    return [_large_epoch(read_record(results, name), gemm, f", {how}") for name, how in pages]


def mean_gemm(results: Path) -> float:
    """Floating-point operations a second of a large dense product, the mean over the runs that measured epochs."""
    return sum(float(read_record(results, name)["machine"]["gemm"]) for name in (EPOCHS, SCALE)) / 2


def byte_checks(results: Path) -> list[ByteCheck]:
    """Formulas beside measurements: tensors on every graph and α, resident memory of the large trainings."""
    uses = read_record(results, MEMORY)["memory"]
    graphs, alphas = {use["workload"] for use in uses}, {use["alpha"] for use in uses}
    where = f"{len(graphs)} graphs, α = {min(alphas)} to {max(alphas)}"
    checks = [_tensor_check(uses, part, f"{part}, {where}") for part in ("graph", "operator")]
    for name in (SCALE, COST, COST_KEPT):
        task, run = _large_training(read_record(results, name))
        peaks = {stage["name"]: stage["peak"] for stage in run["stages"]}
        needs = training_bytes(task.size, task.widths)
        what = f"{task.edges:,} edges, {task.nodes:,} nodes{', kept pages' if name == COST_KEPT else ''}"
        if name != COST_KEPT:
            graph = (needs.peak_of_building, peaks["graph"])
            checks.append(ByteCheck(f"resident while the graph is made, {what}", [graph]))
        checks.append(ByteCheck(f"resident in training, {what}", [(needs.peak, max(peaks.values()))]))
    return checks


def trained_task(results: Path) -> LargeTask:
    """The task whose training was measured to hold the model to it."""
    return _large_training(read_record(results, COST))[0]


def sources(results: Path) -> list[str]:
    """The command and commit of every record that the model rests on."""
    found = []
    for name in NAMES:
        record = read_record(results, name)
        environment = "".join(f"{key}={value} " for key, value in record.get("environment", {}).items())
        found.append(f"`{environment}{record['command']}` at commit {record['commit']}")
    return found


def _epochs(record: dict[str, Any]) -> Iterator[Measured]:
    for timing in record["timings"]:
        seconds = timing["ways"]["ours"]["milliseconds"] / 1e3
        yield _epoch(timing["workload"], _size(timing), timing["widths"], seconds, record["machine"]["gemm"])


def _large_epoch(record: dict[str, Any], gemm: float, how: str = "") -> Measured:
    task, run = _large_training(record)
    seconds = min(stage["seconds"] for stage in run["stages"] if stage["name"].startswith("epoch"))
    return _epoch(f"random, {task.edges:,} edges{how}", task.size, task.widths, seconds, gemm)


def _large_training(record: dict[str, Any]) -> tuple[LargeTask, dict[str, Any]]:
    (task,) = (LargeTask(**task) for task in record["task"])
    (run,) = (run for run in record["training"] if run["way"] == "ours")
    return task, run


def _epoch(name: str, size: Size, widths: list[int], seconds: float, gemm: float) -> Measured:
    floor = dense_flops(size.nodes, size.alpha, widths) / gemm
    return Measured(name, size.directions, floor, gathers_of_epoch(size, widths), seconds)


def _size(timing: dict[str, Any]) -> Size:
    return Size(timing["nodes"], timing["nonzeros"] - timing["nodes"], timing["alpha"])


def _large_enough(found: list[Measured]) -> list[Measured]:
    return [measured for measured in found if measured.directions >= FEWEST_DIRECTIONS]


def _tensor_check(uses: list[dict[str, Any]], part: str, what: str) -> ByteCheck:
    sizes = (Size(use["nodes"], use["directions"], use["alpha"]) for use in uses)
    formula = [int(getattr(training_bytes(size, (1, 1)), part)) for size in sizes]
    return ByteCheck(what, list(zip(formula, [use[part] for use in uses], strict=True)))
