import numpy as np
import pytest
import scipy.sparse as sp
import torch

from s2gnn import S2GNN, InputError, S2Conv, SobolevOperator
from s2gnn.nn import plan_layer
from s2gnn.nn.plan import plan_input
from s2gnn.operators import PreparedInput, SparseInput, kernel
from s2gnn.operators.matrix import ConstantMatrix, MatrixOperator
from tests.random_graphs import random_graph


@pytest.mark.parametrize("fusion", ["linear", "mlp"])
@pytest.mark.parametrize("widths", [(3, 9), (9, 3), (5, 5)])
def test_every_order_gives_the_same_numbers_and_gradients(fusion, widths):
    op = SobolevOperator(random_graph(25), 3, 1.2, dtype=torch.float64)
    conv = S2Conv(*widths, 3, 1.2, fusion).double()
    x = torch.randn(25, widths[0], dtype=torch.float64)
    results = []
    for order in ("auto", "aggregate", "transform"):
        conv.order = order
        for form in (x.clone().requires_grad_(), x, op.prepare(x), SparseInput(sp.csr_array(x.numpy()), x.dtype)):
            conv.zero_grad()
            y = conv(form, op)
            y.square().sum().backward()
            results.append([y.detach(), conv.weight.grad.clone(), conv.bias.grad.clone()])
            if isinstance(form, torch.Tensor) and form.requires_grad:
                results[-1].append(form.grad)
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=False):
            torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-12)


def test_the_aggregating_order_is_differentiable_twice():
    op = SobolevOperator(random_graph(7), 2, 1.2, "laplacian", dtype=torch.float64)
    conv = S2Conv(3, 2, 2, 1.2, shift="laplacian").double()
    conv.order = "aggregate"
    x = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)

    def products(x, weight):
        conv.weight = weight
        return conv.filtered(x, op)

    weight = conv.weight.detach().requires_grad_()
    del conv.weight
    assert torch.autograd.gradcheck(products, (x, weight))
    assert torch.autograd.gradgradcheck(products, (x, weight))


def dense_flops(n, width_in, width_out, alpha):
    return 2 * n * width_in * width_out * (alpha + 1)


def test_the_planner_counts_forward_and_backward():
    n, alpha = 4_000, 6
    op = SobolevOperator(random_graph(n, 0.01), alpha, 1.0)
    edges = len(op.powers.indices)
    constant, hidden = torch.ones(n, 64), torch.ones(n, 64, requires_grad=True)
    fixed = 4 + 4 + 4 * alpha
    with kernel.use(kernel.available()[-1]):
        first, inner = plan_layer(constant, op, 64, 64), plan_layer(hidden, op, 64, 64)
        last = plan_layer(hidden, op, 64, 3)
        with torch.no_grad():
            evaluation = plan_layer(hidden, op, 64, 64)
    large = dense_flops(n, 64, 64, alpha)
    gather_one, gather_all = 2 * edges * (fixed + 4 * 64), 2 * edges * (fixed + 4 * alpha * 64)
    assert first.order == inner.order == evaluation.order == "aggregate"
    assert first.costs == {"aggregate": gather_one + 2 * 1.5 * large, "transform": 2 * (gather_all + large)}
    assert inner.costs["aggregate"] == 3 * (gather_one + 1.5 * large)
    assert evaluation.costs == {"aggregate": gather_one + 1.5 * large, "transform": gather_all + large}
    assert last.order == "transform"
    assert last.costs["transform"] == 2 * 2 * edges * (fixed + 4 * alpha * 3) + 3 * dense_flops(n, 64, 3, alpha)


def test_constant_features_take_the_cheapest_form():
    few_edges, many_edges = (SobolevOperator(random_graph(500, density), 6) for density in (0.01, 0.3))
    assert plan_input(many_edges, 38, 64, nnz=500 * 38) == "prepared"
    assert plan_input(few_edges, 561, 64, nnz=500 * 561) == "dense"
    assert plan_input(few_edges, 2_000, 64, nnz=500 * 30) == "sparse"
    assert plan_input(many_edges, 50, 64, nnz=500 * 40) == "prepared"


def test_prepare_gives_what_the_network_is_called_with():
    graph, x = random_graph(300, 0.3), np.random.default_rng(0).random((300, 20))
    model = S2GNN(20, 16, 3, alpha=3, epsilon=1.3)
    prepared, op = model.prepare(x, graph)
    assert isinstance(prepared, PreparedInput)
    assert (op.alpha, op.epsilon) == (3, 1.3)
    torch.testing.assert_close(model.eval()(prepared, op), model(torch.tensor(x).float(), op))
    words = sp.random_array((300, 4_000), density=0.005, format="csr", rng=np.random.default_rng(0))
    model = S2GNN(4_000, 16, 3, alpha=3, epsilon=1.3)
    sparse, op = model.prepare(words, random_graph(300, 0.01))
    assert isinstance(sparse, SparseInput)
    torch.testing.assert_close(model.eval()(sparse, op), model(torch.tensor(words.toarray()).float(), op))


def test_prepare_checks_the_features():
    model, graph = S2GNN(3, 4, 2), random_graph(10)
    for x, message in [
        (np.ones((10, 2)), r"x has shape \(10, 2\), expected \(10, 3\)"),
        (np.full((10, 3), np.nan), "is nan, but features are finite numbers"),
        (np.array([["a"] * 3] * 10), "cannot be used as a table of features"),
    ]:
        with pytest.raises(InputError, match=message):
            model.prepare(x, graph)


def test_an_invalid_order():
    conv, op = S2Conv(3, 2), SobolevOperator(random_graph(10))
    conv.order = "transfrom"
    with pytest.raises(InputError, match="order is 'transfrom', but it must be"):
        conv(torch.ones(10, 3), op)


def test_only_the_native_kernel_aggregates_an_input_again():
    op = SobolevOperator(random_graph(40), 3, 1.0)
    matrix = ConstantMatrix.from_scipy(op.matrix(1), torch.ones(1))
    hidden, dense = torch.ones(40, 64, requires_grad=True), dense_flops(40, 64, 64, 3)
    for operator, name, times in [
        (op, kernel.available()[-1], 3),
        (op, "torch", 2),
        (MatrixOperator([matrix] * 3), kernel.available()[-1], 2),
    ]:
        with kernel.use(name):
            aggregated = operator.gather_cost(64, branches=False)
            plan = plan_layer(hidden, operator, 64, 64)
        assert plan.costs["aggregate"] == pytest.approx(times * aggregated + 3 * 1.5 * dense)


def test_plain_torch_gathers_for_every_branch():
    op = SobolevOperator(random_graph(40), 6, 1.0)
    with kernel.use("torch"):
        assert plan_layer(torch.ones(40, 64), op, 64, 16).order == "transform"
        assert plan_layer(torch.ones(40, 16), op, 16, 64).order == "aggregate"


def test_the_plan_of_a_network_can_be_read_and_forced():
    op = SobolevOperator(random_graph(400), 4, 1.0)
    model = S2GNN(8, 32, 3, num_layers=3)
    x = torch.ones(400, 8)
    assert [plan.order for plan in model.plan(op.prepare(x), op)] == ["prepared", "aggregate", "transform"]
    for conv in model.convs:
        conv.order = "transform"
    assert [plan.order for plan in model.plan(x, op)] == ["transform"] * 3
