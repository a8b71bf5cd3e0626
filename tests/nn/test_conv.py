import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.nn import GCNConv, Sequential

from s2gnn import S2GNN, Graph, IdenticalBranchesWarning, InputError, S2Conv, SobolevOperator
from s2gnn.operators import SobolevFamily, SparseInput
from tests import dense
from tests.random_graphs import random_graph

N, IN, OUT, ALPHA, EPSILON = 12, 5, 4, 3, 0.8


def double_conv(fusion, in_channels=IN, out_channels=OUT, epsilon=EPSILON, **options):
    torch.manual_seed(0)
    conv = S2Conv(in_channels, out_channels, ALPHA, epsilon, fusion, **options).double()
    torch.nn.init.normal_(conv.bias)
    return conv


@pytest.fixture
def graph():
    return random_graph(N)


@pytest.fixture
def op(graph):
    return SobolevOperator(graph, ALPHA, EPSILON, dtype=torch.float64)


@pytest.fixture
def x():
    return torch.randn(N, IN, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("out_channels", [2, 9], ids=["transform first", "aggregate first"])
@pytest.mark.parametrize("fusion", ["linear", "mlp", "attention"])
def test_equals_the_paper_transcribed(graph, op, x, fusion, out_channels):
    conv = double_conv(fusion, out_channels=out_channels)
    parameters = {name: p.detach().numpy() for name, p in conv.named_parameters()}
    if fusion == "linear":

        def fuse(branches):
            return sum(mu * B for mu, B in zip(parameters["fusion.mu"], branches, strict=True))
    elif fusion == "attention":

        def fuse(branches):
            merged = np.zeros_like(branches[0])
            for node in range(N):
                scores = [q @ B[node] for q, B in zip(parameters["fusion.query"], branches, strict=True)]
                exponentials = np.exp(scores + parameters["fusion.offset"])
                for share, B in zip(exponentials / exponentials.sum(), branches, strict=True):
                    merged[node] += share * B[node]
            return merged @ parameters["fusion.weight"] + parameters["fusion.bias"]
    else:

        def fuse(branches):
            return np.hstack(branches) @ parameters["fusion.weight"] + parameters["fusion.bias"]

    expected = dense.layer(
        x.numpy(), graph.to_scipy().toarray(), parameters["weight"], parameters["bias"], EPSILON, fuse
    )
    for inputs in (x, op.prepare(x)):
        np.testing.assert_allclose(conv(inputs, op).detach().numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("fusion", ["linear", "mlp"])
def test_both_calling_conventions_agree(graph, op, x, fusion):
    conv = double_conv(fusion)
    data = graph.to_pyg(torch.float64)
    torch.testing.assert_close(conv(x, data.edge_index, data.edge_weight), conv(x, op))
    loops = torch.arange(N).expand(2, N)
    with_loops = conv(x, torch.cat([data.edge_index, loops], 1), torch.cat([data.edge_weight, torch.ones(N)]))
    torch.testing.assert_close(with_loops, conv(x, op))
    repeated = torch.cat([data.edge_index, data.edge_index, loops, loops], 1)
    halves = torch.cat([data.edge_weight / 2, data.edge_weight / 2, torch.ones(2 * N)])
    torch.testing.assert_close(conv(x, repeated, halves), conv(x, op))
    torch.testing.assert_close(conv(x, data.edge_index, data.edge_weight.numpy()), conv(x, op))


@pytest.mark.parametrize("shift", ["laplacian", "normalized_adjacency", "normalized_laplacian"])
def test_the_pyg_way_takes_the_other_shifts(graph, x, shift):
    conv = double_conv("mlp", shift=shift)
    data = graph.to_pyg(torch.float64)
    op = SobolevOperator(graph, ALPHA, EPSILON, shift, dtype=torch.float64)
    torch.testing.assert_close(conv(x, data.edge_index, data.edge_weight), conv(x, op))


def test_replaces_gcnconv_inside_a_pyg_sequential(graph):
    data = graph.to_pyg()
    for conv in (GCNConv(IN, OUT), S2Conv(IN, OUT)):
        model = Sequential("x, edge_index, edge_weight", [(conv, "x, edge_index, edge_weight -> x")])
        assert model(torch.ones(N, IN), data.edge_index, data.edge_weight).shape == (N, OUT)


@pytest.mark.parametrize("out_channels", [2, 9])
@pytest.mark.parametrize("fusion", ["linear", "mlp", "attention"])
def test_gradcheck(op, x, fusion, out_channels):
    conv = double_conv(fusion, out_channels=out_channels)
    names, parameters = zip(*conv.named_parameters(), strict=True)

    def run(h, *values):
        return torch.func.functional_call(conv, dict(zip(names, values, strict=True)), (h, op))

    assert torch.autograd.gradcheck(run, (x.requires_grad_(), *parameters))


@pytest.mark.parametrize("fusion", ["linear", "mlp"])
def test_permutation_equivariance(graph, op, x, fusion):
    conv = double_conv(fusion)
    order = np.random.default_rng(0).permutation(N)
    permuted = Graph.from_scipy(graph.to_scipy()[order][:, order])
    permuted_op = SobolevOperator(permuted, ALPHA, EPSILON, dtype=torch.float64)
    torch.testing.assert_close(conv(x[order], permuted_op), conv(x, op)[order])


def test_isolated_nodes_and_single_node():
    g = Graph.from_edge_list([(0, 1)], [0.5], n_nodes=3)
    conv = double_conv("mlp")
    alone = SobolevOperator(Graph.from_edge_list(np.empty((0, 2)), n_nodes=1), ALPHA, EPSILON, dtype=torch.float64)
    x = torch.randn(3, IN, dtype=torch.float64)
    op = SobolevOperator(g, ALPHA, EPSILON, dtype=torch.float64)
    torch.testing.assert_close(conv(x, op)[2:], conv(x[2:], alone))


def test_dropout_acts_on_branches_in_training_only(op, x):
    conv = double_conv("linear", dropout=0.5)
    conv.eval()
    assert torch.equal(conv(x, op), conv(x, op))
    conv.train()
    assert not torch.equal(conv(x, op), conv(x, op))
    with torch.no_grad():
        conv.fusion.mu.copy_(torch.tensor([1.0, 0, 0, 0]))
        branch = torch.relu(x @ conv.weight[0] + conv.bias[0])
        dropped = conv(x, op)
    torch.testing.assert_close(dropped[dropped != 0], 2 * branch[dropped != 0])


def test_parameters_repr_reset_and_state_dict(op, x):
    conv = double_conv("mlp")
    assert conv.weight.shape == (ALPHA + 1, IN, OUT)
    assert conv.bias.shape == (ALPHA + 1, OUT)
    assert conv.fusion.weight.shape == ((ALPHA + 1) * OUT, OUT)
    assert conv.fusion.bias.shape == (OUT,)
    assert S2Conv(IN, OUT, ALPHA).fusion.mu.shape == (ALPHA + 1,)
    assert "S2Conv(\n  5, 4, alpha=3, epsilon=0.8, dropout=0\n" in repr(conv)
    twin = double_conv("mlp")
    twin.reset_parameters()
    assert not torch.equal(twin.weight, conv.weight)
    assert not torch.equal(twin.fusion.weight, conv.fusion.weight)
    assert torch.count_nonzero(twin.bias) == 0
    twin.load_state_dict(conv.state_dict())
    assert torch.equal(twin(x, op), conv(x, op))


def test_branch_strengths_are_the_size_of_each_block():
    conv = double_conv("mlp")
    blocks = conv.fusion.weight.detach().numpy().reshape(ALPHA + 1, OUT, OUT)
    np.testing.assert_allclose(
        conv.fusion.branch_strengths().numpy(), [np.linalg.norm(b) / np.sqrt(OUT) for b in blocks]
    )
    linear = double_conv("linear").fusion
    np.testing.assert_allclose(linear.branch_strengths().numpy(), np.abs(linear.mu.detach().numpy()))


def test_unweighted_edge_index_with_epsilon_one_warns():
    conv = S2Conv(2, 2, alpha=3, epsilon=1.0)
    with pytest.warns(IdenticalBranchesWarning, match="all the same operator") as caught:
        conv(torch.ones(2, 2), torch.tensor([[0, 1], [1, 0]]))
    assert caught[0].filename == __file__
    with pytest.warns(IdenticalBranchesWarning, match="all the same operator"):
        conv(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]]))  # directed


