import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.nn import GCNConv

from s2gnn import Graph, IdenticalBranchesWarning, InputError, SobolevOperator
from s2gnn.operators import SobolevFamily, kernel
from s2gnn.operators.shifts import hadamard_factors
from tests import dense
from tests.random_graphs import graphs, random_graph
from tests.seed import seeded

SHIFTS = ["adjacency", "laplacian", "normalized_adjacency", "normalized_laplacian"]
epsilons = st.sampled_from([0.0, 1e-3, 0.5, 1.0, 1.5, 1e3])
quiet = pytest.mark.filterwarnings("ignore::s2gnn.IdenticalBranchesWarning")


@quiet
@pytest.mark.parametrize("shift", SHIFTS)
@settings(max_examples=150)
@given(g=graphs(max_nodes=9), alpha=st.sampled_from([1, 2, 3, 6, 16]), epsilon=epsilons)
def test_equals_the_dense_formula(shift, g, alpha, epsilon):
    A = g.to_scipy().toarray()
    h = np.random.default_rng(seeded(0)).normal(size=(g.n_nodes, 3))
    single = SobolevOperator(g, alpha, epsilon, shift)
    double = SobolevOperator(g, alpha, epsilon, shift, dtype=torch.float64)
    products = double.propagate(torch.from_numpy(h)).numpy()
    products32 = single.propagate(torch.from_numpy(h).float()).numpy()
    assert np.array_equal(double.matrix(0).toarray(), np.eye(g.n_nodes))
    for rho in {1, 2, 3, alpha - 1, alpha} & set(range(1, alpha + 1)):
        S = dense.sobolev(A, rho, epsilon, shift)
        np.testing.assert_allclose(single.matrix(rho).toarray(), S, rtol=0, atol=1e-12)
        np.testing.assert_allclose(products[rho - 1], S @ h, rtol=0, atol=1e-12)
        np.testing.assert_allclose(products32[rho - 1], S @ h, rtol=0, atol=1e-5)


@quiet
@pytest.mark.parametrize("shift", SHIFTS)
@given(g=graphs(), epsilon=epsilons)
def test_finite_symmetric_and_contracting_up_to_sixteen_powers(shift, g, epsilon):
    op = SobolevOperator(g, 16, epsilon, shift)
    assert torch.isfinite(op.propagate(torch.ones(g.n_nodes, 1))).all()
    isolated = np.diff(g.indptr) == 0
    for rho in (1, 2, 7, 16):
        S = op.matrix(rho).toarray()
        np.testing.assert_array_equal(S, S.T)
        assert np.abs(np.linalg.eigvalsh(S)).max() <= 1 + 1e-12
        expected = 1.0 if epsilon > 0 else 0.0
        np.testing.assert_allclose(S.diagonal()[isolated], expected)


def test_two_nodes_joined_by_a_tiny_weight_stay_finite_in_float32():
    op = SobolevOperator(Graph.from_edge_list([(0, 1)], [1e-20]), alpha=6, epsilon=0.0, shift="laplacian")
    assert torch.isfinite(op.propagate(torch.ones(2, 1))).all()
    with pytest.warns(IdenticalBranchesWarning):
        swap = SobolevOperator(Graph.from_edge_list([(0, 1), (2, 3)], [1e-20, 1e6]), alpha=6, epsilon=0.0)
    np.testing.assert_allclose(swap.matrix(6).toarray(), np.kron(np.eye(2), [[0, 1], [1, 0]]), atol=1e-12)


def test_the_pattern_is_that_of_the_graph_at_every_power():
    g = random_graph(40, 0.1)
    pattern = (g.to_scipy() + sp.eye_array(40)).tocsr()
    for rho in range(1, 7):
        S = SobolevOperator(g, 6, 1.5).matrix(rho)
        np.testing.assert_array_equal(S.indices, pattern.indices)
    extreme = SobolevOperator(Graph.from_edge_list([(0, 1), (1, 2)], [1e-20, 1e6]), 16)
    assert {extreme.matrix(rho).nnz for rho in range(1, 17)} == {7}


