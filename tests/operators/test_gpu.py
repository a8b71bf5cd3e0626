"""The Triton kernels against dense formulas: on a GPU if there is one, else in Triton's interpreter (make test-gpu)."""

import copy
import mmap
import os
import tempfile
from functools import partial
from itertools import product

import numpy as np
import pytest
import torch

from s2gnn import S2GNN, Graph, S2Conv, SobolevOperator
from s2gnn.graphs.selection import Selection
from s2gnn.operators import EdgeOperator, SobolevFamily, chunks, kernel
from s2gnn.operators.activation import activate, combine
from s2gnn.operators.plain import branchwise_by_edges
from s2gnn.operators.powers import HadamardPowers
from s2gnn.operators.propagation import branchwise, fan_in, fan_out

tl = pytest.importorskip("triton.language")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from s2gnn.operators import gpu_kernels  # noqa: E402  importing it starts Triton
from tests.seed import seeded  # noqa: E402

WIDTHS = (1, 3, 8, 16, 17, 64, 100)
HALF = (torch.bfloat16, torch.float16)
ROUNDING = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2**-8, torch.float16: 2**-11}


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    """Triton computes, and rows are split after two neighbours, so that small graphs have hubs."""
    monkeypatch.setattr(chunks, "SPLIT", 2)
    with kernel.use("triton"):
        yield


def hub_graph(seed=0):
    """Node 0 is connected with three others and split in two, 4 with none."""
    weights = np.random.default_rng(seeded(seed)).uniform(0.1, 1.5, 4)
    return Graph.from_edge_list([(0, 1), (0, 2), (0, 3), (1, 2)], weights, 5)


def directed_powers(alpha, dtype):
    """Those of a graph of which most edges have one direction."""
    edges = torch.tensor([[1, 2, 3, 0, 2], [0, 0, 0, 3, 1]], device=DEVICE)
    weights = torch.tensor([0.3, 1.2, 0.8, 0.5, 0.7], device=DEVICE)
    return EdgeOperator(edges, weights, 5, alpha, 0.7, dtype=dtype).to(DEVICE).powers


def exact(*shape, dtype, seed=0):
    """Random values that all types represent exactly."""
    generator = torch.Generator().manual_seed(seeded(seed))
    return (torch.randint(-8, 9, shape, generator=generator) / 8).to(DEVICE, dtype)


def in_float64(powers):
    """The same factors, and those of a pattern without chunks."""
    indptr, indices = powers.csr()
    return HadamardPowers(indptr, indices, *(factor.double() for factor in powers[2:5]), powers.sign)


def assert_close(found, expected, dtype, terms=1.0):
    """Up to the rounding of `dtype`, relative to the size of the terms that are added up."""
    allowed = ROUNDING[dtype] * terms * max(1.0, float(expected.detach().abs().max()))
    torch.testing.assert_close(found.double(), expected, rtol=ROUNDING[dtype], atol=allowed)


def dtypes(alpha, width):
    """float32, and one of the two half precisions, the other one for the next α or F."""
    return torch.float32, HALF[(alpha + WIDTHS.index(width)) % 2]


@pytest.mark.parametrize("alpha", range(1, 10))
def test_fan_out_and_its_gradient_fan_in(alpha):
    powers = SobolevOperator(hub_graph(), alpha, 0.7, ("adjacency", "laplacian")[alpha % 2], device=DEVICE).powers
    for width in WIDTHS:
        for dtype in dtypes(alpha, width):
            x = exact(5, width, dtype=dtype).requires_grad_()
            grad = exact(5, alpha + 1, width, dtype=dtype, seed=1)
            out = fan_out(powers, x)
            (found,) = torch.autograd.grad(out, x, grad)
            assert out.dtype == found.dtype == dtype
            x = x.detach().double().requires_grad_()
            expected = branchwise_by_edges(in_float64(powers), x[:, None].expand(-1, alpha + 1, -1))
            assert_close(out, expected, dtype)
            assert_close(found, torch.autograd.grad(expected, x, grad.double())[0], dtype)


@pytest.mark.parametrize("alpha", range(1, 10))
def test_branchwise_and_its_gradients_by_signals_and_factors(alpha):
    """The diagonals are given, and every factor is learned."""
    family = SobolevFamily(hub_graph(), alpha, ("adjacency", "laplacian")[alpha % 2], device=DEVICE)
    for width in WIDTHS:
        for dtype in dtypes(alpha, width):
            check_gradients_of_branchwise(family.at(0.7).powers, alpha, width, dtype)


