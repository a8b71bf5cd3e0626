"""The Triton kernels against dense formulas: on a GPU if there is one, else in Triton's interpreter (make test-gpu)."""

import os

import numpy as np
import pytest
import torch

from s2gnn import Graph, S2Conv, SobolevOperator
from s2gnn.operators import SobolevFamily, kernel
from s2gnn.operators.activation import activate, combine

pytest.importorskip("triton")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from s2gnn.operators import gpu  # noqa: E402  importing it starts Triton

WIDTHS = (1, 3, 8, 16, 17, 64, 100)
ROUNDING = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}
MAPS = {
    "fan_out": "rij,jf->irf",
    "fan_in": "rij,jrf->if",
    "branchwise": "rij,jrf->irf",
}


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    """Rows are split after a few neighbours, so that small graphs have hubs."""
    monkeypatch.setattr(gpu, "SPLIT", 4)


def hub_graph(seed=0):
    """Ten nodes: 0 is connected with eight others, 9 with none."""
    rng = np.random.default_rng(seed)
    edges = [(0, other) for other in range(1, 9)] + [(1, 2), (3, 4)]
    return Graph.from_edge_list(edges, rng.uniform(0.1, 1.5, len(edges)), 10)


def dense(op):
    """S_0..S_α (α + 1, N, N) in float64."""
    return torch.stack([torch.from_numpy(op.matrix(rho).toarray()) for rho in range(op.alpha + 1)]).to(DEVICE)


def signal(name, op, features, dtype, seed=0):
    """A signal that the map takes, whose values all types represent exactly."""
    shape = (op.n_nodes, features) if name == "fan_out" else (op.n_nodes, op.alpha + 1, features)
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(-8, 9, shape, generator=generator) / 8).to(DEVICE, dtype)


