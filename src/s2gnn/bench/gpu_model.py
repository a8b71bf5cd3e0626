"""The calculated cost of a propagation on a GPU: bytes moved, and time at the published bandwidth."""

from collections.abc import Iterator
from dataclasses import dataclass

from s2gnn.bench.record import Row
from s2gnn.bench.tasks import TASKS, Task

WIDTH, ALPHA = 64, 6


@dataclass(frozen=True)
class Device:
    """The published memory bandwidth (bytes per second) and last-level cache size (bytes) of a GPU."""

    bandwidth: float
    cache: int


DEVICES = {
    "A100 80 GB SXM": Device(2.039e12, 40 * 2**20),
    "H100 80 GB SXM": Device(3.35e12, 50 * 2**20),
}


def calculated_rows() -> Iterator[Row]:
    """Yield a row for each GPU and graph of `TASKS`: seconds of forward propagation with α = 6 and F = 64, by bytes."""
    for name, device in DEVICES.items():
        for graph, task in TASKS.items():
            bytes_of = {way: count(task, device) for way, count in _BYTES.items()}
            seconds = {way: moved / device.bandwidth for way, moved in bytes_of.items()}
            yield {"device": name, "graph": graph, "width": WIDTH, "alpha": ALPHA, "seconds": seconds}


def _gathered(task: Task, device: Device, width: int = WIDTH) -> int:
    """Return the bytes of gathered rows (width,) for every nonzero; each row counts once if all fit into the cache."""
    rows = 4 * width * task.nodes
    return rows if rows <= device.cache else 4 * width * task.nonzeros


def _csr(task: Task) -> int:
    """Return the bytes of a CSR matrix: indices, values and pointers."""
    return 8 * task.nonzeros + 4 * task.nodes


def _ours(task: Task, device: Device) -> int:
    """Return the bytes of our single pass: pattern and values, α scalings, the neighbours' signal, α + 1 results."""
    results = 4 * WIDTH * task.nodes * (ALPHA + 1)
    return _csr(task) + _gathered(task, device, ALPHA) + _gathered(task, device) + results


def _products(task: Task, device: Device) -> int:
    """Return the bytes of α products with prebuilt CSR matrices (cuSPARSE)."""
    return ALPHA * (_csr(task) + _gathered(task, device) + 4 * WIDTH * task.nodes)


def _messages(task: Task, device: Device) -> int:
    """Return the bytes of α GCNConv of PyG with cached weights, whose messages are arrays (nonzeros, F).

    Messages are written and read twice, and count if they do not fit into the cache.
    """
    message = 4 * WIDTH * task.nonzeros
    moved = 4 * message if message > device.cache else 0
    return ALPHA * (_gathered(task, device) + moved + 20 * task.nonzeros + 4 * WIDTH * task.nodes)


_BYTES = {"ours": _ours, "csr": _products, "gcnconv": _messages}
