"""Measure the time of a computation, and its memory in a separate process."""

from s2gnn.resources.child import DeadProcessError, LimitError, Limits, in_own_process
from s2gnn.resources.memory import (
    available_bytes,
    forget_peak,
    least_seconds,
    peak_bytes,
    resident_bytes,
    settled_bytes,
)

__all__ = [
    "DeadProcessError",
    "LimitError",
    "Limits",
    "available_bytes",
    "forget_peak",
    "in_own_process",
    "least_seconds",
    "peak_bytes",
    "resident_bytes",
    "settled_bytes",
]
