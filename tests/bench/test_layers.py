import pytest
import torch

from s2gnn.bench.layers import ATTENTION, BASELINES, make_ours, make_peer
from s2gnn.bench.workloads import random_graph

WIDTHS = [5, 8, 3]


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
def test_the_peer_is_the_same_network(model):
    """With the same parameters both give the same numbers and gradients: like is compared with like."""
    graph, x = random_graph(60, 300), torch.randn(60, 5)
    ours, inputs = make_ours(model, graph, x, WIDTHS, heads=2)
    peer, peer_inputs = make_peer(model, graph, x, WIDTHS, heads=2)
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
    for make in (make_ours, make_peer):
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
        peer, inputs = make_peer(model, graph, x, WIDTHS, heads=1)
        peer(*inputs)
        assert getattr(peer.layers[0], cache) is not None