@pytest.mark.parametrize(("alpha", "dtype"), [(2, torch.float64), (3, torch.bfloat16), (9, torch.float32)])
def test_directed_graphs_have_gradients_by_the_transposed_pattern(alpha, dtype):
    powers = directed_powers(alpha, torch.float64 if dtype == torch.float64 else torch.float32)
    assert powers.are_directed
    check_gradients_of_branchwise(powers, alpha, 3, dtype)
    g, columns = exact(5, alpha + 1, 3, dtype=dtype), branchwise_by_edges
    assert_close(fan_in(powers, g), columns(in_float64(powers), g.double()).sum(1), dtype)
    transposed = powers.transposed()
    assert torch.equal(transposed.chunks(), chunks.chunks(transposed.csr()[0], len(powers.b)))
    assert_close(fan_out(transposed, g[:, 0]), columns(in_float64(transposed), g[:, :1].double().expand_as(g)), dtype)


def check_gradients_of_branchwise(powers, alpha, width, dtype):
    found, wanted = [], []
    grad = exact(5, alpha + 1, width, dtype=dtype, seed=1)
    for map_, factors, values, results in (
        (branchwise, powers, dtype, found), (branchwise_by_edges, in_float64(powers), torch.float64, wanted),
    ):  # fmt: skip
        learned = [factor.clone().requires_grad_() for factor in factors[2:5]]
        h = exact(5, alpha + 1, width, dtype=dtype).to(values).requires_grad_()
        out = map_(HadamardPowers(*factors[:2], *learned, factors.sign), h)
        results += [out, *torch.autograd.grad(out, [h, *learned], grad.to(values))]
    for number, (ours, expected) in enumerate(zip(found, wanted, strict=True)):
        rounded = dtype if number < 2 else powers.b.dtype  # factors are not stored in half precision
        assert ours.dtype == rounded
        scale = powers.c.double() if number == 3 else 1.0  # c divides a difference of sums
        assert_close(ours * scale, expected * scale, rounded, terms=4 * width)
    if dtype in HALF:
        x = exact(5, alpha + 1, width, dtype=dtype).requires_grad_()
        out = branchwise(powers, x)
        for ours, expected in zip((out, *torch.autograd.grad(out, x, grad)), wanted[:2], strict=True):
            assert ours.dtype == dtype
            assert_close(ours, expected, dtype)
        entries = torch.ops.s2gnn.hadamard_gradient(*powers[:4], powers.sign, grad, x.detach())
        assert_close(entries, wanted[2], powers.b.dtype, terms=4 * width)


def test_float64_is_summed_in_float64():
    powers = SobolevOperator(hub_graph(), 3, 0.7, dtype=torch.float64, device=DEVICE).powers
    x = torch.randn(5, 4, 3, dtype=torch.float64, device=DEVICE)
    expected = branchwise_by_edges(in_float64(powers), x)
    assert_close(branchwise(powers, x), expected, torch.float64)
    assert_close(fan_in(powers, x), expected.sum(1), torch.float64)


def test_graphs_without_edges_or_features():
    op = SobolevOperator(Graph.from_edge_list([], [], 3), 2, 1.0, device=DEVICE)
    x = torch.randn(3, 2, device=DEVICE)
    torch.testing.assert_close(op.stacked(x), x[:, None].expand(3, 3, 2))
    assert op.stacked(x[:, :0]).shape == (3, 3, 0)


def test_partial_sums_do_not_depend_on_chance():
    op = SobolevOperator(hub_graph(), 2, 0.7, device=DEVICE)
    x = torch.randn(5, 3, device=DEVICE)
    assert torch.equal(op.stacked(x), op.stacked(x))


def test_the_operator_owns_the_chunks_of_its_pattern(monkeypatch):
    """They are found when it is built, selected, joined or moved, and not at a product."""
    op = SobolevOperator(hub_graph(), 2, 0.7, device=DEVICE)
    part = op.selected(Selection.of(np.arange(4), 5))
    family = SobolevFamily(hub_graph(), 2, device=DEVICE)
    operators = [op, part, op.union([op, op]), op.to("cpu").to(DEVICE), family.at(0.5), family.to(DEVICE).at(0.5)]
    for each in operators:
        expected = chunks.chunks(each.powers.csr()[0], len(each.powers.b))
        assert torch.equal(each.powers.chunks(), expected)

    def found_again(*_):
        raise AssertionError("chunks are found at a product")

    monkeypatch.setattr("s2gnn.operators.powers.chunks", found_again)
    for each in operators:
        h = torch.ones(each.n_nodes, 3, 2, device=DEVICE, requires_grad=True)
        each.propagate_branches(h).sum().backward()