def test_first_power_at_epsilon_one_is_the_operator_of_gcn():
    g = random_graph(30)
    conv = GCNConv(5, 5, bias=False).double()
    torch.nn.init.eye_(conv.lin.weight)
    x = torch.randn(30, 5, dtype=torch.float64)
    data = g.to_pyg(torch.float64)
    ours = SobolevOperator(g, 1, 1.0, dtype=torch.float64).propagate(x)[0]
    torch.testing.assert_close(ours, conv(x, data.edge_index, data.edge_weight), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shift", SHIFTS)
def test_backward_is_the_adjoint_of_forward(shift):
    """⟨S x, y⟩ = ⟨x, Sᵀ y⟩ to rounding, which a gradcheck does not resolve."""
    op = SobolevOperator(random_graph(40), 5, 0.7, shift, dtype=torch.float64)
    for propagate, shape in ((op.stacked, (40, 3)), (op.propagate_branches, (40, 6, 3))):
        x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        y = torch.randn(40, 6, 3, dtype=torch.float64)
        forward = (propagate(x) * y).sum()
        forward.backward()
        assert abs((x * x.grad).sum() - forward).item() < 1e-12


def test_products_are_differentiable_twice():
    op = SobolevOperator(random_graph(7), 3, 0.7, "laplacian", dtype=torch.float64)
    h = torch.randn(7, 2, dtype=torch.float64, requires_grad=True)
    branches = torch.randn(7, 4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(op.propagate, h)
    assert torch.autograd.gradgradcheck(op.propagate, h)
    assert torch.autograd.gradcheck(op.propagate_branches, branches)
    assert torch.autograd.gradgradcheck(op.propagate_branches, branches)


def test_prepared_input_holds_the_propagation():
    op = SobolevOperator(random_graph(9), 3)
    x = torch.randn(9, 4, requires_grad=True)
    prepared = op.prepare(x)
    torch.testing.assert_close(prepared.propagated, op.propagate(x))
    assert not prepared.propagated.requires_grad
    assert prepared.shape == (9, 4)


def test_the_operator_stores_one_pattern_whatever_alpha():
    powers = SobolevOperator(random_graph(50), 12).powers
    stored = [powers.indptr, powers.indices, powers.b, powers.c, powers.t]
    n, nnz = 50, len(powers.indices)
    assert powers.indices.dtype == powers.indptr.dtype == torch.int32
    assert sum(t.numel() for t in stored) == (n + 1) + 2 * nnz + 12 * n + n


PATH = Graph.from_edge_list([(0, 1), (1, 2)])
CYCLE = Graph.from_edge_list([(0, 1), (1, 2), (2, 3), (3, 0)])
TWO_PARTS = Graph.from_edge_list([(0, 1), (2, 3)], [0.5, 2.0])


@pytest.mark.parametrize(
    ("graph", "epsilon", "shift"),
    [
        (PATH, 1.0, "adjacency"),
        (PATH, 0.0, "adjacency"),
        (TWO_PARTS, 0.0, "adjacency"),
        (CYCLE, 0.0, "normalized_adjacency"),
        (CYCLE, 0.5, "normalized_adjacency"),
    ],
)
def test_warns_when_all_branches_coincide(graph, epsilon, shift):
    text = "all the same operator: .*s2gnn.graphs.weights.*laplacian"
    with pytest.warns(IdenticalBranchesWarning, match=text) as caught:
        op = SobolevOperator(graph, 3, epsilon, shift)
    assert [warning.filename for warning in caught] == [__file__]
    np.testing.assert_allclose(op.matrix(3).toarray(), op.matrix(1).toarray())
    SobolevOperator(graph, 1, epsilon, shift)
    SobolevOperator(graph, 3, 1.5, shift)
    SobolevOperator(graph, 3, epsilon, "laplacian")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": 2.5}, "alpha is 2.5"),
        ({"alpha": True}, "alpha is True"),
        ({"epsilon": "1"}, "epsilon is '1'"),
        ({"epsilon": -0.1}, "epsilon is -0.1"),
        ({"epsilon": float("nan")}, "epsilon is nan"),
        ({"shift": "random_walk"}, "shift is 'random_walk', but it must be one of adjacency"),
        ({"dtype": torch.float16}, "dtype is torch.float16"),
    ],
)
def test_unusable_parameters(options, message):
    with pytest.raises(InputError, match=message):
        SobolevOperator(random_graph(4), **options)


def test_unusable_signals():
    op = SobolevOperator(random_graph(4), 2)
    with pytest.raises(InputError, match=r"shape \(3, 2\), but the operator expects \(4, F\)"):
        op.propagate(torch.ones(3, 2))
    with pytest.raises(InputError, match=r"expects \(4, 3, F\)"):
        op.propagate_branches(torch.ones(4, 2, 2))
    with pytest.raises(InputError, match=r"is torch.float64, .* dtype=torch.float64"):
        op.propagate(torch.ones(4, 2, dtype=torch.float64))
    with pytest.raises(InputError, match="rho is 3, but this operator has the powers 0..2"):
        op.matrix(3)
    with pytest.raises(InputError, match="rho is 1.0"):
        op.matrix(1.0)
    with pytest.raises(InputError, match="graph is a csr_array"):
        SobolevOperator(op.graph.to_scipy())
    assert repr(op).startswith("SobolevOperator(Graph(n_nodes=4")


@quiet
@pytest.mark.parametrize("shift", SHIFTS)
@given(g=graphs(max_nodes=9), epsilon=st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
def test_native_factors_are_those_of_numpy(shift, g, epsilon):
    native = hadamard_factors(g, 4, epsilon, shift)
    with kernel.use(kernel.PLAIN):
        plain = hadamard_factors(g, 4, epsilon, shift)
    for name in ("b", "c", "t"):
        np.testing.assert_allclose(getattr(native, name), getattr(plain, name), rtol=1e-13)
    assert (native.sign, native.identical) == (plain.sign, plain.identical)


def test_operators_and_families_move_to_another_device():
    """The device "meta" has shapes only; there and back nothing changes."""
    op, family = SobolevOperator(random_graph(6), 3), SobolevFamily(random_graph(6), 3)
    for here in (op, family):
        assert (here.device.type, here.to("meta").device.type) == ("cpu", "meta")
    assert op.to("meta").propagate(torch.empty(6, 4, device="meta")).shape == (3, 6, 4)
    with pytest.raises(InputError, match="the signal is on cpu, but the operator is on meta"):
        op.to("meta").propagate(torch.zeros(6, 4))
    x = torch.randn(6, 4)
    assert torch.equal(op.to("cpu").propagate(x), op.propagate(x))
    assert torch.equal(family.to("cpu").at(1.0).propagate(x), family.at(1.0).propagate(x))