def product(name, op, x):
    """The map called `name` by the Triton kernel."""
    n, alpha, features = op.n_nodes, op.alpha, x.shape[-1]
    out = x.new_full((n, features) if name == "fan_in" else (n, alpha + 1, features), float("nan"))
    gpu.propagate(name, *op.powers.csr(), *op.powers[2:], x, out)
    return out


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("alpha", range(1, 10))
def test_products_are_those_of_the_dense_matrices(name, alpha):
    op = SobolevOperator(hub_graph(), alpha, 0.7, device=DEVICE)
    matrices = dense(op)
    for features in WIDTHS if alpha in (1, 6, 9) else (17,):
        x = signal(name, op, features, torch.float32)
        expected = torch.einsum(MAPS[name], matrices, x.double())
        torch.testing.assert_close(product(name, op, x).double(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_signals_are_stored_in_other_types_and_summed_in_at_least_float32(name, dtype):
    factors = torch.float64 if dtype == torch.float64 else torch.float32
    op = SobolevOperator(hub_graph(), 3, 0.7, "laplacian", dtype=factors, device=DEVICE)
    x = signal(name, op, 5, dtype)
    expected = torch.einsum(MAPS[name], dense(op), x.double())
    result = product(name, op, x)
    assert result.dtype == dtype
    torch.testing.assert_close(result.double(), expected, rtol=ROUNDING[dtype], atol=ROUNDING[dtype])


@pytest.mark.parametrize("name", MAPS)
def test_diagonals_can_be_given(name):
    family = SobolevFamily(hub_graph(), 3, dtype=torch.float64, device=DEVICE).at(0.7)
    op = SobolevOperator(hub_graph(), 3, 0.7, dtype=torch.float64, device=DEVICE)
    assert family.powers.t.ndim == 2
    x = signal(name, op, 3, torch.float64)
    torch.testing.assert_close(product(name, family, x), torch.einsum(MAPS[name], dense(op), x))


def test_graphs_without_edges_or_features():
    op = SobolevOperator(Graph.from_edge_list([], [], 3), 2, 1.0, device=DEVICE)
    x = torch.randn(3, 2, device=DEVICE)
    torch.testing.assert_close(product("fan_out", op, x), x[:, None].expand(3, 3, 2))
    assert product("fan_out", op, x[:, :0]).shape == (3, 3, 0)


def test_partial_sums_do_not_depend_on_chance():
    op = SobolevOperator(hub_graph(), 2, 0.7, device=DEVICE)
    x = torch.randn(10, 3, device=DEVICE)
    assert torch.equal(product("fan_out", op, x), product("fan_out", op, x))


@pytest.mark.parametrize(("alpha", "features"), [(1, 1), (3, 17), (9, 70)])
@pytest.mark.parametrize("shift", ["adjacency", "laplacian"])
def test_gradients_of_entries_are_those_of_autograd(alpha, features, shift):
    """∂⟨G, Y⟩ / ∂b_ij of Y_ρ = S_ρ H_ρ, each stored direction on its own."""
    op = SobolevOperator(hub_graph(), alpha, 0.7, shift, dtype=torch.float64, device=DEVICE)
    indptr, indices, b, c, _, sign = op.powers
    rows = torch.arange(10, device=DEVICE).repeat_interleave(indptr.diff())
    grad, h = (signal("branchwise", op, features, torch.float64, seed) for seed in (1, 2))
    values = b.clone().requires_grad_()
    rho = torch.arange(1, alpha + 1, device=DEVICE)
    entries = (sign * values[:, None]) ** rho * c[rows] * c[indices]  # (E, alpha)
    (entries[..., None] * grad[rows][:, 1:] * h[indices][:, 1:]).sum().backward()
    out = torch.full_like(b, float("nan"))
    gpu.hadamard_gradient(indptr, indices, b, c, sign, grad, h, out)
    torch.testing.assert_close(out, values.grad)


@pytest.mark.parametrize("drop", [0.0, 0.4])
def test_activations_drop_the_elements_that_plain_torch_drops(drop):
    x, grad = torch.randn(70, 4, 20, device=DEVICE), torch.randn(70, 20, device=DEVICE)
    bias, mu = torch.randn(4, 20, device=DEVICE), torch.randn(4, device=DEVICE)
    leaves = [value.clone().requires_grad_() for value in (x, bias, mu)]
    torch.manual_seed(3)
    key = int(torch.randint(0xFFFFFFFF, (), dtype=torch.int64)) if drop else 0
    with kernel.use("torch"):
        torch.manual_seed(3)
        expected = activate(*leaves[:2], drop)
        torch.manual_seed(3)
        combined = combine(*leaves, drop)
    torch.testing.assert_close(combined, leaves[2] @ expected)  # the same key for both

    out = torch.empty_like(x)
    gpu.activate(x, bias, drop, key, out)
    torch.testing.assert_close(out, expected)
    by_branch = torch.randn(70, 4, 20, device=DEVICE)
    (gradient,) = torch.autograd.grad(expected, leaves[0], by_branch, retain_graph=True)
    gpu.activate_backward(by_branch, expected.detach(), drop, out)
    torch.testing.assert_close(out, gradient)

    sum_of_branches = torch.empty(70, 20, device=DEVICE)
    gpu.combine(x, bias, mu, drop, key, sum_of_branches)
    torch.testing.assert_close(sum_of_branches, combined)
    gradients = torch.autograd.grad(combined, leaves, grad)
    sums = gpu.combine_backward(x, bias, mu, grad, drop, key, out)
    for found, wanted in zip((out, *sums), gradients, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("fusion", ["linear", "mlp"])
@pytest.mark.parametrize("order", ["aggregate", "transform"])
def test_a_layer_trains_as_on_plain_torch(fusion, order):
    conv = S2Conv(5, 4, alpha=3, fusion=fusion, dropout=0.3).to(DEVICE)
    conv.order = order
    op = SobolevOperator(hub_graph(), 3, device=DEVICE)
    x = torch.randn(10, 5, device=DEVICE, requires_grad=True)
    inputs = [x, *conv.parameters()]
    found = {}
    for name in ("torch", "triton"):
        with kernel.use(name):
            assert kernel.chosen(DEVICE) == name
            torch.manual_seed(0)
            out = conv(x, op)
            found[name] = [out, *torch.autograd.grad(out.square().sum(), inputs)]
    for triton, plain in zip(found["triton"], found["torch"], strict=True):
        torch.testing.assert_close(triton, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("directed", [False, True])
def test_edge_weights_have_the_gradients_of_plain_torch(directed):
    """On a directed graph the transposed pattern is used."""
    data = hub_graph().to_pyg(torch.float32)
    edge_index, weight = data.edge_index.to(DEVICE), data.edge_weight.to(DEVICE)
    if directed:
        edge_index, weight = edge_index[:, ::2], weight[::2]
    weight = weight.clone().requires_grad_()
    conv, x = S2Conv(5, 4, alpha=2).to(DEVICE), torch.randn(10, 5, device=DEVICE)
    found = {}
    for name in ("torch", "triton"):
        with kernel.use(name):
            found[name] = torch.autograd.grad(conv(x, edge_index, weight).square().sum(), weight)[0]
    torch.testing.assert_close(found["triton"], found["torch"], rtol=1e-4, atol=1e-5)


def test_triton_is_the_kernel_of_gpus():
    assert kernel.chosen("cuda") == "triton"
    assert kernel.chosen("mps") == "torch"
    with kernel.use("torch"):
        assert kernel.chosen("cuda") == "torch"
