"""What a trained network makes of its branches: the weight of every order in the fusion of each layer."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import nn

from s2gnn.errors import InputError
from s2gnn.nn import GraphNetwork, S2Conv


@runtime_checkable
class TrainedNetworks(Protocol):
    """A fitted estimator."""

    @property
    def networks_(self) -> Sequence[GraphNetwork]:
        """The trained networks."""
        ...


def branch_weights(model: GraphNetwork | TrainedNetworks) -> NDArray[np.float64]:
    r"""The weight of branch ρ = 0..α in the fusion of each layer, (layers, α + 1); branch 0 sees no graph.

    A linear fusion has :math:`|\mu_\rho|`. An MLP fusion has :math:`\|W_\rho\|_F / \sqrt{C}` of the block
    :math:`W_\rho` (C, C) that reads branch ρ, which is :math:`|\mu_\rho|` for :math:`W_\rho = \mu_\rho I`. An
    attention fusion has the mean share of branch ρ at the nodes it was trained on. It is the weight on a branch, not
    what the branch contributes: that depends on the size of its output too.

    Args:
        model: a network of `S2Conv` layers, such as an `S2GNN`, or a fitted estimator, for the mean over its networks.
    """
    networks = model.networks_ if isinstance(model, TrainedNetworks) else [model]
    weights: NDArray[np.float64] = np.mean([_weights(network) for network in networks], axis=0, dtype=np.float64)
    return weights


def branch_shares(model: GraphNetwork | TrainedNetworks) -> NDArray[np.float64]:
    """`branch_weights` as shares of the sum over the branches of a layer, (layers, α + 1)."""
    return shares(branch_weights(model))


def shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """`weights` (…, α + 1) divided by their sums over the last axis; zeros where all are zero."""
    sums = weights.sum(axis=-1, keepdims=True)
    divided: NDArray[np.float64] = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return divided


def _weights(network: GraphNetwork) -> NDArray[np.float64]:
    layers = (
        [module for module in network.modules() if isinstance(module, S2Conv)] if isinstance(network, nn.Module) else []
    )
    if not layers:
        raise InputError(
            f"{type(network).__name__} has no branches to weigh: give an S2GNN or a fitted S2GNNClassifier or "
            "S2GNNRegressor"
        )
    return np.stack([layer.fusion.branch_strengths().cpu().numpy() for layer in layers])
