"""The use of branches by trained networks: weight and contribution of every order in each layer."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.learning import predict_logits
from s2gnn.nn import GraphNetwork, S2Conv
from s2gnn.nn.inputs import NetworkInput
from s2gnn.operators import GraphOperator


@runtime_checkable
class TrainedNetworks(Protocol):
    """A fitted estimator."""

    @property
    def networks_(self) -> Sequence[GraphNetwork]:
        """The trained networks."""
        ...


def branch_weights(model: GraphNetwork | TrainedNetworks) -> NDArray[np.float64]:
    r"""Return the weight of branch ρ = 0..α in the fusion of each layer, (layers, α + 1); branch 0 sees no graph.

    A linear fusion has :math:`|\mu_\rho|`. An MLP fusion has :math:`\|W_\rho\|_F / \sqrt{C}` of the block
    :math:`W_\rho` (C, C) that reads branch ρ, which is :math:`|\mu_\rho|` for :math:`W_\rho = \mu_\rho I`. An
    attention fusion has the mean attention weight of branch ρ at the training nodes. The contribution of a branch also
    depends on the size of its output, see `branch_contributions`.

    Args:
        model: a network of `S2Conv` layers, such as an `S2GNN`, or a fitted estimator, for the mean over its networks.
    """
    networks = model.networks_ if isinstance(model, TrainedNetworks) else [model]
    weights: NDArray[np.float64] = np.mean([_weights(network) for network in networks], axis=0, dtype=np.float64)
    return weights


def branch_shares(model: GraphNetwork | TrainedNetworks) -> NDArray[np.float64]:
    """Return `branch_weights` as shares of the sum over the branches of a layer, (layers, α + 1)."""
    return shares(branch_weights(model))


def shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `weights` (…, α + 1) divided by their sums over the last axis; zeros where all are zero."""
    sums = weights.sum(axis=-1, keepdims=True)
    divided: NDArray[np.float64] = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return divided


def branch_contributions(network: GraphNetwork, x: NetworkInput, op: GraphOperator | None) -> NDArray[np.float64]:
    r"""Return the change of the fused output of each layer if branch ρ = 0..α is set to zero, (layers, α + 1).

    It is :math:`\|F(B_0, \ldots, B_\alpha) - F(B_0, \ldots, 0, \ldots, B_\alpha)\|_F` without dropout, i.e.
    :math:`|\mu_\rho| \|B_\rho\|_F` for a linear fusion, and :math:`\|B_\rho W_\rho\|_F` for an MLP fusion. In contrast
    to `branch_weights`, it depends on the features and the graph.

    Args:
        network: a network of `S2Conv` layers, such as an `S2GNN`.
        x: prepared features, from `network.prepare`.
        op: the operator, from `network.prepare`.
    """
    found: dict[nn.Module, NDArray[np.float64]] = {}

    def measure(fusion: nn.Module, branches: Tensor) -> None:
        whole = fusion.forward(branches)  # not called, or this hook would be again
        found[fusion] = np.array(
            [float((whole - fusion.forward(_zeroed(branches, rho))).norm()) for rho in range(branches.shape[1])]
        )

    layers = _layers(network)
    with _before_fusion(layers, measure):
        predict_logits(network, x, op)
    return np.stack([found[layer.fusion] for layer in layers])


@contextmanager
def without_branch(network: GraphNetwork, rho: int) -> Iterator[None]:
    """Set branch `rho` of every layer of `network` to zero inside the block."""
    layers = _layers(network)
    if not 0 <= rho <= (least := min(layer.alpha for layer in layers)):
        raise InputError(f"there is no branch {rho}: choose one from 0 to {least}")
    with _before_fusion(layers, lambda _, branches: _zeroed(branches, rho)):
        yield


def _zeroed(branches: Tensor, rho: int) -> Tensor:
    others = branches.clone()
    others[:, rho] = 0
    return others


@contextmanager
def _before_fusion(layers: Sequence[S2Conv], hook: Callable[[nn.Module, Tensor], Tensor | None]) -> Iterator[None]:
    """Call `hook` with every fusion and its branches (N, α + 1, out), which its result replaces unless it is `None`."""

    def call(fusion: nn.Module, arguments: tuple[Any, ...]) -> Tensor | None:
        return hook(fusion, *arguments)

    with ExitStack() as stack:
        for layer in layers:
            stack.enter_context(layer.fusion.register_forward_pre_hook(call))
        yield


def _weights(network: GraphNetwork) -> NDArray[np.float64]:
    return np.stack([layer.fusion.branch_strengths().cpu().numpy() for layer in _layers(network)])


def _layers(network: GraphNetwork) -> list[S2Conv]:
    layers = (
        [module for module in network.modules() if isinstance(module, S2Conv)] if isinstance(network, nn.Module) else []
    )
    if not layers:
        raise InputError(
            f"{type(network).__name__} has no branches to weigh: give an S2GNN or a fitted S2GNNClassifier or "
            "S2GNNRegressor"
        )
    return layers
