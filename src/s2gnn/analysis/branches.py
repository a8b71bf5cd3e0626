"""What a trained network makes of its branches: the weight of every order in the fusion of each layer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError


def branch_weights(model: Any) -> NDArray[np.float64]:
    r"""The weight of branch ρ = 0..α in the fusion of each layer, (layers, α + 1); branch 0 sees no graph.

    A linear fusion has :math:`|\mu_\rho|`. An MLP fusion has :math:`\|W_\rho\|_F / \sqrt{C}` of the block
    :math:`W_\rho` (C, C) that reads branch ρ, which is :math:`|\mu_\rho|` for :math:`W_\rho = \mu_\rho I`. An
    attention fusion has the mean share of branch ρ at the nodes it was trained on. It is the weight on a branch, not
    what the branch contributes: that depends on the size of its output too.

    Args:
        model: an `S2GNN` or an ablation of it, or a fitted estimator, for the mean over its networks.
    """
    networks = getattr(model, "networks_", [model])
    weights: NDArray[np.float64] = np.mean([_weights(network) for network in networks], axis=0, dtype=np.float64)
    return weights


def branch_shares(model: Any) -> NDArray[np.float64]:
    """`branch_weights` as shares of the sum over the branches of a layer, (layers, α + 1)."""
    return shares(branch_weights(model))


def shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """`weights` (…, α + 1) divided by their sums over the last axis; zeros where all are zero."""
    sums = weights.sum(axis=-1, keepdims=True)
    divided: NDArray[np.float64] = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return divided


def _weights(network: Any) -> NDArray[np.float64]:
    convs = getattr(network, "convs", ())
    if not convs or not all(hasattr(conv, "fusion") for conv in convs):
        raise InputError(
            f"{type(network).__name__} has no branches to weigh: give an S2GNN or a fitted S2GNNClassifier or "
            "S2GNNRegressor"
        )
    return np.stack([conv.fusion.branch_strengths().cpu().numpy() for conv in convs])
