"""Argument checks shared by networks' constructors and calls."""

from typing import Any

import numpy as np

from s2gnn.errors import InputError
from s2gnn.ranges import COUNT, DEPTH, WIDTH, real


def positive_integer(value: Any, name: str) -> int:
    """Return `value` as a Python integer of at least 1."""
    return COUNT.checked(value, name)


def probability(value: Any, name: str) -> float:
    """Return `value` as a Python float in [0, 1)."""
    if not 0 <= real(value) < 1:
        raise InputError(f"{name} is {value!r}, but it must be a number in [0, 1)")
    return float(value)


def check_bool(value: Any, name: str) -> bool:
    """Return `value` as a Python boolean; strings raise an error, because "false" would be true."""
    if not isinstance(value, bool | int | np.bool_ | np.integer) or value not in (0, 1):
        raise InputError(f"{name} is {value!r}, but it must be True or False")
    return bool(value)


def layer_widths(in_channels: int, hidden_channels: int, out_channels: int, num_layers: int) -> list[int]:
    """Return the widths before, between and after `num_layers` layers."""
    n_hidden = DEPTH.checked(num_layers, "num_layers") - 1
    return [
        WIDTH.checked(in_channels, "in_channels"),
        *[WIDTH.checked(hidden_channels, "hidden_channels")] * n_hidden,
        WIDTH.checked(out_channels, "out_channels"),
    ]