def test_operators_built_for_another_kernel_are_computed_too():
    with kernel.use("torch"):
        op, x = SobolevOperator(hub_graph(), 2, 0.7, device=DEVICE), torch.randn(5, 3, device=DEVICE)
        expected = op.stacked(x)
    assert len(op.powers.indptr) == 6
    torch.testing.assert_close(op.stacked(x), expected)


@pytest.mark.parametrize("branches", [2, 5, 10])
def test_activations_drop_the_elements_that_plain_torch_drops(branches):
    """Every width, with and without dropout, in turn in each type and with contiguous or strided branches."""
    for number, (width, drop) in enumerate(product(WIDTHS, (0.0, 0.4))):
        dtype = (torch.float32, *HALF)[(number + branches) % 3]
        x = exact(branches, 7, width, dtype=dtype).transpose(0, 1)
        if number % 2:
            x = x.contiguous()
        bias, mu = (exact(*shape, dtype=dtype, seed=1) + 0.25 for shape in ((branches, width), (branches,)))
        grad = exact(7, width, dtype=dtype, seed=2)
        found = {}
        for name in ("torch", "triton"):
            values = torch.float64 if name == "torch" else dtype
            leaves = [value.detach().to(values).requires_grad_() for value in (x, bias, mu)]
            with kernel.use(name):
                torch.manual_seed(number)
                activated = activate(*leaves[:2], drop)
                torch.manual_seed(number)
                combined = combine(*leaves, drop)
                loss = [(activated * grad[:, None].to(values)).sum(), (combined * grad.to(values)).sum()]
                gradients = [torch.autograd.grad(part, leaves[: 2 + i]) for i, part in enumerate(loss)]
            found[name] = [activated, combined, *gradients[0], *gradients[1]]
        assert torch.equal(found["triton"][0] == 0, found["torch"][0] == 0)
        for triton, plain in zip(found["triton"], found["torch"], strict=True):
            assert triton.dtype == dtype
            assert_close(triton, plain, dtype, terms=4)


def test_branches_are_combined_in_half_precision_with_parameters_in_float32():
    """As under autocast."""
    x, grad = exact(7, 3, 5, dtype=torch.bfloat16), exact(7, 5, dtype=torch.bfloat16, seed=3)
    leaves = [x.requires_grad_(), *(exact(*shape, dtype=torch.float32).requires_grad_() for shape in ((3, 5), (3,)))]
    out = combine(*leaves, 0.0)
    found = [out, *torch.autograd.grad(out, leaves, grad)]
    assert [each.dtype for each in found] == [torch.bfloat16, torch.bfloat16, torch.float32, torch.float32]
    double = [leaf.detach().double().requires_grad_() for leaf in leaves]
    expected = torch.einsum("r,nrf->nf", double[2], torch.relu(double[0] + double[1]))
    for ours, wanted in zip(found, [expected, *torch.autograd.grad(expected, double, grad.double())], strict=True):
        assert_close(ours, wanted.detach(), ours.dtype)


