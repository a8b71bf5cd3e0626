import pytest
import torch
from torch.nn import functional as F

from s2gnn.operators import kernel
from s2gnn.operators.activation import activate, combine
from tests.seed import seeded

NATIVE = kernel.available()[1:]


def branches(dtype=torch.float32, shape=(40, 3, 17)):
    generator = torch.Generator().manual_seed(seeded(0))
    return (
        torch.randn(shape, dtype=dtype, generator=generator),
        torch.randn(shape[1], shape[2], dtype=dtype, generator=generator),
    )


@pytest.mark.parametrize("name", kernel.available())
def test_without_dropout_it_is_bias_and_relu(name):
    x, bias = branches()
    with kernel.use(name):
        assert torch.equal(activate(x, bias, 0.0), F.relu(x + bias))


@pytest.mark.parametrize("name", kernel.available())
@pytest.mark.parametrize("shape", [(0, 3, 17), (0, 1, 1), (5, 3, 0)])
@pytest.mark.parametrize("drop", [0.0, 0.4])
def test_without_elements_results_are_empty_and_gradients_zero(name, shape, drop):
    x, bias = branches(shape=shape)
    leaves = [y.requires_grad_() for y in (x, bias, torch.ones(shape[1]))]
    with kernel.use(name):
        activated, combined = activate(x, bias, drop), combine(*leaves, drop)
        (activated.sum() + combined.sum()).backward()
    assert activated.shape == shape
    assert combined.shape == (shape[0], shape[2])
    assert all(torch.equal(leaf.grad, torch.zeros_like(leaf)) for leaf in leaves)


@pytest.mark.parametrize("variant", NATIVE)
@pytest.mark.parametrize("drop", [0.1, 0.5, 0.9])
def test_native_and_plain_paths_drop_the_same_elements(variant, drop):
    x, bias = branches()
    results = []
    for name in ("torch", variant):
        torch.manual_seed(5)
        leaf, leaf_bias = x.clone().requires_grad_(), bias.clone().requires_grad_()
        with kernel.use(name):
            y = activate(leaf, leaf_bias, drop)
            y.square().sum().backward()
        results.append((y.detach(), leaf.grad, leaf_bias.grad))
    for plain, native in zip(*results, strict=True):
        torch.testing.assert_close(native, plain)


@pytest.mark.parametrize("name", kernel.available())
@pytest.mark.parametrize("drop", [0.2, 0.5, 0.7])
def test_a_share_of_the_elements_is_dropped_independently_and_the_rest_scaled(name, drop):
    ones = torch.ones(500, 4, 64)
    torch.manual_seed(seeded(1))
    with kernel.use(name):
        y, other = (activate(ones, torch.zeros(4, 64), drop) for _ in range(2))
    kept = (y > 0).double()
    assert set(y.unique().tolist()) == {0.0, torch.tensor(1 / (1 - drop)).item()}
    deviation = (drop * (1 - drop)) ** 0.5
    assert abs(kept.mean() - (1 - drop)) < 4 * deviation / y.numel() ** 0.5
    for first, second in (
        (kept[..., 1:], kept[..., :-1]),
        (kept[:, 1:], kept[:, :-1]),
        (kept[1:], kept[:-1]),
        (kept, (other > 0).double()),
    ):
        correlation = ((first - (1 - drop)) * (second - (1 - drop))).mean() / deviation**2
        assert abs(correlation) < 5 / first.numel() ** 0.5


def test_reproducible_from_the_generator_for_any_number_of_threads():
    x, bias = branches()
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            torch.manual_seed(2)
            results.append(activate(x, bias, 0.4))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(result, results[0]) for result in results)
    assert not torch.equal(activate(x, bias, 0.4), results[0])


@pytest.mark.parametrize("drop", [0.0, 0.5])
def test_gradients_and_opcheck(drop):
    x, bias = branches(torch.float64, (5, 2, 3))
    x.requires_grad_()
    bias.requires_grad_()

    def seeded(x, bias):
        torch.manual_seed(0)
        return activate(x, bias, drop)

    assert torch.autograd.gradcheck(seeded, (x, bias))
    assert torch.autograd.gradgradcheck(seeded, (x, bias))
    torch.library.opcheck(
        torch.ops.s2gnn.activate.default, (x.float().detach(), bias.float().detach(), torch.tensor(3), drop)
    )
    torch.library.opcheck(torch.ops.s2gnn.activate_backward.default, (x.float().detach(), x.float().detach(), drop))


