import importlib.util

import pytest
import torch

from s2gnn import S2Conv, SobolevOperator
from s2gnn.bench.networks import (
    ATTENTION,
    BASELINES,
    ProductLayer,
    csr_products,
    gcnconv_products,
    make_our_baseline,
    make_pyg_baseline,
    sparse_tensor_products,
)
from s2gnn.bench.tasks import random_graph

WIDTHS = [5, 8, 3]


@pytest.mark.parametrize("products", [csr_products, gcnconv_products])
def test_the_layer_by_other_products_has_the_same_numbers_and_gradients(products):
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    conv = S2Conv(5, 4, 3, 1.5, "mlp").eval()
    torch.nn.init.normal_(conv.bias)
    layer = ProductLayer(5, 4, products(op)).eval()
    with torch.no_grad():
        layer.bias.copy_(conv.bias)
        layer.fusion.weight.copy_(conv.fusion.weight.T)
        layer.fusion.bias.copy_(conv.fusion.bias)
        for branch, weight in zip(layer.branches, conv.weight, strict=True):
            branch.weight.copy_(weight.T)
    x = torch.randn(60, 5)
    found = []
    for run in (lambda h: conv(h, op), layer):
        h = x.clone().requires_grad_()
        y = run(h)
        y.square().sum().backward()
        found.append((y.detach(), h.grad))
    for ours, other in zip(*found, strict=True):
        torch.testing.assert_close(other, ours, rtol=1e-4, atol=1e-4)


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
def test_missing_torch_sparse_is_noticed_before_any_work():
    with pytest.raises(ImportError):
        sparse_tensor_products(SobolevOperator(random_graph(10, 20), 2, 1.5))


def pyg_state(model, layer):
    """The parameters of our layer by the names of PyG's."""
    if model in ATTENTION:
        return layer.state_dict()
    if model == "gcn":
        return {"lin.weight": layer.linear.weight, "bias": layer.linear.bias}
    if model == "cheby":
        return {"bias": layer.bias} | {f"lins.{k}.weight": weight.T for k, weight in enumerate(layer.weight)}
    if model == "sgc":
        return {"lin.weight": layer.weight, "lin.bias": layer.bias}
    root, mean = layer.root, layer.mean
    return {"lin_out.weight": mean.weight, "lin_out.bias": mean.bias, "lin_root.weight": root.weight}


@pytest.mark.parametrize("model", BASELINES)
def test_pyg_builds_the_same_network(model):
    """With the same parameters both give the same numbers and gradients: like is compared with like."""
    graph, x = random_graph(60, 300), torch.randn(60, 5)
    ours, inputs = make_our_baseline(model, graph, x, WIDTHS, heads=2)
    peer, peer_inputs = make_pyg_baseline(model, graph, x, WIDTHS, heads=2)
    for layer, peer_layer in zip(ours.layers, peer.layers, strict=True):
        peer_layer.load_state_dict(pyg_state(model, layer))
    logits, expected = ours.eval()(*inputs), peer.eval()(*peer_inputs)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)
    logits.square().sum().backward()
    expected.square().sum().backward()
    norms = [sum(p.grad.square().sum() for p in network.parameters()) for network in (ours, peer)]
    torch.testing.assert_close(*norms, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("model", [model for model in BASELINES if model != "sgc"])
def test_both_drop_half_of_the_hidden_elements_in_training_only(model):
    graph, x = random_graph(60, 300), torch.randn(60, 5)
    for make in (make_our_baseline, make_pyg_baseline):
        network, inputs = make(model, graph, x, WIDTHS, heads=2)
        seen = []
        network.layers[1].register_forward_pre_hook(lambda _, arguments, seen=seen: seen.append(arguments[0]))
        network.train()(*inputs)
        network.eval()(*inputs)
        dropped, kept = seen
        positive = kept > 0
        assert 0.3 < (dropped[positive] == 0).float().mean() < 0.7
        torch.testing.assert_close(dropped[dropped > 0], 2 * kept[dropped > 0], rtol=1e-4, atol=1e-5)


def test_caches_are_kept_where_pyg_has_them():
    graph, x = random_graph(60, 300), torch.randn(60, 5)
    for model, cache in (("gcn", "_cached_edge_index"), ("sgc", "_cached_x")):
        peer, inputs = make_pyg_baseline(model, graph, x, WIDTHS, heads=1)
        peer(*inputs)
        assert getattr(peer.layers[0], cache) is not None
