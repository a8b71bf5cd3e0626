"""Forward-mode derivatives and the transforms of `torch.func`, against dense formulas and reverse mode."""

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

from s2gnn import S2GNN, InputError, S2Conv, SobolevOperator
from s2gnn.operators import EdgeOperator, SobolevFamily, kernel, propagation
from tests.random_graphs import random_graph
from tests.seed import seeded

N, IN, OUT, ALPHA = 9, 4, 3, 3
KERNELS = [kernel.PLAIN, kernel.available()[-1]]


def tensor(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seeded(seed)))


def directed_edges():
    data = random_graph(N).to_pyg(torch.float64)
    kept = torch.rand(data.num_edges, generator=torch.Generator().manual_seed(seeded(0))) < 0.7
    return data.edge_index[:, kept], data.edge_weight[kept].double()


def operator(kind):
    if kind == "directed":
        return EdgeOperator(*directed_edges(), N, ALPHA, 0.7, dtype=torch.float64)
    return SobolevOperator(random_graph(N), ALPHA, 0.7, "laplacian", dtype=torch.float64)


def dense(op):
    """S_0, …, S_α (α + 1, N, N)."""
    eye = torch.eye(N, dtype=torch.float64)
    return torch.stack([eye, *op.propagate(eye)])


@pytest.fixture(params=KERNELS)
def chosen(request):
    with kernel.use(request.param):
        yield request.param