def reference(x, bias, mu, grad, drop):
    """Σ_ρ μ_ρ dropout(ReLU(x_ρ + b_ρ)) and its gradients in float64, with the elements that `activate` drops."""
    torch.manual_seed(5)
    leaves = [y.detach().double().requires_grad_() for y in (x, bias, mu)]
    kept = activate(torch.ones_like(leaves[0]), torch.zeros_like(leaves[1]), drop)
    out = torch.einsum("r,nrf->nf", leaves[2], F.relu(leaves[0] + leaves[1]) * kept)
    out.backward(grad.double())
    return out.detach(), *(leaf.grad for leaf in leaves)


@pytest.mark.parametrize("name", kernel.available())
@pytest.mark.parametrize("drop", [0.0, 0.4])
@pytest.mark.parametrize("shape", [(1, 2, 1), (40, 3, 17), (200, 5, 64), (63, 2, 7)])
def test_the_linear_combination_is_that_of_the_activated_branches(name, drop, shape):
    x, bias = branches(shape=shape)
    mu, grad = torch.linspace(-2, 1, shape[1]), torch.randn(shape[0], shape[2])
    for form in (x, x.transpose(0, 1).contiguous().transpose(0, 1), x.mT.contiguous().mT):
        leaves = [y.detach().requires_grad_() for y in (form, bias, mu)]
        torch.manual_seed(5)
        with kernel.use(name):
            out = combine(*leaves, drop)
            out.backward(grad)
        found = (out.detach(), *(leaf.grad for leaf in leaves))
        for ours, expected in zip(found, reference(form, bias, mu, grad, drop), strict=True):
            torch.testing.assert_close(ours.double(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("drop", [0.0, 0.4])
def test_the_linear_combination_has_the_same_bits_for_any_number_of_threads(drop):
    x, bias = branches(shape=(300, 3, 17))
    threads, results = torch.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            torch.manual_seed(2)
            leaves = [y.clone().requires_grad_() for y in (x, bias, torch.ones(3))]
            combine(*leaves, drop).square().sum().backward()
            results.append([leaf.grad for leaf in leaves])
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for other in results[1:] for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("trained", [(0, 1, 2), (0,), (1, 2), (2,)], ids=str)
def test_second_derivatives_of_the_linear_combination(trained):
    x, bias = branches(shape=(6, 2, 3))
    found = []
    for name in {"torch", kernel.available()[-1]}:
        inputs = [y.clone().requires_grad_(i in trained) for i, y in enumerate((x, bias, torch.tensor([0.5, -1.0])))]
        leaves = [y for y in inputs if y.requires_grad]
        torch.manual_seed(0)
        with kernel.use(name):
            gradients = torch.autograd.grad(combine(*inputs, 0.3).square().sum(), leaves, create_graph=True)
            found.append(torch.autograd.grad(sum(g.square().sum() for g in gradients), leaves))
    for native, plain in zip(*found, strict=True):
        torch.testing.assert_close(native, plain)


def test_the_linear_combination_passes_opcheck_and_takes_a_transposed_bias():
    x, bias = branches(shape=(6, 2, 3))
    mu = torch.tensor([0.5, -1.0])
    transposed = bias.T.contiguous().T.requires_grad_()
    combine(x, transposed, mu, 0.0).sum().backward()
    expected = bias.clone().requires_grad_()
    combine(x, expected, mu, 0.0).sum().backward()
    torch.testing.assert_close(transposed.grad, expected.grad)
    arguments = (x, bias, mu, torch.tensor(3), 0.3)
    torch.library.opcheck(torch.ops.s2gnn.combine.default, arguments)
    torch.library.opcheck(torch.ops.s2gnn.combine_backward.default, (x, bias, mu, torch.ones(6, 3), *arguments[3:]))
