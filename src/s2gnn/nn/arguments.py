"""The checks that the networks' constructors and calls share."""

import operator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.operators import PreparedInput, SparseInput


def positive_integer(value: Any, name: str) -> int:
    """`value` as a Python integer of at least 1."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise InputError(f"{name} is {value!r}, but it must be an integer >= 1")
    return number


def probability(value: Any, name: str) -> float:
    """`value` as a Python float in [0, 1)."""
    if not isinstance(value, int | float | np.number) or not 0 <= value < 1:
        raise InputError(f"{name} is {value!r}, but it must be a number in [0, 1)")
    return float(value)


def switch(value: Any, name: str) -> bool:
    """`value` as a Python boolean; text, of which "false" would be true, is refused."""
    if not isinstance(value, bool | int | np.bool_ | np.integer) or value not in (0, 1):
        raise InputError(f"{name} is {value!r}, but it must be True or False")
    return bool(value)


def layer_widths(in_channels: int, hidden_channels: int, out_channels: int, num_layers: int) -> list[int]:
    """The widths before, between and after `num_layers` layers."""
    n_hidden = positive_integer(num_layers, "num_layers") - 1
    return [
        positive_integer(in_channels, "in_channels"),
        *[positive_integer(hidden_channels, "hidden_channels")] * n_hidden,
        positive_integer(out_channels, "out_channels"),
    ]


def check_features(x: Tensor | PreparedInput | SparseInput, weight: Tensor) -> None:
    """Raise unless `x` is a dense tensor or made for layers, of the type of `weight`; autocast converts by itself."""
    values = x.x if isinstance(x, PreparedInput) else x
    if not isinstance(values, SparseInput) and (not isinstance(values, Tensor) or values.layout != torch.strided):
        raise InputError(
            f"x is a {type(values).__name__} but must be a dense tensor, torch.tensor(x, dtype={weight.dtype}), "
            "or s2gnn.operators.SparseInput(x)"
        )
    if values.dtype != weight.dtype and not torch.is_autocast_enabled(values.device.type):
        calls = {torch.float32: "float()", torch.float64: "double()"}
        call = calls.get(weight.dtype, f"to({weight.dtype})")
        mend = f"SparseInput(x, dtype={weight.dtype})" if isinstance(values, SparseInput) else f"x.{call}"
        raise InputError(f"x is {values.dtype}, but the layer's weights are {weight.dtype}: pass {mend}")
