"""Autocast, and layers in half precision, against float32."""

import pytest
import torch

from s2gnn import S2GNN, SobolevOperator
from s2gnn.nn import S2Conv
from s2gnn.operators import SobolevFamily, kernel
from s2gnn.pyg import S2Conv as PyGS2Conv
from tests.random_graphs import random_graph

GRAPH = random_graph(30)
DATA = GRAPH.to_pyg()
EDGES = DATA.edge_index, DATA.edge_weight
X = torch.randn(30, 6, generator=torch.Generator().manual_seed(0))
CLOSE = {"rtol": 0.05, "atol": 0.05}
KERNELS = [kernel.PLAIN, kernel.available()[-1]]

pytestmark = pytest.mark.bfloat16


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("fusion", ["linear", "mlp", "attention"])
@pytest.mark.parametrize("epsilon", [1.2, "learn"])
def test_autocast_of_stacked_layers_in_both_ways(name, fusion, epsilon):
    torch.manual_seed(0)
    first, second = S2Conv(6, 8, 3, epsilon, fusion), S2Conv(8, 4, 3, epsilon, fusion)
    op = SobolevFamily(GRAPH, 3) if epsilon == "learn" else SobolevOperator(GRAPH, 3, epsilon)
    with kernel.use(name):
        for graph in (EDGES, (op,)):
            expected = second(first(X, *graph), *graph)
            for x in (X, X.bfloat16()):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    out = second(first(x, *graph), *graph)
                out.float().square().sum().backward()
                torch.testing.assert_close(out.float(), expected, **CLOSE)
    assert all(p.grad is not None for p in first.parameters())


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("layer", [S2Conv, PyGS2Conv])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_layers_in_half_precision_propagate_in_float32(name, layer, dtype):
    torch.manual_seed(0)
    conv = layer(6, 4, 3, 1.2, "mlp", residual=True)
    expected = conv(X, *EDGES)
    half = layer(6, 4, 3, 1.2, "mlp", residual=True).to(dtype)
    half.load_state_dict(conv.state_dict())
    directed = EDGES[0][:, ::2], EDGES[1][::2]
    with kernel.use(name):
        for graph in (EDGES, (EDGES[0], EDGES[1].to(dtype)), (SobolevOperator(GRAPH, 3, 1.2),)):
            out = half(X.to(dtype), *graph)
            assert out.dtype == dtype
            torch.testing.assert_close(out.float(), expected, **CLOSE)
        torch.testing.assert_close(half(X.to(dtype), *directed).float(), conv(X, *directed), **CLOSE)
        out.float().square().sum().backward()
    assert half.weight.grad.dtype == dtype


def test_a_network_in_half_precision_is_prepared():
    torch.manual_seed(0)
    model = S2GNN(6, 16, 4, alpha=3, epsilon=1.2).eval()
    expected = model(*model.prepare(X, GRAPH))
    model.bfloat16()
    x, op = model.prepare(X, GRAPH)
    assert x.dtype == torch.bfloat16
    assert op.dtype == torch.float32
    torch.testing.assert_close(model(x, op).float(), expected, **CLOSE)
