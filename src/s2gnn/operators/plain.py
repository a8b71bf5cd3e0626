"""The products with all S_ρ in plain PyTorch."""

from collections.abc import Iterator

import torch
from torch import Tensor

from s2gnn.operators.csr import csr_tensor
from s2gnn.operators.powers import HadamardPowers


def products(powers: HadamardPowers, inputs: Tensor) -> Iterator[Tensor]:
    """Yield S_ρ H_ρ (N, F) for ρ = 0..α, of inputs H (N, α + 1, F), by sparse products without derivatives.

    b^ρ is computed branch by branch: one array of E floats, not α.
    """
    own, *others = inputs.unbind(1)
    yield own
    n, csr, b = len(powers.c), powers.checked_csr(), powers.b.contiguous()
    power = torch.ones_like(b)
    for rho, h in enumerate(others, start=1):
        power = power * b
        scale = powers.c[:, rho - 1, None]  # (N, 1)
        with torch.autocast(h.device.type, enabled=False):  # torch has no sparse product in bfloat16
            hadamard = csr_tensor(*csr, power, (n, n))
            neighbours = scale * (hadamard @ (scale * h))  # (N, F)
        yield powers.sign**rho * neighbours + _diagonal(powers, rho) * h


def branchwise_by_edges(powers: HadamardPowers, inputs: Tensor) -> Tensor:
    """Return S_ρ H_ρ (N, α + 1, F), by gathers and sums over edges, which torch can differentiate in every mode."""
    rows, columns = powers.rows(), powers.csr()[1].long()
    own, *others = inputs.unbind(1)
    outputs = [own]
    for rho, h in enumerate(others, start=1):
        scale = powers.c[:, rho - 1]  # (N,)
        entries = powers.sign**rho * powers.b**rho * scale.index_select(0, rows) * scale.index_select(0, columns)
        neighbours = torch.zeros_like(h).index_add(0, rows, entries[:, None] * h.index_select(0, columns))
        outputs.append(neighbours + _diagonal(powers, rho) * h)
    return torch.stack(outputs, dim=1)


def _diagonal(powers: HadamardPowers, rho: int) -> Tensor:
    """Return S_ρ(i, i), (N, 1)."""
    if powers.t.ndim == 2:
        return powers.t[:, rho - 1, None]
    return powers.t[:, None] ** rho * powers.c[:, rho - 1, None] ** 2