def test_misuse_is_explained(op, x, graph):
    conv = double_conv("linear")
    data = graph.to_pyg(torch.float64)
    other = SobolevOperator(graph, ALPHA + 1, EPSILON, dtype=torch.float64)
    twin = SobolevOperator(graph, ALPHA, EPSILON, dtype=torch.float64)
    learning, undirected = double_conv("mlp", epsilon="learn"), double_conv("linear", directed=False)
    for call, message in [
        (lambda: conv(x, other), r"alpha=3, epsilon=0.8, but the operator alpha=4, epsilon=0.8"),
        (lambda: conv(x, SobolevOperator(graph, ALPHA, 0.9)), "epsilon=0.9: build both with the same"),
        (lambda: conv(x, op, data.edge_weight), "edge_weight goes with edge_index"),
        (lambda: conv(x[:, :2], op), r"x has shape \(12, 2\), expected \(12, 5\)"),
        (lambda: conv(twin.prepare(x), op), "prepared input was made by another operator"),
        (lambda: conv(op.prepare(x), data.edge_index), r"call conv\(op.prepare\(x\), op\)"),
        (lambda: conv(x, graph), r"the graph is a Graph: pass SobolevOperator\(graph, alpha=3, epsilon=0.8\)"),
        (lambda: learning(x, graph), r"the graph is a Graph: pass SobolevFamily\(graph, alpha=3\)"),
        (lambda: conv(x, data), "the graph is a Data: pass data.edge_index, data.edge_weight"),
        (lambda: conv(x, None), r"the graph is a NoneType: pass a SobolevOperator, or edge_index \(2, E\)"),
        (lambda: conv(x.to("meta"), op), r"x is on meta, but the layer on cpu: move one of them with .to\(device\)"),
        (
            lambda: S2GNN(IN, 4, 3)(x[None].float(), data.edge_index),
            r"x has shape \(1, 12, 5\), expected one row per node and in_",
        ),
        (lambda: undirected(x, data.edge_index[:, :1]), r"not symmetric.*to_undirected\(edge_index, edge_weight"),
        (lambda: conv(x.float(), op), r"x is torch.float32, but the layer's weights are torch.float64: pass x.to"),
        (lambda: conv(x.numpy(), op), r"x is of type ndarray, but must be a dense tensor, torch.tensor\(x, dtype="),
        (lambda: conv(x.to_sparse(), op), r"layout torch.sparse_coo, but a layer takes dense ones: x.to_dense\(\)"),
        (lambda: conv(x, data.edge_index.float()), r"edge_index\[0, 0\] is 0.0 .* convert with .long\(\)"),
        (lambda: conv(x, torch.ones(N, N)), r"edge_index has shape \(12, 12\), like a dense adjacency matrix"),
        (lambda: double_conv("mlp", shift="laplacian")(x, op), "the layer has shift='laplacian', but the operator"),
        (lambda: conv(x, SobolevFamily(graph, ALPHA + 1)), "alpha=3, but the family 4: use the same alpha"),
        (lambda: conv(op.prepare(x), SobolevFamily(graph, ALPHA)), "pass x as it is"),
        (
            lambda: learning(x, op),
            "learns epsilon, but the SobolevOperator has one: pass s2gnn.operators",
        ),
        (lambda: double_conv("mlp", epsilon=None)(x, data.edge_index), "the layer has no epsilon: pass an operator"),
    ]:
        with pytest.raises(InputError, match=message):
            call()
    for options, message in [
        ({"fusion": "mean"}, "fusion is 'mean', but it must be one of linear, mlp, attention"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"alpha": 0}, "alpha is 0"),
        ({"epsilon": -1.0}, "epsilon is -1.0"),
        ({"epsilon": "lern"}, """epsilon is 'lern', but it must be a finite number >= 0, or "learn\""""),
        ({"epsilon": "learn", "initial_epsilon": 0}, "initial_epsilon is 0, but it must be a finite number > 0"),
        ({"initial_epsilon": 2.0}, "initial_epsilon is 2.0, but epsilon is 1: initial_epsilon needs"),
        ({"residual": "false"}, "residual is 'false', but it must be True or False"),
        ({"norm": "layer"}, "norm is 'layer', but it must be None or one of batch"),
        ({"shift": "foo"}, "shift is 'foo'"),
        ({"bias": None}, "bias is None, but it must be True or False"),
        ({"directed": "no"}, "directed is 'no', but it must be True or False"),
    ]:
        with pytest.raises(InputError, match=message):
            S2Conv(2, 2, **options)
    with pytest.raises(InputError, match="in_channels is 0"):
        S2Conv(0, 2)
    with pytest.raises(InputError, match="out_channels is 2.5"):
        S2Conv(2, 2.5)


