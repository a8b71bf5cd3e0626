import pytest
import torch

from s2gnn import S2Conv, SobolevOperator
from s2gnn.bench.networks import (
    BASELINES,
    NETWORKS,
    PRODUCTS,
    ProductLayer,
    baseline_needs,
    make_baseline,
    network_needs,
)
from s2gnn.bench.tasks import Task, Workload, random_graph

TASK = Task(60, 300, 5, 3, 8, 2)


@pytest.mark.parametrize("way", ["csr", "gcnconv", "torch_sparse"])
def test_the_layer_by_other_products_has_the_same_numbers_and_gradients(way):
    if way == "torch_sparse":
        pytest.importorskip("torch_sparse")
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    conv = S2Conv(5, 4, 3, 1.5, "mlp").eval()
    torch.nn.init.normal_(conv.bias)
    layer = ProductLayer(5, 4, PRODUCTS[way].of(op)).eval()
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


@pytest.mark.parametrize("way", ["csr", "gcnconv", "torch_sparse"])
def test_the_products_are_those_of_the_operator(way):
    if way == "torch_sparse":
        pytest.importorskip("torch_sparse")
    op = SobolevOperator(random_graph(60, 300), 3, 1.5)
    h = torch.randn(60, 7)
    torch.testing.assert_close(torch.stack([product(h) for product in PRODUCTS[way].of(op)]), op.propagate(h))


def pyg_state(model, layer):
    """The parameters of our layer by the names of PyG's."""
    if BASELINES[model].kept:
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
    work = Workload("small", TASK, random_graph(60, 300), torch.randn(60, 5))
    ours, inputs = make_baseline(model, "ours", work, heads=2)
    pyg, pyg_inputs = make_baseline(model, "pyg", work, heads=2)
    for layer, pyg_layer in zip(ours.layers, pyg.layers, strict=True):
        pyg_layer.load_state_dict(pyg_state(model, layer))
    logits, expected = ours.eval()(*inputs), pyg.eval()(*pyg_inputs)
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-5)
    logits.square().sum().backward()
    expected.square().sum().backward()
    norms = [sum(p.grad.square().sum() for p in network.parameters()) for network in (ours, pyg)]
    torch.testing.assert_close(*norms, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("model", [model for model in BASELINES if model != "sgc"])
def test_both_drop_half_of_the_hidden_elements_in_training_only(model):
    work = Workload("small", TASK, random_graph(60, 300), torch.randn(60, 5))
    for way in ("ours", "pyg"):
        network, inputs = make_baseline(model, way, work, heads=2)
        seen = []
        network.layers[1].register_forward_pre_hook(lambda _, arguments, seen=seen: seen.append(arguments[0]))
        network.train()(*inputs)
        network.eval()(*inputs)
        dropped, kept = seen
        positive = kept > 0
        assert 0.3 < (dropped[positive] == 0).float().mean() < 0.7
        torch.testing.assert_close(dropped[dropped > 0], 2 * kept[dropped > 0], rtol=1e-4, atol=1e-5)


def test_caches_are_kept_where_pyg_has_them():
    work = Workload("small", TASK, random_graph(60, 300), torch.randn(60, 5))
    for model, cache in (("gcn", "_cached_edge_index"), ("sgc", "_cached_x")):
        network, inputs = make_baseline(model, "pyg", work)
        network(*inputs)
        assert getattr(network.layers[0], cache) is not None


def test_needs_grow_with_the_graph_and_messages_dominate():
    small, large = Task(1_000, 5_000, 8, 3, 64, 2), Task(1_000, 500_000, 8, 3, 64, 2)
    for way in set(NETWORKS) - {"ours"}:
        assert network_needs(way, large) > network_needs(way, small) > 0
    assert network_needs("gcnconv", large) > 2 * 4 * 64 * 1_000_000
    assert network_needs("ours", large) < network_needs("csr", large)


@pytest.mark.parametrize("model", BASELINES)
@pytest.mark.parametrize("way", ["ours", "pyg"])
def test_needs_of_a_baseline_cover_what_its_step_keeps(model, way):
    """What autograd keeps for the backward pass is a part of the peak, a large one in PyG's attention."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    task = Task(100, 2_000, 5, 3, 16, 2)
    work = Workload("small", task, random_graph(100, 2_000), torch.randn(100, 5))
    network, inputs = make_baseline(model, way, work, heads=2)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        network.train()(*inputs)
    estimate = baseline_needs(model, way, task, heads=2)
    assert sum(kept.values()) < estimate
    if way == "pyg" and BASELINES[model].kept:
        assert estimate < 5 * sum(kept.values())
