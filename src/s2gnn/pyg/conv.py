"""S2Conv, the layer, as a `MessagePassing` module of PyTorch Geometric."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter, is_lazy
from torch_geometric import EdgeIndex
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import is_sparse, to_edge_index

from s2gnn.errors import InputError
from s2gnn.nn.arguments import check_bool
from s2gnn.nn.calling import as_operator
from s2gnn.nn.conv import NormName
from s2gnn.nn.conv import S2Conv as PlainS2Conv
from s2gnn.nn.epsilon import EpsilonName, LearnedEpsilon
from s2gnn.nn.fusion import FusionName
from s2gnn.nn.inputs import LayerInput, layer_input
from s2gnn.operators import BranchOperator, EdgeOperator, GraphOperator, Shift, SobolevOperator

Flow = Literal["source_to_target", "target_to_source"]
Edges: TypeAlias = Tensor | EdgeIndex | list[SobolevOperator] | tuple[SobolevOperator, ...]
"""Edges as PyG has them, or the operators of the graphs of a batch."""

_REPLACED = {
    "add_self_loops": "epsilon is the weight of the self-loop: pass epsilon=0.0 for none",
    "aggr": "the products with S_ρ are sums: leave it out",
    "improved": "epsilon is the weight of the self-loop: pass epsilon=2.0",
}


class S2Conv(PlainS2Conv, MessagePassing):  # type: ignore[misc]  # PyG has no types
    r"""`s2gnn.nn.S2Conv` with the features of PyTorch Geometric's `GCNConv`.

    .. math::
        B_\rho = \sigma(S_\rho H W_\rho + b_\rho), \qquad
        S_\rho = D_\rho^{-1/2} (A + \epsilon I)^{(\rho)} D_\rho^{-1/2}, \quad \rho = 0, \ldots, \alpha,

    with :math:`A_{ij}` the weight of the edge j → i and :math:`D_\rho` sums over incoming edges, merged by a fusion. ε
    is the weight of the self-loops; those of `edge_index` are dropped.

    It is a `MessagePassing` module: `to_hetero`, explainers and message hooks work. It uses the kernels of this package
    unless an explainer masks edges or a message hook is registered; then it computes the same numbers by `propagate`
    and `message`.

    Args:
        in_channels: width of the input, or −1 to take it from the first input.
        out_channels: width of the output.
        alpha, epsilon, fusion, dropout, shift, norm, residual, initial_epsilon, bias, directed: see `s2gnn.nn.S2Conv`.
        cached: keep the operator of the first call, and use it for all others, whatever edges they pass; for one graph
            with constant edge weights and ε.
        normalize: `False` takes S_ρ = (A + εI)^(ρ) as it is.
        flow: "source_to_target", or "target_to_source" to aggregate at the first row of `edge_index`.
        **unsupported: arguments of `GCNConv` that this layer lacks; the error names what replaces them.

    Shapes:
        - input: x (N, in_channels) or (B, N, in_channels); `edge_index` (2, E), an `EdgeIndex`, the transposed
          adjacency matrix (N, N) as a sparse tensor, or a `SobolevOperator`; `edge_weight` (E,) or (E, 1)
        - output: (N, out_channels) or (B, N, out_channels)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        alpha: int = 4,
        epsilon: float | EpsilonName | None = 1.0,
        fusion: FusionName = "linear",
        dropout: float = 0.0,
        shift: Shift | None = None,
        norm: NormName | None = None,
        residual: bool = False,
        initial_epsilon: float | None = None,
        bias: bool = True,
        directed: bool = True,
        *,
        cached: bool = False,
        normalize: bool = True,
        flow: Flow = "source_to_target",
        **unsupported: Any,
    ) -> None:
        for name in _REPLACED.keys() & unsupported.keys():
            raise InputError(f"{name} is {unsupported[name]!r}, but S2Conv has no such argument: {_REPLACED[name]}")
        if flow not in ("source_to_target", "target_to_source"):
            raise InputError(f"flow is {flow!r}, but it must be source_to_target or target_to_source")
        super().__init__(
            in_channels=1 if in_channels == -1 else in_channels, out_channels=out_channels, alpha=alpha,
            epsilon=epsilon, fusion=fusion, dropout=dropout, shift=shift, norm=norm, residual=residual,
            initial_epsilon=initial_epsilon, bias=bias, directed=directed, **unsupported,
        )  # fmt: skip
        del self.aggr_module  # `aggregate` sums
        self.flow: Flow = flow
        self.cached, self.normalize = check_bool(cached, "cached"), check_bool(normalize, "normalize")
        if in_channels == -1:
            self._make_lazy()

    def reset_parameters(self) -> None:
        """Draw new parameters, see `s2gnn.nn.S2Conv`, and forget a cached operator."""
        self._cached: BranchOperator | None = None
        if self.in_channels != -1:
            super().reset_parameters()

    def forward(self, x: LayerInput, edge_index: GraphOperator | Edges, edge_weight: Tensor | None = None) -> Tensor:
        """Return the output (N, out_channels), or (B, N, out_channels) for signals (B, N, in_channels) on one graph."""
        if isinstance(x, tuple | list):
            raise InputError(
                f"x is a {type(x).__name__} of node features, but S2Conv has no bipartite message passing, as GCNConv "
                "has none: use SAGEConv or GraphConv between different node types"
            )
        self.initialize(layer_input(x, self.weight, batched=True).shape[-1])
        if isinstance(x, Tensor) and x.ndim == 3:
            return self._forward_batch(x, edge_index, edge_weight)
        return super().forward(x, cast(Tensor, edge_index), edge_weight)

    def _forward_batch(self, x: Tensor, edge_index: GraphOperator | Edges, edge_weight: Tensor | None) -> Tensor:
        """Return the output of signals (B, N, in), propagated as the columns of one signal (N, B · out)."""
        op = self.operator(x.transpose(0, 1), edge_index, edge_weight)
        if tuple(x.shape[1:]) != (op.n_nodes, self.in_channels):
            raise InputError(f"x has shape {tuple(x.shape)}, expected (B, {op.n_nodes}, {self.in_channels})")
        branches = self.transformed(x, self.weight).permute(1, 2, 0, 3)  # (N, alpha + 1, B, out)
        propagated = self._propagated(branches.flatten(2), op).view(branches.shape)
        filtered = propagated.permute(2, 0, 1, 3).flatten(0, 1)  # (B N, alpha + 1, out)
        return self.merge(filtered, x.flatten(0, 1)).view(*x.shape[:2], self.out_channels)

    def operator(
        self,
        x: LayerInput,
        edge_index: GraphOperator | Edges | None,
        edge_weight: Tensor | None,
        epsilon: float | LearnedEpsilon | None = None,
    ) -> BranchOperator:
        """Return the operator that the layer multiplies with: the given one, the cached one, or that of the edges."""
        epsilon = self.epsilon if epsilon is None else epsilon
        if isinstance(edge_index, list | tuple):
            edge_index = union_operator(edge_index)
        if edge_index is None or isinstance(edge_index, GraphOperator):
            if edge_index is not None and self.uses_messages and not isinstance(edge_index, EdgeOperator):
                raise InputError(
                    f"an explainer or a message hook needs the edges, but a {type(edge_index).__name__} was passed: "
                    "call conv(x, edge_index, edge_weight)"
                )
            return super().operator(x, edge_index, edge_weight, epsilon)
        if self._cached is not None and not self.uses_messages:
            return self._cached
        edge_index, edge_weight = edge_list(edge_index, edge_weight, self.flow)
        settings = self.alpha, epsilon, self.shift
        op = as_operator(x, edge_index, edge_weight, *settings, directed=self.directed, normalize=self.normalize)
        if self.cached and not self.uses_messages:
            if isinstance(epsilon, LearnedEpsilon) or getattr(edge_weight, "requires_grad", False):
                raise InputError("cached=True keeps the operator, but epsilon or the edge weights are learned")
            self._cached = op
        return op

    def filtered(self, x: LayerInput, op: BranchOperator) -> Tensor:
        """Return S_ρ x W_ρ for ρ = 0..α, (N, α + 1, out), by messages where hooks or explainers use them."""
        if not self.uses_messages:
            return super().filtered(x, op)
        if not isinstance(x, Tensor):
            raise InputError(f"an explainer or a message hook needs features that are a tensor, not {type(x).__name__}")
        return self._propagated(self.transformed(x, self.weight), op)

    def _propagated(self, branches: Tensor, op: BranchOperator) -> Tensor:
        """Return S_ρ h_ρ for ρ = 0..α, of branches (N, α + 1, F)."""
        signal = branches.to(op.dtype)
        if isinstance(op, EdgeOperator) and self.uses_messages:
            along, own = op.messages()
            first, others = signal[:, :1], signal[:, 1:]
            edges = op.edge_index if self.flow == "source_to_target" else op.edge_index.flip(0)
            propagate: Any = self.propagate
            received = propagate(edges, h=others.flatten(1), along=along, size=(op.n_nodes, op.n_nodes))
            propagated = torch.cat([first, received.view_as(others) + own[..., None] * others], dim=1)
        else:
            propagated = op.propagate_branches(signal)
        return propagated.to(branches.dtype)

    def message(self, h_j: Tensor, along: Tensor) -> Tensor:
        """Return S_ρ(i, j) h_ρ(j) of the α branches side by side, (E, α F), with S_ρ(i, j) as `along` (E, α)."""
        return (along[..., None] * h_j.view(*along.shape, h_j.shape[1] // self.alpha)).flatten(1)

    def aggregate(self, inputs: Tensor, index: Tensor, dim_size: int) -> Tensor:
        """Return the sums (N, α F) of the messages (E, α F) to each target `index` (E,)."""
        return inputs.new_zeros(dim_size, inputs.shape[1]).index_add(0, index, inputs)

    @property
    def uses_messages(self) -> bool:
        """Whether an explainer or a hook looks at single messages, so that the kernels cannot be used."""
        return bool(
            self.explain
            or self._message_forward_hooks
            or self._message_forward_pre_hooks
            or self._propagate_forward_hooks
            or self._propagate_forward_pre_hooks
            or self._aggregate_forward_hooks
            or self._aggregate_forward_pre_hooks
        )

    def _make_lazy(self) -> None:
        """Leave the parameters that depend on in_channels uninitialised until the first input or `state_dict`."""
        self.in_channels = -1
        self.weight = _uninitialized()
        self.skip = _uninitialized() if self.residual else None

    def initialize(self, in_channels: int) -> None:
        """Create the parameters of a layer with in_channels=-1 for inputs of this width; otherwise do nothing."""
        if self.in_channels != -1:
            return
        self.in_channels = in_channels
        _materialize(self.weight, self.alpha + 1, in_channels, self.out_channels)
        if self.residual and in_channels == self.out_channels:
            self.skip = None
        elif self.residual:
            _materialize(self.skip, in_channels, self.out_channels)
        self.reset_parameters()

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        weight = state_dict.get(f"{prefix}weight")
        if weight is not None and not is_lazy(weight):
            self.initialize(weight.shape[1])
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        # A parameter without a shape cannot be detached.
        super()._save_to_state_dict(destination, prefix, keep_vars or self.in_channels == -1)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        self._cached = None  # it has the former dtype and device
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]

    def extra_repr(self) -> str:
        """Return the arguments of the layer, for `repr`."""
        return (
            super().extra_repr()
            + (", cached=True" if self.cached else "")
            + ("" if self.normalize else ", normalize=False")
            + ("" if self.flow == "source_to_target" else f", flow={self.flow!r}")
        )

    def __repr__(self) -> str:
        return nn.Module.__repr__(self)


def _uninitialized() -> nn.Parameter:
    parameter: Any = UninitializedParameter()
    return cast(nn.Parameter, parameter)


def _materialize(parameter: Any, *shape: int) -> None:
    parameter.materialize(shape)


def edge_list(
    edges: Tensor | EdgeIndex, edge_weight: Tensor | None, flow: Flow = "source_to_target"
) -> tuple[Tensor, Tensor | None]:
    """Return `edge_index` (2, E), sources first, and weights (E,), of any form in which PyG has edges."""
    if is_sparse(edges):
        if edge_weight is not None:
            raise InputError("edge_weight goes with edge_index; a sparse matrix carries its own weights")
        if flow == "target_to_source":
            raise InputError("flow is target_to_source, which a sparse matrix does not have: pass its transpose")
        index, edge_weight = to_edge_index(edges)
        return index.flip(0), edge_weight  # row i of the matrix holds the edges to i
    if isinstance(edges, EdgeIndex):
        edges = edges.as_tensor()
    if edge_weight is not None and edge_weight.ndim == 2 and edge_weight.shape[1] == 1:
        edge_weight = edge_weight[:, 0]
    if flow == "target_to_source":
        edges = edges.flip(0)
    return edges, edge_weight


def union_operator(operators: Sequence[SobolevOperator]) -> SobolevOperator:
    """Return the operator of a disjoint union of graphs, from those that `WithOperator` attached to batch data."""
    for op in operators:
        if not isinstance(op, SobolevOperator):
            raise InputError(f"the batch has a {type(op).__name__} among its operators, expected a SobolevOperator")
    return SobolevOperator.union(operators)
