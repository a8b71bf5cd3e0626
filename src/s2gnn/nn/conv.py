"""S2Conv: one sparse Sobolev layer."""

import math
from dataclasses import replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

from s2gnn.errors import InputError
from s2gnn.nn.arguments import check_bool, probability
from s2gnn.nn.calling import as_operator
from s2gnn.nn.epsilon import EpsilonName, LearnedEpsilon, make_epsilon
from s2gnn.nn.fusion import FusionName, LinearFusion, make_fusion
from s2gnn.nn.inputs import LayerInput, check_shape, layer_input, unpropagated
from s2gnn.nn.plan import LayerPlan, plan_layer
from s2gnn.operators import BranchOperator, GraphOperator, PreparedInput, Shift, SparseInput
from s2gnn.operators.activation import activate, combine
from s2gnn.operators.powers import HALF_PRECISION
from s2gnn.operators.shifts import check_shift
from s2gnn.operators.sobolev import check_alpha
from s2gnn.ranges import WIDTH

NormName = Literal["batch"]


class S2Conv(nn.Module):
    r"""The graph sparse Sobolev layer (the paper, Section IV-C).

    .. math::
        B_0 = \sigma(H W_0 + b_0), \qquad
        B_\rho = \sigma(S_\rho H W_\rho + b_\rho), \quad \rho = 1, \ldots, \alpha,

    where σ is ReLU followed by dropout. The branches B_ρ are fused by a learned linear combination, an MLP or
    attention, without an activation afterwards; optionally the result is normalised and the input added to it. Hadamard
    powers keep the sparsity pattern of the graph, so a layer aggregates over one hop for any α; the powers differ in
    the spectrum of the filter.

    There are two calling conventions: `conv(x, op)` with a prebuilt `SobolevOperator` (or a `SobolevFamily` if ε or the
    edge weights are learned), and `conv(x, edge_index, edge_weight)` like PyG's `GCNConv`, which builds the operator at
    each call. The latter sums repeated edges, drops self-loops, backpropagates to `edge_weight`, and normalises
    directed edges like `GCNConv`, see `EdgeOperator`.

    In half precision the propagation is computed in float32. ε and α are part of the `state_dict`; loading it into a
    layer with other values raises an error unless `strict=False`.

    Args:
        in_channels: width of the input.
        out_channels: width of the output.
        alpha: highest Hadamard power α ≥ 1.
        epsilon: weight ε ≥ 0 of the identity in the operator; "learn" trains it, see `LearnedEpsilon`; `None` uses the
            ε of the operator passed in.
        fusion: "linear", "mlp" or "attention". The default "linear" is that of the paper, its coefficients drawn from
            N(0, 1) as in the released code; do not put a ReLU after it: all coefficients may be negative.
        dropout: probability of dropping an element of a branch in training.
        shift: the required shift operator; `None` uses the shift of the operator passed in, or "adjacency" with
            `edge_index`.
        norm: "batch" applies batch normalisation to the output.
        residual: add the input to the output, multiplied by a learned matrix if the widths differ.
        initial_epsilon: initial value of a learned ε; default 1.
        bias: whether the branches have biases b_ρ.
        directed: whether `edge_index` may be directed; `False` raises an error for edges without a reverse of the same
            weight, for which the theory of the paper does not hold.

    The order of multiplication, (S_ρ H) W_ρ or S_ρ (H W_ρ), is chosen by estimated cost: `conv.plan(x, op)` returns the
    plan, and setting `conv.order` to "aggregate" or "transform" overrides it.

    Shapes:
        - input: x (N, in_channels), or `op.prepare(x)`, or a `SparseInput`
        - output: (N, out_channels)
        - `weight`: (α + 1, in_channels, out_channels), branch 0 first
        - `bias`: (α + 1, out_channels), or `None`
        - `skip`: (in_channels, out_channels), only in a residual layer with different widths
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
    ) -> None:
        super().__init__()
        check_alpha(alpha)
        if shift is not None:
            check_shift(shift)
        if norm is not None and norm not in get_args(NormName):
            raise InputError(f"norm is {norm!r}, but it must be None or one of {', '.join(get_args(NormName))}")
        self.in_channels = WIDTH.checked(in_channels, "in_channels")
        self.out_channels = WIDTH.checked(out_channels, "out_channels")
        self.alpha = int(alpha)
        self.epsilon = None if epsilon is None else make_epsilon(epsilon, initial_epsilon)
        self.dropout = probability(dropout, "dropout")
        self.shift: Shift | None = shift
        self.order: Literal["auto", "aggregate", "transform"] = "auto"
        self.weight = nn.Parameter(torch.empty(self.alpha + 1, self.in_channels, self.out_channels))
        branches = torch.empty(self.alpha + 1, self.out_channels)
        self.bias = nn.Parameter(branches) if check_bool(bias, "bias") else None
        self.directed = check_bool(directed, "directed")
        self.fusion = make_fusion(fusion, self.alpha, self.out_channels)
        self.norm = None if norm is None else nn.BatchNorm1d(self.out_channels)
        self.residual = check_bool(residual, "residual")
        widths_differ = self.residual and self.in_channels != self.out_channels
        self.skip = nn.Parameter(torch.empty(self.in_channels, self.out_channels)) if widths_differ else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialise all parameters: Glorot-uniform weights for each branch, zero biases, the initial ε."""
        for branch in self.weight:
            nn.init.xavier_uniform_(branch)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        self.fusion.reset_parameters()
        if self.skip is not None:
            nn.init.xavier_uniform_(self.skip)
        if self.norm is not None:
            self.norm.reset_parameters()
        if isinstance(self.epsilon, LearnedEpsilon):
            self.epsilon.reset_parameters()

    def forward(self, x: LayerInput, edge_index: GraphOperator | Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Compute the output (N, out_channels), given an operator, or `edge_index` and `edge_weight`."""
        x = layer_input(x, self.weight)
        op = self.operator(x, edge_index, edge_weight)
        check_shape(x.shape, op.n_nodes, self.in_channels)
        filtered = self.filtered(x, op)  # S_ρ x W_ρ, (N, alpha + 1, out)
        return self.merge(filtered, x)  # of B_ρ = σ(S_ρ x W_ρ + b_ρ), (N, out)

    def operator(
        self,
        x: LayerInput,
        edge_index: GraphOperator | Tensor | None,
        edge_weight: Tensor | None,
        epsilon: float | LearnedEpsilon | None = None,
    ) -> BranchOperator:
        """Return the operator passed in, or the operator of the edges, at `epsilon` or by default the layer's ε."""
        epsilon = self.epsilon if epsilon is None else epsilon
        return as_operator(x, edge_index, edge_weight, self.alpha, epsilon, self.shift, directed=self.directed)

    def filtered(self, x: LayerInput, op: BranchOperator) -> Tensor:
        """Compute S_ρ x W_ρ for ρ = 0..α, (N, α + 1, out), in the planned order."""
        weight: Tensor = self.weight
        half = weight.dtype if weight.dtype in HALF_PRECISION else None
        if half and isinstance(x, Tensor) and not op.stores_half_precision(x):
            x, weight = x.to(op.dtype), weight.to(op.dtype)
        if self.plan(x, op).order != "transform" and not isinstance(x, SparseInput):
            filtered = op.filtered(x, weight)
        else:
            filtered = op.propagate_branches(self.transformed(unpropagated(x), weight))
        return filtered.to(half) if half else filtered

    def transformed(self, x: Tensor | SparseInput, weight: Tensor) -> Tensor:
        """Compute x W_ρ for ρ = 0..α in one product: x (…, in) → (…, α + 1, out)."""
        side_by_side = weight.transpose(0, 1).flatten(1)  # (in, (alpha + 1) out)
        return (x @ side_by_side).view(*x.shape[:-1], self.alpha + 1, self.out_channels)

    def merge(self, filtered: Tensor, x: LayerInput) -> Tensor:
        """Fuse B_ρ = σ(S_ρ x W_ρ + b_ρ), given S_ρ x W_ρ (N, α + 1, out), to the output (N, out).

        Depending on the settings, the output is normalised and the input `x` added.
        """
        drop = self.dropout if self.training else 0.0
        bias: Tensor | None = self.bias
        if bias is None:
            bias = filtered.new_zeros(filtered.shape[1:])
        fusion = self.fusion
        if isinstance(fusion, LinearFusion) and type(fusion).forward is LinearFusion.forward and not _hooked(fusion):
            out = combine(filtered, bias, fusion.mu, drop)
        else:
            out = fusion(activate(filtered, bias, drop))
        if self.norm is not None:
            if self.training and out.shape[0] == 1:
                raise InputError("batch normalisation has no variance on a graph of one node: train on larger ones")
            out = self.norm(out)
        return out + self._skipped(x) if self.residual else out

    def _skipped(self, x: LayerInput) -> Tensor:
        """Return the input (N, out) as it is added to the output."""
        features = unpropagated(x)
        if self.skip is not None:
            return features @ self.skip
        return features.to_dense() if isinstance(features, SparseInput) else features

    def plan(self, x: LayerInput, op: BranchOperator) -> LayerPlan:
        """Return the order of multiplication for this input; the attribute `order` overrides the planner."""
        plan = plan_layer(x, op, self.in_channels, self.out_channels)
        if self.order not in ("auto", "aggregate", "transform"):
            raise InputError(f'order is {self.order!r}, but it must be "auto", "aggregate" or "transform"')
        if self.order == "auto":
            return plan
        forced = "prepared" if self.order == "aggregate" and isinstance(x, PreparedInput) else self.order
        return replace(plan, order=forced) if forced in plan.costs else plan

    def get_extra_state(self) -> Tensor:
        """Return α and ε for the `state_dict`, (2,) float64; ε is −1 if it is learned or defined by the operator."""
        return torch.tensor([self.alpha, self._fixed_epsilon], dtype=torch.float64, device="cpu")

    def set_extra_state(self, state: Tensor) -> None:
        """Keep α and ε: `_load_from_state_dict` compares them."""

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *rest)
        *_, unexpected_keys, _errors = rest
        key, settings = f"{prefix}_extra_state", self.get_extra_state()
        stored_settings = state_dict.get(key, settings)
        for name, stored, own in zip(("alpha", "epsilon"), stored_settings.tolist(), settings.tolist(), strict=True):
            if min(stored, own) >= 0 and not math.isclose(stored, own, rel_tol=2e-3):  # bfloat16 rounds that much
                unexpected_keys.append(  # which strict=False ignores
                    f"{key} of a layer with {name}={stored:g}, but this one has {name}={own:g}: build it with "
                    f"{name}={stored:g}"
                )

    @property
    def _fixed_epsilon(self) -> float:
        return -1.0 if self.epsilon is None or isinstance(self.epsilon, LearnedEpsilon) else float(self.epsilon)

    def extra_repr(self) -> str:
        """Return the arguments of the layer, for `repr`."""
        fixed = f", epsilon={self._fixed_epsilon:g}" if self._fixed_epsilon >= 0 else ""
        return (
            f"{self.in_channels}, {self.out_channels}, alpha={self.alpha}{fixed}, dropout={self.dropout:g}"
            + (f", shift={self.shift!r}" if self.shift else "")
            + (", residual=True" if self.residual else "")
            + (", bias=False" if self.bias is None else "")
            + ("" if self.directed else ", directed=False")
        )


def _hooked(module: nn.Module) -> bool:
    """Return whether hooks wait for a call of `module`, so that it cannot be computed without one."""
    own = module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks
    return any(own) or bool(_has_any_global_hook())  # type: ignore[no-untyped-call]
