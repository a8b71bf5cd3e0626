"""The planner: in which order a layer multiplies, by what each order costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from s2gnn.operators import (
    DifferentiableOperator,
    PreparedInput,
    SobolevFamily,
    SobolevOperator,
    SparseInput,
    kernel,
)

Order = Literal["prepared", "aggregate", "transform"]
InputForm = Literal["dense", "prepared", "sparse"]
LayerInput = Tensor | PreparedInput | SparseInput
Operator = SobolevOperator | DifferentiableOperator

# What a byte that a sparse product gathers costs, in floating-point operations of one large dense product: measured on
# two cores, where the signals of the graphs of the paper stay in the caches.
FLOPS_PER_GATHERED_BYTE = 2
FLOPS_PER_GATHERED_BYTE_OF_CSR = 12  # torch's own sparse product
LARGEST_PREPARED_INPUT = 2**31  # bytes


@dataclass(frozen=True)
class LayerPlan:
    """How a layer computes S_ρ H W_ρ.

    Attributes:
        order: "aggregate" for (S_ρ H) W_ρ, "transform" for S_ρ (H W_ρ), "prepared" for (S_ρ H) W_ρ with S_ρ H given.
        costs: of the orders that this input allows, forward plus backward, in floating-point operations of one large
            dense product that would take as long.
    """

    order: Order
    costs: Mapping[Order, float]


def plan_layer(x: LayerInput, op: Operator, width_in: int, width_out: int) -> LayerPlan:
    """Plan a layer `width_in` → `width_out` on the input `x`.

    The backward pass needs S_ρ G_ρ for the weights behind a transformed input and for an input that has a gradient;
    nothing sparse for an aggregated input that has none. An operator with gradients of its own scales each branch
    before it propagates, so that a layer transforms first.
    """
    parts = _Parts(op, width_in, width_out)
    training = torch.is_grad_enabled()
    passes = 1 + training  # the product and, in training, the gradient of the weights
    if isinstance(x, SparseInput):
        return LayerPlan("transform", {"transform": passes * (parts.gather_branches + parts.csr(x.nnz))})
    transform = passes * (parts.gather_branches + parts.large)
    if isinstance(op, DifferentiableOperator):
        return LayerPlan("transform", {"transform": transform})
    if isinstance(x, PreparedInput):
        return _cheapest({"prepared": passes * parts.by_branch, "transform": transform})
    if training and x.requires_grad:
        backward = parts.gather_branches + 2 * parts.large
        return _cheapest(
            {
                "aggregate": parts.gather_one + parts.by_branch + backward,
                "transform": parts.gather_branches + parts.large + backward,
            }
        )
    return _cheapest({"aggregate": parts.gather_one + passes * parts.by_branch, "transform": transform})


def plan_input(op: SobolevOperator | SobolevFamily, width_in: int, width_out: int, nnz: int) -> InputForm:
    """The form in which constant features (N, width_in) are the cheapest to train on.

    Args:
        op: the operator; what a family propagates changes with ε and cannot be made once.
        width_in: width of the features.
        width_out: width of the first layer.
        nnz: number of nonzero features; sparse products are made on the CPU only.
    """
    parts = _Parts(op, width_in, width_out)
    costs: dict[InputForm, float] = {"dense": parts.gather_branches + parts.large}
    if isinstance(op, SobolevOperator) and parts.prepared_bytes <= LARGEST_PREPARED_INPUT:
        costs["prepared"] = parts.by_branch
    if op.device.type == "cpu":
        costs["sparse"] = parts.gather_branches + parts.csr(nnz)
    return min(costs, key=lambda form: costs[form])


class _Parts:
    """The costs of the steps that the orders are made of.

    An edge costs its index, its value and α scalings, and the rows that it gathers: one row of width F_in for all
    branches (the native kernel; plain torch takes α), or α rows of width F_out. Dense products of one branch each run
    below the speed of a large one, the more so the narrower they are.
    """

    def __init__(self, op: Operator | SobolevFamily, width_in: int, width_out: int) -> None:
        self._size = op.powers.b.element_size()
        self._row_out = self._size * (op.alpha + 1) * width_out
        native = kernel.chosen(op.device.type) != kernel.PLAIN
        edges = len(op.powers.indices) * (FLOPS_PER_GATHERED_BYTE if native else FLOPS_PER_GATHERED_BYTE_OF_CSR)
        edge = 4 + self._size + self._size * op.alpha
        self.gather_one = edges * (edge + self._size * width_in * (1 if native else op.alpha))
        self.gather_branches = edges * (edge + self._size * op.alpha * width_out)
        self.large = 2 * op.n_nodes * width_in * width_out * (op.alpha + 1)
        self.by_branch = self.large * (1 + 32 / width_out)
        self.prepared_bytes = self._size * op.n_nodes * (op.alpha + 1) * width_in

    def csr(self, nnz: int) -> float:
        """Of the product of `nnz` sparse features with the weights of all branches."""
        return FLOPS_PER_GATHERED_BYTE_OF_CSR * nnz * (4 + self._size + self._row_out)


def _cheapest(costs: dict[Order, float]) -> LayerPlan:
    return LayerPlan(min(costs, key=lambda order: costs[order]), costs)