@pytest.mark.skipif(DEVICE != "cpu", reason="the memory is mapped by the operating system")
@pytest.mark.parametrize("name", ["sum_neighbours", "gradient_of_entries", "combine", "combine_backward", "activate"])
def test_offsets_beyond_31_bits(name):
    """A kernel reads and writes the last rows of arrays of more than 2³¹ elements, of which no other page is used."""
    far = FarArrays()
    node, width = 2**25, 64  # node · F is 2³¹
    one, index = torch.ones(1), partial(torch.tensor, dtype=torch.int32)
    if name in ("sum_neighbours", "gradient_of_entries"):
        indptr, c = far.array(node + 2, torch.int32), far.array(node + 1)
        far.row(indptr, node, 2)[:] = index([0, 1])
        far.row(c, node, 1)[:] = 1.0
        csr, table = (indptr, index([node]), one, c), index([[node, 0, -1]])
        shape = {"ALPHA": 1, "SIGN": 1, "BLOCK_F": 64, "SPLIT": 512, "BLOCK_E": 4, "ACCUMULATED": tl.float32}
    if name == "sum_neighbours":  # S(i, i) = 2² = 4 and one neighbour, itself again
        x, t, out = far.array((node + 1) * width), far.array(node + 1), far.array(2 * (node + 1) * width)
        far.row(x, node * width, width)[:] = 3.0
        far.row(t, node, 1)[:] = 2.0
        maps = {"KIND": 0, "POWERS": 1, "DIAGONALS": False}
        gpu_kernels.sum_neighbours[(1, 1)](*csr, t, table, x, out, one, node + 1, width, **shape, **maps)
        assert far.row(out, 2 * node * width, 2 * width).tolist() == [3.0] * width + [9.0] * width
    elif name == "gradient_of_entries":
        h, out = far.array(2 * (node + 1) * width), torch.zeros(1)
        far.row(h, (2 * node + 1) * width, width)[:] = 3.0
        gpu_kernels.gradient_of_entries[(1,)](*csr, table, h, h, out, node + 1, width, **shape)
        assert out.item() == 9.0 * width
    else:  # branches lie one after the other, 2³⁰ elements apart
        x, bias, mu = far.array(3 * 2**30 + width), torch.zeros(4, width), torch.ones(4)
        for branch in range(4):
            far.row(x, branch * 2**30, width)[:] = float(branch)
        strides, zeros, out = (width, 2**30), (0, 0, 1.0), torch.zeros(1, 4, width)
        if name == "activate":
            gpu_kernels.activate[(1,)](x, bias, out, 4 * width, 4, width, *strides, *zeros, DROPS=False, BLOCK=512)
            assert out[0, :, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
        elif name == "combine":
            arguments = (x, bias, mu, out, width, width, *strides, *zeros)
            gpu_kernels.combine[(1,)](*arguments, BRANCHES=4, DROPS=False, BLOCK=64)
            assert out[0, 0].tolist() == [6.0] * width
        else:
            by_bias, by_mu, grad = torch.zeros(1, 4, width), torch.zeros(1, 4, 1), torch.ones(1, width)
            arguments = (x, bias, mu, grad, out, by_bias, by_mu, 1, width, *strides, *zeros)
            gpu_kernels.combine_backward[(1, 4, 1)](*arguments, DROPS=False, BLOCK_F=64, ROWS=64)
            assert by_mu.flatten().tolist() == [0.0, 1.0 * width, 2.0 * width, 3.0 * width]


class FarArrays:
    """Arrays of any length in files without content, of which only pages that are accessed exist.

    A tensor holds the first element only, so that the interpreter, which copies tensors, does not access the others.
    """

    def __init__(self):
        self.memory = {}

    def array(self, length, dtype=torch.float32):
        with tempfile.TemporaryFile() as file:
            file.truncate(4 * length)
            memory = mmap.mmap(file.fileno(), 4 * length)
        first = torch.frombuffer(memory, dtype=dtype, count=1)
        self.memory[first.data_ptr()] = memory
        return first

    def row(self, array, start, length):
        return torch.frombuffer(self.memory[array.data_ptr()], dtype=array.dtype, count=length, offset=4 * start)


@pytest.mark.parametrize("fusion", ["linear", "mlp"])
@pytest.mark.parametrize("order", ["aggregate", "transform"])
def test_a_layer_trains_as_on_plain_torch(fusion, order):
    conv = S2Conv(5, 4, alpha=3, fusion=fusion, dropout=0.3).to(DEVICE)
    conv.order = order
    op = SobolevOperator(hub_graph(), 3, device=DEVICE)
    x = torch.randn(5, 5, device=DEVICE, requires_grad=True)
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


@pytest.mark.parametrize("order", ["aggregate", "transform"])
@pytest.mark.parametrize("way", ["autocast", "bfloat16"])
def test_a_network_trains_in_half_precision(way, order):
    """With the values of float32 up to rounding; between layers signals are stored in bfloat16."""
    model = S2GNN(5, 8, 3, alpha=2, dropout=0.0).to(DEVICE)
    for conv in model.convs:
        conv.order = order
    op, x = SobolevOperator(hub_graph(), 2, device=DEVICE), torch.rand(5, 5, device=DEVICE)
    expected = model(x, op)
    wanted = torch.autograd.grad(expected.square().sum(), list(model.parameters()))
    half = copy.deepcopy(model).bfloat16() if way == "bfloat16" else model
    x = x.bfloat16() if way == "bfloat16" else x
    seen = []
    half.convs[1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].dtype))
    with torch.autocast(DEVICE, torch.bfloat16, enabled=way == "autocast"):
        out = half(x, op)
    gradients = torch.autograd.grad(out.float().square().sum(), list(half.parameters()))
    assert seen == [torch.bfloat16]
    for ours, exactly in zip((out, *gradients), (expected, *wanted), strict=True):
        torch.testing.assert_close(
            ours.float(), exactly, rtol=0, atol=0.05 * float(exactly.detach().abs().max()) + 1e-3
        )