@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_every_map_has_the_derivatives_of_the_dense_product(chosen, kind):
    op = operator(kind)
    matrices = dense(op)
    for map_, formula, shape in [
        (propagation.fan_out, "rij,jf->irf", (N, IN)),
        (propagation.fan_in, "rij,jrf->if", (N, ALPHA + 1, IN)),
        (propagation.branchwise, "rij,jrf->irf", (N, ALPHA + 1, IN)),
    ]:
        h, tangent, many = tensor(*shape), tensor(*shape, seed=1), tensor(5, *shape, seed=2)

        def exactly(z, formula=formula):
            return torch.einsum(formula, matrices, z)

        def ours(z, map_=map_):
            return map_(op.powers, z)

        torch.testing.assert_close(ours(h), exactly(h))
        for found, expected in zip(jvp(ours, (h,), (tangent,)), (exactly(h), exactly(tangent)), strict=True):
            torch.testing.assert_close(found, expected)
        torch.testing.assert_close(jacrev(ours)(h), jacrev(exactly)(h))
        torch.testing.assert_close(jacfwd(ours)(h), jacfwd(exactly)(h))
        torch.testing.assert_close(vmap(ours)(many), exactly_each(exactly, many))
        torch.testing.assert_close(vmap(ours, in_dims=1)(many.movedim(0, 1)), exactly_each(exactly, many))
        with forward_ad.dual_level():
            dual = ours(forward_ad.make_dual(h, tangent))
            torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, exactly(tangent))
        assert torch.autograd.gradcheck(ours, h.requires_grad_(), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(ours, h)


def test_one_operator_serves_a_batch():
    powers, h = operator("undirected").powers, tensor(N, IN)

    def scaled(factor):
        return propagation.fan_out(powers._replace(b=factor * powers.b), h)

    with pytest.raises(InputError, match="vmap maps over the factors of an operator: pass one operator"):
        vmap(scaled)(torch.ones(2, dtype=torch.float64))


def exactly_each(function, many):
    return torch.stack([function(one) for one in many])


@pytest.mark.parametrize("order", ["aggregate", "transform"])
@pytest.mark.parametrize("fusion", ["linear", "mlp", "attention"])
@pytest.mark.parametrize("kind", ["undirected", "directed"])
def test_a_layer_has_all_derivatives(chosen, kind, fusion, order):
    op, conv = operator(kind), S2Conv(IN, OUT, ALPHA, 0.7, fusion, residual=True).double().eval()
    conv.order = order
    x, tangent = tensor(N, IN), tensor(N, IN, seed=1)
    parameters = {name: p.detach() for name, p in conv.named_parameters()}

    def of_input(z):
        return conv(z, op)

    def loss(given, z=x):
        return functional_call(conv, given, (z, op)).square().sum()

    jacobian = torch.autograd.functional.jacobian(of_input, x)  # by backward passes
    along = torch.einsum("ijkl,kl->ij", jacobian, tangent)
    torch.testing.assert_close(jvp(of_input, (x,), (tangent,))[1], along)
    with forward_ad.dual_level():  # forward mode without torch.func
        dual = of_input(forward_ad.make_dual(x, tangent))
        torch.testing.assert_close(forward_ad.unpack_dual(dual).tangent, along)
    torch.testing.assert_close(jacrev(of_input)(x), jacobian)
    torch.testing.assert_close(jacfwd(of_input)(x), jacobian)
    out, pull = vjp(of_input, x)
    torch.testing.assert_close(pull(out)[0], torch.einsum("ijkl,ij->kl", jacobian, out))
    conv(x, op).square().sum().backward()
    for name, gradient in grad(loss)(parameters).items():
        torch.testing.assert_close(gradient, conv.get_parameter(name).grad)
    second = torch.autograd.functional.hessian(lambda z: loss(parameters, z), x)
    torch.testing.assert_close(hessian(lambda z: loss(parameters, z))(x), second)


def test_dropout_under_a_transform_drops_the_same_elements():
    op, conv = operator("undirected"), S2Conv(IN, OUT, ALPHA, 0.7, dropout=0.5).double()
    x = tensor(N, IN)
    torch.manual_seed(0)
    expected = conv(x, op)
    torch.manual_seed(0)
    torch.testing.assert_close(vjp(lambda z: conv(z, op), x)[0], expected)


@pytest.mark.parametrize("directed", [False, True])
def test_epsilon_and_edge_weights_have_derivatives_in_forward_and_in_reverse_mode(chosen, directed):
    conv = S2Conv(IN, OUT, ALPHA, "learn", "mlp", initial_epsilon=0.6).double()
    data = random_graph(N).to_pyg(torch.float64)
    index, weight = directed_edges() if directed else (data.edge_index, data.edge_weight)
    x, log = tensor(N, IN), torch.tensor(0.2, dtype=torch.float64)

    def run(log, weight):
        return functional_call(conv, {"epsilon.log": log}, (x, index, weight))

    torch.testing.assert_close(vjp(run, log, weight)[0], run(log, weight))
    step = 1e-6
    by_log, by_weight = jacrev(run, argnums=(0, 1))(log, weight)
    torch.testing.assert_close(jacfwd(run, argnums=(0, 1))(log, weight), (by_log, by_weight))
    torch.testing.assert_close(
        by_log, (run(log + step, weight) - run(log - step, weight)) / (2 * step), rtol=1e-6, atol=1e-8
    )
    for edge in (0, 5):
        moved = torch.zeros_like(weight)
        moved[edge] = step
        difference = (run(log, weight + moved) - run(log, weight - moved)) / (2 * step)
        torch.testing.assert_close(by_weight[..., edge], difference, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(by_weight, torch.autograd.functional.jacobian(lambda w: run(log, w), weight))


def test_a_family_has_derivatives_by_epsilon_in_both_modes(chosen):
    family, conv = SobolevFamily(random_graph(N), ALPHA, dtype=torch.float64), S2Conv(IN, OUT, ALPHA, "learn").double()
    x, log = tensor(N, IN), torch.tensor(0.2, dtype=torch.float64)

    def run(log):
        return functional_call(conv, {"epsilon.log": log}, (x, family))

    torch.testing.assert_close(jacfwd(run)(log), torch.autograd.functional.jacobian(run, log))
    torch.testing.assert_close(jacrev(run)(log), torch.autograd.functional.jacobian(run, log))


def test_gradients_of_single_samples():
    """The recipe of torch.func for gradients per sample: vmap over grad."""
    op = SobolevOperator(random_graph(N), ALPHA, 0.7, dtype=torch.float64)
    model = S2GNN(IN, 8, OUT, alpha=ALPHA, epsilon=0.7).double().eval()
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    many = tensor(3, N, IN)

    def loss(given, z):
        return functional_call(model, given, (z, op)).square().sum()

    found = vmap(grad(loss), in_dims=(None, 0))(parameters, many)
    for position, x in enumerate(many):
        for name, gradient in grad(loss)(parameters, x).items():
            torch.testing.assert_close(found[name][position], gradient)
