import torch
from torch.nn import functional as F
from torch_geometric.nn import ClusterGCNConv

from s2gnn import Graph
from s2gnn.nn import ClusterGCN
from tests.random_graphs import random_graph


def test_equals_pyg_which_takes_no_edge_weights():
    for graph in (random_graph(20), Graph.from_edge_list([(0, 1), (1, 2)], [0.1, 7.0], n_nodes=20)):
        model = ClusterGCN(6, 16, 3).eval()
        peers = [ClusterGCNConv(6, 16), ClusterGCNConv(16, 3)]
        for peer, layer in zip(peers, model.layers, strict=True):
            torch.nn.init.normal_(layer.mean.bias)
            weights = {"lin_out.weight": layer.mean.weight, "lin_out.bias": layer.mean.bias}
            peer.load_state_dict(weights | {"lin_root.weight": layer.root.weight})
        x, edge_index = torch.randn(20, 6), graph.to_pyg().edge_index
        expected = peers[1](F.relu(peers[0](x, edge_index)), edge_index)
        prepared, mean = model.prepare(x, graph)
        torch.testing.assert_close(model(prepared, mean), expected)
        torch.testing.assert_close(model(x, mean), expected)
