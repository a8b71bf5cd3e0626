"""Memory of `s2gnn fit` and `s2gnn predict`: what is expected and available, and the measured peak."""

import sys

from s2gnn.estimator import TableModel
from s2gnn.estimator.members import VALUES_AT_ONCE
from s2gnn.resources import available_bytes, peak_bytes

MEASURABLE = sys.platform != "win32"


def size_text(n_bytes: int) -> str:
    """Format a number of bytes."""
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 2**29 else f"{max(1, round(n_bytes / 2**20))} MiB"


def measured_peak() -> int | None:
    """Return the peak memory of this process so far, in bytes; `None` if the system does not report it."""
    return peak_bytes() if MEASURABLE else None


def expected_text(further: int) -> str:
    """Describe the expected peak memory if `further` bytes are allocated, and the available memory."""
    expected = f"expected peak memory {size_text(further + (measured_peak() or 0))}"
    if sys.platform != "linux":
        return expected
    available = available_bytes()
    if further > available:
        return f"{expected}, but only {size_text(available)} more is available: use fewer columns or rows"
    return f"{expected} ({size_text(available)} more is available)"


def prediction_bytes(rows: int, model: TableModel) -> int:
    """Estimate, from above, the memory that prediction needs in addition to the table and the model, in bytes."""
    n, n_features = model.estimator.graph_.n_nodes, model.encoder.n_features
    features = 3 * 8 * n_features * (rows + n)  # encoded, and centred for the search on both sides
    return int(features + 6 * 8 * VALUES_AT_ONCE)