def test_initial_parameters_have_the_distributions_of_the_released_code():
    torch.manual_seed(0)
    mu = torch.cat([S2Conv(1, 1, alpha=6).fusion.mu.detach() for _ in range(500)])
    assert abs(mu.mean()) < 0.06
    assert abs(mu.std() - 1) < 0.06
    assert mu.abs().max() > 2.5
    weight = S2Conv(30, 50, alpha=3).weight.detach()
    bound = (6 / (30 + 50)) ** 0.5
    assert bool((weight.abs() <= bound).all())
    for branch in weight:
        assert branch.abs().max() > 0.98 * bound


def test_attention_has_different_shares_at_every_node():
    conv = double_conv("attention")
    branches = torch.rand(N, ALPHA + 1, OUT, dtype=torch.float64)
    with torch.no_grad():
        shares = conv.fusion.attention(branches)
        conv.fusion.offset.copy_(torch.tensor([0.0, 50.0, 0.0, 0.0]))  # so much that branch 1 is all
        alone = torch.addmm(conv.fusion.bias, branches[:, 1], conv.fusion.weight)
        torch.testing.assert_close(conv.fusion(branches), alone)
    torch.testing.assert_close(shares.sum(dim=1), torch.ones(N, dtype=torch.float64))
    assert (shares.std(dim=0) > 0).all()


