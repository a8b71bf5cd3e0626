import pytest
import torch

from s2gnn import S2GNN, S2Conv, SobolevOperator
from s2gnn.nn import plan_layer
from s2gnn.operators import kernel
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
        h = x.clone().requires_grad_()
        conv.zero_grad()
        y = conv(h, op)
        y.square().sum().backward()
        results.append([y.detach(), h.grad, conv.weight.grad.clone(), conv.bias.grad.clone()])
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            torch.testing.assert_close(theirs, ours, rtol=1e-10, atol=1e-12)


def test_the_planner_counts_forward_and_backward():
    op = SobolevOperator(random_graph(40), 6, 1.0)
    edges = len(op.powers.indices)
    constant, hidden = torch.ones(40, 64), torch.ones(40, 64, requires_grad=True)
    fixed = edges * (4 + 4 + 4 * 6)
    with kernel.use(kernel.available()[-1]):
        first, inner = plan_layer(constant, op, 64, 64), plan_layer(hidden, op, 64, 64)
        last = plan_layer(hidden, op, 64, 3)
        with torch.no_grad():
            evaluation = plan_layer(hidden, op, 64, 16)
    assert (first.order, first.aggregate_bytes) == ("aggregate", fixed + edges * 4 * 64)
    assert (inner.order, inner.aggregate_bytes) == ("aggregate", 2 * fixed + edges * 4 * 64 * 7)
    assert (last.order, last.transform_bytes) == ("transform", 2 * (fixed + edges * 4 * 6 * 3))
    assert (evaluation.order, evaluation.transform_bytes) == ("aggregate", fixed + edges * 4 * 6 * 16)
    assert plan_layer(op.prepare(constant), op, 64, 64).order == "prepared"


def test_plain_torch_gathers_for_every_branch():
    op = SobolevOperator(random_graph(40), 6, 1.0)
    with kernel.use("torch"):
        assert plan_layer(torch.ones(40, 64), op, 64, 16).order == "transform"
        assert plan_layer(torch.ones(40, 16), op, 16, 64).order == "aggregate"


def test_the_plan_of_a_network_can_be_read_and_forced():
    op = SobolevOperator(random_graph(40), 4, 1.0)
    model = S2GNN(8, 32, 3, num_layers=3)
    x = torch.ones(40, 8)
    assert [plan.order for plan in model.plan(op.prepare(x), op)] == ["prepared", "aggregate", "transform"]
    for conv in model.convs:
        conv.order = "transform"
    assert [plan.order for plan in model.plan(x, op)] == ["transform"] * 3
