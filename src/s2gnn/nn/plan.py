"""The planner: in which order a layer multiplies, by the memory that its sparse products touch."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from s2gnn.operators import PreparedInput, SobolevOperator, kernel

Order = Literal["prepared", "aggregate", "transform"]


@dataclass(frozen=True)
class LayerPlan:
    """How a layer computes S_ρ H W_ρ.

    Attributes:
        order: "aggregate" for (S_ρ H) W_ρ, "transform" for S_ρ (H W_ρ), "prepared" when S_ρ H is given.
        aggregate_bytes: what the sparse products of "aggregate" read, forward plus backward.
        transform_bytes: the same for "transform".
    """

    order: Order
    aggregate_bytes: int
    transform_bytes: int


def plan_layer(x: Tensor | PreparedInput, op: SobolevOperator, width_in: int, width_out: int) -> LayerPlan:
    """Plan a layer `width_in` → `width_out` on the input `x`.

    An edge costs its index, its value and α scalings, and the rows of H it gathers: aggregating first, one row of
    width F_in for all branches forward (the native kernel; plain torch takes α) and α rows backward; transforming
    first, α rows of width F_out both ways. An input that needs no gradient needs no backward product when it is
    aggregated first, whereas the weights behind a transformed one always do.
    """
    size = op.powers.b.element_size()
    edges, alpha = len(op.powers.indices), op.alpha
    fixed = edges * (4 + size + size * alpha)
    if isinstance(x, PreparedInput):
        return LayerPlan("prepared", 0, 2 * (fixed + edges * size * alpha * width_out))
    gathered = 1 if kernel.chosen(op.device.type) != kernel.PLAIN else alpha
    aggregate = fixed + edges * size * gathered * width_in
    transform = fixed + edges * size * alpha * width_out
    if torch.is_grad_enabled():
        transform *= 2
        if x.requires_grad:
            aggregate += fixed + edges * size * alpha * width_in
    return LayerPlan("aggregate" if aggregate <= transform else "transform", aggregate, transform)