@pytest.mark.parametrize("widths", [(IN, IN), (IN, OUT)], ids=["identity", "matrix"])
def test_a_residual_layer_adds_its_input_in_whatever_form_it_has(op, x, widths):
    plain, residual = double_conv("mlp", *widths), double_conv("mlp", *widths, residual=True)
    residual.load_state_dict(plain.state_dict(), strict=False)
    added = x if residual.skip is None else x @ residual.skip
    assert (residual.skip is None) == (widths[0] == widths[1])
    sparse = SparseInput(sp.csr_array(x.numpy()), torch.float64)
    for form in (x, op.prepare(x), sparse):
        torch.testing.assert_close(residual(form, op), plain(x, op) + added)
    assert "residual=True" in repr(residual)


def test_batch_normalisation_is_over_nodes_in_training_and_by_running_means_afterwards(op, x):
    conv, plain = double_conv("mlp", norm="batch"), double_conv("mlp")
    plain.load_state_dict(conv.state_dict(), strict=False)
    raw = plain(x, op)
    normalised = (raw - raw.mean(dim=0)) / torch.sqrt(raw.var(dim=0, unbiased=False) + conv.norm.eps)
    torch.testing.assert_close(conv(x, op), normalised)
    conv.eval()
    mean, variance = 0.1 * raw.mean(dim=0), 0.9 + 0.1 * raw.var(dim=0)
    torch.testing.assert_close(conv(x, op), (raw - mean) / torch.sqrt(variance + conv.norm.eps))
    conv.reset_parameters()
    assert torch.count_nonzero(conv.norm.running_mean) == 0
    alone = SobolevOperator(Graph.from_edge_list(np.empty((0, 2)), n_nodes=1), ALPHA, EPSILON, dtype=torch.float64)
    assert conv(x[:1], alone).shape == (1, OUT)
    with pytest.raises(InputError, match="no variance on a graph of one node"):
        conv.train()(x[:1], alone)


