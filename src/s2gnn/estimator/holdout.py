"""The part of the labelled rows that is held out to choose the epoch."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError

Fraction = float | Literal["auto"] | None

AUTO_FRACTION = 0.2
# Below so many labelled rows, for each class or for a number, held-out rows are too few to choose by and are missed
# in training: with 24 to 60 labels a class, tables lose up to a few points by it.
AUTO_ROWS_PER_CLASS = 100
AUTO_ROWS = 200


def check_fraction(fraction: Fraction) -> None:
    """Raise unless `fraction` is "auto", `None` or a number in [0, 1)."""
    if fraction is None or fraction == "auto":
        return
    if isinstance(fraction, bool) or not isinstance(fraction, int | float | np.number) or not 0 <= fraction < 1:
        raise InputError(f'validation_fraction is {fraction!r}, but it must be "auto", None or a number in [0, 1)')


def hold_out(
    rows: NDArray[np.int64], strata: NDArray[np.int64] | None, fraction: Fraction, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the labelled `rows` into those to train on and those to validate on, which may be none.

    Args:
        rows: labelled rows, (n,).
        strata: their classes, (n,), each of which keeps its share and at least one row in training; `None` for none.
        fraction: the share to hold out; `None` or 0 for none; "auto" holds out a fifth of at least 100 rows for each
            class, or of at least 200 without classes, and nothing of fewer.
        rng: draws the rows.
    """
    groups = np.zeros(len(rows), dtype=np.int64) if strata is None else strata
    if fraction == "auto":
        enough = AUTO_ROWS if strata is None else AUTO_ROWS_PER_CLASS * len(np.unique(groups))
        fraction = AUTO_FRACTION if len(rows) >= enough else 0.0
    held = np.zeros(len(rows), dtype=np.bool_)
    for group in np.unique(groups):
        members = rng.permutation(np.flatnonzero(groups == group))
        held[members[: min(round(len(members) * (fraction or 0.0)), len(members) - 1)]] = True
    return rows[~held], rows[held]