@pytest.mark.parametrize("directed", [False, True])
def test_edge_weights_have_the_gradients_of_plain_torch(directed):
    """On a directed graph the transposed pattern is used."""
    data = hub_graph().to_pyg(torch.float32)
    edge_index, weight = data.edge_index.to(DEVICE), data.edge_weight.to(DEVICE)
    if directed:
        edge_index, weight = edge_index[:, ::2], weight[::2]
    weight = weight.clone().requires_grad_()
    conv, x = S2Conv(5, 4, alpha=2).to(DEVICE), torch.randn(5, 5, device=DEVICE)
    found = {}
    for name in ("torch", "triton"):
        with kernel.use(name):
            found[name] = torch.autograd.grad(conv(x, edge_index, weight).square().sum(), weight)[0]
    torch.testing.assert_close(found["triton"], found["torch"], rtol=1e-4, atol=1e-5)


def test_opcheck():
    """Schema, fake results and registered gradients of every operator, with Triton as the kernel."""
    operators = torch.ops.s2gnn
    for powers in (SobolevOperator(hub_graph(), 2, 0.7, device=DEVICE).powers, directed_powers(2, torch.float32)):
        x, branches = (torch.randn(shape, device=DEVICE, requires_grad=True) for shape in ((5, 3), (5, 3, 3)))
        torch.library.opcheck(operators.fan_out.default, (*powers, x))
        torch.library.opcheck(operators.fan_in.default, (*powers, branches))
        torch.library.opcheck(operators.branchwise.default, (*powers, branches))
        entries = (*powers[:4], powers.sign, branches.detach(), branches.detach())
        torch.library.opcheck(operators.hadamard_gradient.default, entries)
    bias, mu, key = torch.randn(3, 3, device=DEVICE), torch.randn(3, device=DEVICE), torch.tensor(3)
    torch.library.opcheck(operators.activate.default, (branches, bias, key, 0.3))
    torch.library.opcheck(operators.activate_backward.default, (branches.detach(), branches.detach(), 0.3))
    torch.library.opcheck(operators.combine.default, (branches, bias, mu, key, 0.3))
    torch.library.opcheck(operators.combine_backward.default, (branches.detach(), bias, mu, x.detach(), key, 0.3))


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # by the compiler
@pytest.mark.parametrize("way", ["operator", "edge_index"])
def test_compiled_layers_have_the_values_and_gradients_of_eager_ones(way):
    conv, x = S2Conv(5, 4, alpha=2).to(DEVICE), torch.randn(5, 5, device=DEVICE)
    data = hub_graph().to_pyg(torch.float32)
    arguments = (data.edge_index.to(DEVICE), data.edge_weight.to(DEVICE))
    if way == "operator":
        arguments = (SobolevOperator(hub_graph(), 2, device=DEVICE),)
    found = []
    for layer in (conv, torch.compile(conv, backend="aot_eager", fullgraph=way == "operator")):
        out = layer(x, *arguments)
        found.append([out, *torch.autograd.grad(out.square().sum(), list(conv.parameters()))])
    for eager, compiled in zip(*found, strict=True):
        torch.testing.assert_close(compiled, eager)


def test_the_planner_counts_as_for_the_native_kernel():
    """Both gather a row once for all branches, and compute S_ρ H again in the backward pass."""
    op = SobolevOperator(hub_graph(), 4, device=DEVICE)
    conv, x = S2Conv(5, 4).to(DEVICE), torch.ones(5, 5, device=DEVICE, requires_grad=True)
    plans = []
    for name in ("triton", "portable"):
        with kernel.use(name):
            plans.append((conv.plan(x, op), op.gather_cost(16, branches=False), op.gather_cost(16, branches=True)))
    assert plans[0] == plans[1]


def test_triton_is_the_kernel_of_gpus():
    assert kernel.chosen("cuda") == "triton"
    assert kernel.chosen("mps") == "torch"
    with kernel.use("torch"):
        assert kernel.chosen("cuda") == "torch"