def test_a_learned_epsilon_is_positive_starts_at_its_initial_value_and_moves_the_output(graph, x):
    conv = double_conv("mlp", epsilon="learn", initial_epsilon=EPSILON)
    fixed = double_conv("mlp")
    fixed.load_state_dict(conv.state_dict(), strict=False)
    data, family = graph.to_pyg(torch.float64), SobolevFamily(graph, ALPHA, dtype=torch.float64)
    assert float(conv.epsilon) == pytest.approx(EPSILON, rel=1e-6)
    expected = fixed(x, SobolevOperator(graph, ALPHA, EPSILON, dtype=torch.float64))
    torch.testing.assert_close(conv(x, family), expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(conv(x, data.edge_index, data.edge_weight), conv(x, family))
    torch.testing.assert_close(fixed(x, family), expected)
    conv(x, family).square().sum().backward()
    assert conv.epsilon.log.grad != 0
    with torch.no_grad():
        conv.epsilon.log.fill_(-100.0)
    assert 0 < float(conv.epsilon) < 1e-40
    conv.reset_parameters()
    assert float(conv.epsilon) == pytest.approx(EPSILON, rel=1e-6)
    assert "initial=0.8" in repr(conv)


@pytest.mark.parametrize("fusion", ["linear", "mlp", "attention"])
def test_gradcheck_of_epsilon_and_of_edge_weights(graph, x, fusion):
    conv = double_conv(fusion, epsilon="learn", residual=True, norm="batch")
    pairs, values = graph.to_edge_list()
    edge_index = torch.tensor(np.concatenate([pairs, pairs[:, ::-1]]).T)

    def of_edges(log, weights):
        given = {"epsilon.log": log}
        return torch.func.functional_call(conv, given, (x, edge_index, torch.cat([weights, weights])))

    def of_family(log, weights):
        family = SobolevFamily(graph, ALPHA, dtype=torch.float64).with_weights(weights)
        return torch.func.functional_call(conv, {"epsilon.log": log}, (x, family))

    log, weights = torch.tensor(-0.3, dtype=torch.float64, requires_grad=True), torch.tensor(values, requires_grad=True)
    torch.testing.assert_close(of_edges(log, weights), of_family(log, weights))
    assert torch.autograd.gradcheck(of_edges, (log, weights))
    assert torch.autograd.gradcheck(of_family, (log, weights))


def test_edge_weights_have_gradients_with_a_fixed_epsilon_too(graph, x):
    conv, data = double_conv("linear"), graph.to_pyg(torch.float64)
    weight = data.edge_weight.clone().requires_grad_()
    conv(x, data.edge_index, weight).sum().backward()
    pairs = torch.tensor(graph.to_edge_list()[1], requires_grad=True)
    conv(x, SobolevFamily(graph, ALPHA, dtype=torch.float64).with_weights(pairs)).sum().backward()
    A = torch.zeros(N, N, dtype=torch.float64).index_put(tuple(data.edge_index), weight.grad)
    low, high = torch.tensor(graph.to_edge_list()[0]).T
    torch.testing.assert_close(A[low, high] + A[high, low], pairs.grad)  # a pair counts in both directions


def test_gradients_of_symmetric_edge_weights_are_those_of_gcn(graph, x):
    """Each direction has its own derivative, with no jump where both have the same weight."""
    conv, theirs = S2Conv(IN, OUT, alpha=1, bias=False).double(), GCNConv(IN, OUT, bias=False).double()
    with torch.no_grad():
        conv.fusion.mu.copy_(torch.tensor([0.0, 1.0]))
        theirs.lin.weight.copy_(conv.weight[1].T)
    data = graph.to_pyg(torch.float64)
    index, weight = data.edge_index, data.edge_weight
    nudged = weight.clone()
    nudged[0] += 1e-12
    target = torch.randn(N, OUT, dtype=torch.float64)
    for given in (weight, nudged, torch.ones_like(weight)):
        w = given.clone().requires_grad_()
        ours, expected = conv(x, index, w), theirs(x, index, w).relu()
        torch.testing.assert_close(ours, expected)
        found = [torch.autograd.grad((out * target).sum(), w)[0] for out in (ours, expected)]
        torch.testing.assert_close(*found)
        assert torch.autograd.gradcheck(lambda w: conv(x, index, w), w)
    w = weight.clone().requires_grad_()
    assert torch.autograd.gradgradcheck(lambda w: conv(x, index, w), w)


def test_values_of_epsilon_that_differ_by_rounding_are_the_same(graph, x):
    op = SobolevOperator(graph, ALPHA, 0.1 + 0.2, dtype=torch.float64)
    assert double_conv("linear", epsilon=0.3)(x, op).shape == (N, OUT)
    with pytest.raises(InputError, match=r"epsilon=0.30001, but the operator alpha=3, epsilon=0.30000000000000004"):
        double_conv("linear", epsilon=0.30001)(x, op)


def test_hooks_on_a_linear_fusion_get_the_branches():
    op = SobolevOperator(random_graph(9, 0.4), 2, 1.0)
    conv, x, seen = S2Conv(4, 3, alpha=2, epsilon=1.0, dropout=0.0), torch.randn(9, 4), []
    expected = conv(x, op)
    conv.fusion.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape))
    torch.testing.assert_close(conv(x, op), expected)
    assert seen == [(9, 3, 3)]


def test_backward_and_global_hooks_see_a_linear_fusion():
    op = SobolevOperator(random_graph(9, 0.4), 2, 1.0)
    conv, x, seen = S2Conv(4, 3, alpha=2, epsilon=1.0), torch.randn(9, 4), []
    handle = conv.fusion.register_full_backward_hook(lambda module, *_: seen.append("backward"))
    conv(x, op).sum().backward()
    handle.remove()
    with torch.nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(type(module).__name__)):
        conv(x, op)
    assert seen == ["backward", "LinearFusion", "S2Conv"]


