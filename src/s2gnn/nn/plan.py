"""The planner: chooses the order of multiplication of a layer by estimated cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch

from s2gnn.nn.inputs import LayerInput
from s2gnn.operators import BranchOperator, PreparedInput, SobolevFamily, SparseInput, kernel
from s2gnn.operators.graph_operator import HadamardOperator
from s2gnn.operators.matrix import csr_cost

Order = Literal["prepared", "aggregate", "transform"]
InputForm = Literal["dense", "prepared", "sparse"]

LARGEST_PREPARED_INPUT = 2**31  # bytes


@dataclass(frozen=True)
class LayerPlan:
    """The order in which a layer computes S_ρ H W_ρ.

    Attributes:
        order: "aggregate" for (S_ρ H) W_ρ, "transform" for S_ρ (H W_ρ), "prepared" for (S_ρ H) W_ρ with S_ρ H given.
        costs: estimated cost of each possible order, forward plus backward, in floating-point operations of a large
            dense product that takes the same time.
    """

    order: Order
    costs: Mapping[Order, float]


def plan_layer(x: LayerInput, op: BranchOperator, width_in: int, width_out: int) -> LayerPlan:
    """Plan a layer `width_in` → `width_out` on the input `x`.

    The backward pass computes S_ρ G_ρ for "transform", Σ_ρ S_ρ G_ρ W_ρᵀ for "aggregate" if the input requires a
    gradient, and no sparse product otherwise. A learned operator scales each branch before propagation, so it requires
    "transform".
    """
    large, by_branch = _dense_costs(op, width_in, width_out)
    gather_one, gather_branches = op.gather_cost(width_in, branches=False), op.gather_cost(width_out, branches=True)
    training = torch.is_grad_enabled()
    passes = 1 + training  # the product and, in training, the gradient of the weights
    costs: dict[Order, float] = {"transform": passes * (gather_branches + large)}
    if isinstance(x, SparseInput):
        costs["transform"] = passes * (gather_branches + _sparse_cost(op, x.nnz, width_out))
    elif not op.is_constant:
        pass
    elif isinstance(x, PreparedInput):
        costs["prepared"] = passes * by_branch
    elif training and x.requires_grad:
        costs["transform"] = 2 * gather_branches + 3 * large
        costs["aggregate"] = _aggregations(op) * gather_one + 3 * by_branch
    else:
        costs["aggregate"] = gather_one + passes * by_branch
    if torch.compiler.is_exporting():  # sizes are open, so that no order is known to be the cheaper one
        return LayerPlan("transform", costs)
    # A loop, because the compiler cannot trace `min` of symbolic costs. Of two orders that cost the same the later
    # entry, which does not transform, is taken.
    cheapest: Order = "transform"
    for order, cost in costs.items():
        cheapest = order if cost <= costs[cheapest] else cheapest
    return LayerPlan(cheapest, costs)


def plan_input(op: BranchOperator | SobolevFamily, width_in: int, width_out: int, nnz: int) -> InputForm:
    """Choose the form of constant features (N, width_in) that is cheapest to train on.

    Args:
        op: the operator; with a `SobolevFamily` propagation depends on ε and cannot be precomputed.
        width_in: width of the features.
        width_out: width of the first layer.
        nnz: number of nonzero features; sparse products are only used on the CPU.
    """
    large, by_branch = _dense_costs(op, width_in, width_out)
    gather_branches = op.gather_cost(width_out, branches=True)
    costs: dict[InputForm, float] = {"dense": gather_branches + large}
    prepared_bytes = op.dtype.itemsize * op.n_nodes * (op.alpha + 1) * width_in
    if not isinstance(op, SobolevFamily) and prepared_bytes <= LARGEST_PREPARED_INPUT:
        costs["prepared"] = by_branch
    if op.device.type == "cpu":
        costs["sparse"] = gather_branches + _sparse_cost(op, nnz, width_out)
    return min(costs, key=lambda form: costs[form])


def _aggregations(op: BranchOperator) -> int:
    """Count the aggregations in a training step if the input requires a gradient: S_ρ H, and Σ_ρ S_ρ G_ρ W_ρᵀ.

    The backward pass of the native kernel recomputes S_ρ H, other operators store it, see `propagation.filtered`.
    """
    is_native = isinstance(op, HadamardOperator) and kernel.chosen(op.device.type) != kernel.PLAIN
    return 3 if is_native else 2


def _dense_costs(op: BranchOperator | SobolevFamily, width_in: int, width_out: int) -> tuple[float, float]:
    """Return the cost of one product with the weights of all branches, and of separate products for each branch.

    Separate products are slower per operation than a large one, especially if they are narrow.
    """
    large = 2 * op.n_nodes * width_in * width_out * (op.alpha + 1)
    return large, large * (1 + 32 / width_out)


def _sparse_cost(op: BranchOperator | SobolevFamily, nnz: int, width_out: int) -> float:
    """Return the cost of the product of `nnz` sparse features with the weights of all branches."""
    return csr_cost(nnz, op.dtype.itemsize, (op.alpha + 1) * width_out)
