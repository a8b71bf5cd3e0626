import importlib.util

import pytest
import torch

from s2gnn import S2Conv, SobolevOperator
from s2gnn.bench.peers import (
    GCNConvBranches,
    ProductBranches,
    coordinates,
    csr_matrices,
    csr_products,
    gcnconv_products,
    sparse_tensor_products,
)
from s2gnn.bench.workloads import random_graph


def test_the_peers_are_the_same_layer():
    """Every way to build the layer gives the same numbers and gradients: like is compared with like."""
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    conv = S2Conv(5, 4, 3, 1.5, "mlp").eval()
    torch.nn.init.normal_(conv.bias)
    csr = ProductBranches(5, 4, csr_products(op)).eval()
    gcnconv = GCNConvBranches(5, 4, *coordinates(op)).eval()
    with torch.no_grad():
        for peer in (csr, gcnconv):
            peer.own.weight.copy_(conv.weight[0].T)
            peer.own.bias.copy_(conv.bias[0])
            peer.fusion.weight.copy_(conv.fusion.weight.T)
            peer.fusion.bias.copy_(conv.fusion.bias)
            for rho, branch in enumerate(peer.branches, start=1):
                linear = branch if peer is csr else branch.lin
                linear.weight.copy_(conv.weight[rho].T)
                branch.bias.copy_(conv.bias[rho])
    x = torch.randn(60, 5)
    gradients = []
    for layer in (lambda h: conv(h, op), csr, gcnconv):
        h = x.clone().requires_grad_()
        y = layer(h)
        y.square().sum().backward()
        gradients.append((y.detach(), h.grad))
    for y, gradient in gradients[1:]:
        torch.testing.assert_close(y, gradients[0][0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(gradient, gradients[0][1], rtol=1e-4, atol=1e-4)


def installed(name):
    return importlib.util.find_spec(name) is not None


@pytest.mark.parametrize(
    "products",
    [
        csr_products,
        gcnconv_products,
        pytest.param(
            sparse_tensor_products,
            marks=pytest.mark.skipif(not installed("torch_sparse"), reason="torch_sparse is not installed"),
        ),
    ],
)
def test_the_products_are_those_of_the_operator(products):
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    h = torch.randn(60, 7)
    torch.testing.assert_close(torch.stack([product(h) for product in products(op)]), op.propagate(h))


@pytest.mark.skipif(installed("torch_sparse"), reason="torch_sparse is installed")
def test_torch_sparse_is_missed_before_any_work():
    with pytest.raises(ImportError):
        sparse_tensor_products(SobolevOperator(random_graph(10, 20), 2, 1.5))


def test_the_first_few_matrices():
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    (first,) = csr_matrices(op, powers=1)
    torch.testing.assert_close(first.to_dense(), torch.tensor(op.matrix(1).toarray(), dtype=torch.float32))
    assert first.col_indices().dtype == torch.int32