def test_epsilon_and_alpha_belong_to_the_state_dict(op, x):
    conv = double_conv("mlp")
    state = conv.state_dict()
    assert state["_extra_state"].tolist() == [ALPHA, EPSILON]
    with pytest.raises(RuntimeError, match=r"a layer with epsilon=0.8, but this one has epsilon=0.9: build it with"):
        double_conv("mlp", epsilon=0.9).load_state_dict(state)
    with pytest.raises(RuntimeError, match=r"a layer with alpha=3, but this one has alpha=4"):
        S2Conv(IN, OUT, ALPHA + 1, EPSILON, "mlp").double().load_state_dict(state)
    with pytest.raises(RuntimeError, match='Unexpected key.*"epsilon.log"'):
        double_conv("mlp").load_state_dict(double_conv("mlp", epsilon="learn").state_dict())
    of_operator = double_conv("mlp", epsilon=None)
    of_operator.load_state_dict(state)
    assert torch.equal(of_operator(x, op), conv(x, op))
    other = torch.nn.Sequential(double_conv("mlp", epsilon=0.9))
    keys = other.load_state_dict(torch.nn.Sequential(conv).state_dict(), strict=False)
    assert "epsilon=0.8" in str(keys)
    assert torch.equal(other[0].weight, conv.weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_state_dict_in_another_dtype_has_the_same_epsilon(dtype):
    state = {name: value.to(dtype) for name, value in S2Conv(2, 2, epsilon=0.1).state_dict().items()}
    S2Conv(2, 2, epsilon=0.1).load_state_dict(state)


def test_an_epsilon_that_is_set_later_is_saved():
    conv = S2Conv(2, 2)
    conv.epsilon = 2
    assert conv.state_dict()["_extra_state"].tolist() == [4, 2]
    assert "epsilon=2" in repr(conv)


def test_a_learned_epsilon_is_loaded_wherever_it_started(x, graph):
    conv, other = (double_conv("mlp", epsilon="learn", initial_epsilon=initial) for initial in (0.1, 7.0))
    family, state = SobolevFamily(graph, ALPHA, dtype=torch.float64), conv.state_dict()
    assert dict(conv.named_parameters()).keys() == state.keys() - {"_extra_state"}
    assert state["epsilon.log"].item() == pytest.approx(np.log(0.1))
    torch.testing.assert_close(torch.func.functional_call(other, state, (x, family)), conv(x, family))
    other.load_state_dict(state)
    assert float(other.epsilon) == float(conv.epsilon)


@pytest.mark.parametrize("fusion", ["linear", "mlp", "attention"])
def test_a_layer_without_biases_is_one_whose_biases_are_zero(op, x, fusion):
    conv = double_conv(fusion)
    torch.nn.init.zeros_(conv.bias)
    without = S2Conv(IN, OUT, ALPHA, EPSILON, fusion, bias=False).double()
    state = {name: value for name, value in conv.state_dict().items() if name != "bias"}
    without.load_state_dict(state)
    torch.testing.assert_close(without(x, op), conv(x, op))
    without.reset_parameters()
    assert "bias" not in dict(without.named_parameters())
    assert "bias=False" in repr(without)


def test_directed_edges_are_normalised_as_gcnconv_does(x):
    """Branch 1 at ε = 1 alone, without an activation that changes it, is GCNConv."""
    edges = torch.tensor([[0, 1, 2, 4, 4, 7], [1, 2, 0, 5, 4, 0]])
    weight = torch.tensor([0.5, 2.0, 1.0, 0.3, 1.0, 0.7], dtype=torch.float64, requires_grad=True)
    gcn, conv = GCNConv(IN, OUT).double(), S2Conv(IN, OUT, 1, 1.0).double()
    with torch.no_grad():
        gcn.bias.fill_(100.0)  # all positive, so that ReLU passes them
        conv.bias.fill_(100.0)
        conv.weight[1] = gcn.lin.weight.T
        conv.fusion.mu.copy_(torch.tensor([0.0, 1.0]))
    found, expected = conv(x, edges, weight), gcn(x, edges, weight)
    torch.testing.assert_close(found, expected)
    loss = torch.arange(OUT, dtype=torch.float64)
    kept = edges[0] != edges[1]  # gcn_norm keeps an existing self-loop instead of adding one
    gradients = [torch.autograd.grad((out * loss).sum(), weight)[0][kept] for out in (found, expected)]
    torch.testing.assert_close(*gradients)
