"""Valid ranges of integer arguments, shared by the library and the command line."""

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2gnn.errors import InputError


@dataclass(frozen=True)
class Range:
    """The integers `low`..`high`.

    Example:
        >>> WIDTH.checked(64, "hidden_channels")
        64
    """

    low: int
    high: int

    def checked(self, value: Any, name: str) -> int:
        """Return `value` as a Python integer of this range.

        Raises:
            InputError: with the name and the range.
        """
        try:
            number = self.low - 1 if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = self.low - 1
        if number < self.low:
            raise InputError(f"{name} is {_text(value)}, but it must be an integer >= {self.low}")
        if number > self.high:
            raise InputError(f"{name} is {_text(value)}, but it must be at most {self.high}")
        return number


def real(value: Any) -> float:
    """Return `value` as a Python float; NaN if it is not a real number, or an integer beyond the range of floats."""
    try:
        return float(value) if isinstance(value, int | float | np.integer | np.floating) else math.nan
    except OverflowError:
        return math.nan


def _text(value: Any) -> str:
    """Return a value for a message; Python refuses to write integers of thousands of digits."""
    bits = value.bit_length() if isinstance(value, int) else 0
    return repr(value) if bits <= 128 else f"an integer of {bits:,} bits"


SEED = Range(0, 2**32 - 1)  # what NumPy's RandomState, and so scikit-learn, accepts
COUNT = Range(1, 2**31 - 1)  # of epochs, batches, rows, neighbours
SIZE = Range(1, 2**40)  # nodes and edges of a graph whose cost is estimated
WIDTH = Range(1, 2**24)  # of a layer
DEPTH = Range(1, 1_000)  # of a network, and the number of powers or heads of a layer
TRIALS = Range(1, 1_000_000)  # of a search, each of which is a row of its database
DRAWS = Range(1, 10_000)  # of noise, and rounds of a timing
FOLD_COUNT = Range(0, 1_000)  # of cross-validation
JOBS = Range(1, 1_024)  # processes
WAIT = Range(1, 7 * 24 * 60)  # minutes: a week
