"""S2Conv in place of GCNConv, in a PyG model that trains on parts of Cora by PyG's RandomNodeLoader.

Cora is found in the folder S2GNN_DATA or in the cache, or is fetched from its publisher. Its citations have no weights;
Jaccard weights give the Hadamard powers something to differ in.

    python examples/pyg_drop_in_layer.py [--quick]
"""

import sys

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import RandomNodeLoader
from torch_geometric.nn import GCNConv

from s2gnn import S2Conv
from s2gnn.data import TEST_SEEDS, dataset_split, load_dataset
from s2gnn.graphs import weights

PARTS = 4
HIDDEN = 32


class Network(nn.Module):
    """Two convolutions that take (x, edge_index, edge_weight), whichever they are."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, data: Data) -> Tensor:
        """The logits (N, C) of a graph or of a part of one."""
        h = F.dropout(self.first(data.x, data.edge_index, data.edge_weight).relu(), 0.5, self.training)
        return self.second(h, data.edge_index, data.edge_weight)


def cora() -> tuple[Data, int]:
    """Cora as PyG has it, with edge weights and the paper's split for its first seed; and its number of classes."""
    dataset = load_dataset("cora")
    data = weights.jaccard(dataset.graph).to_pyg(torch.float32)
    data.x = torch.tensor(dataset.x.toarray(), dtype=torch.float32)
    data.y = torch.tensor(dataset.y)
    split = dataset_split(dataset, TEST_SEEDS[0])
    for name in ("train", "val", "test"):
        mask = torch.zeros(data.num_nodes, dtype=torch.bool)
        mask[getattr(split, name)] = True
        data[f"{name}_mask"] = mask
    return data, len(dataset.class_names)


def train(model: Network, data: Data, epochs: int) -> float:
    """Train on parts, evaluate on the whole graph; the test accuracy at the epoch with the best validation accuracy."""
    torch.manual_seed(0)
    # Every epoch cuts the graph into other parts. A part is an induced subgraph: it keeps both directions of an edge.
    loader = RandomNodeLoader(data, num_parts=PARTS, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best = (0.0, 0.0)
    for _ in range(epochs):
        model.train()
        for part in loader:
            if part.train_mask.any():
                optimizer.zero_grad()
                F.cross_entropy(model(part)[part.train_mask], part.y[part.train_mask]).backward()
                optimizer.step()
        model.eval()
        with torch.no_grad():
            right = model(data).argmax(dim=1) == data.y
        best = max(best, (right[data.val_mask].double().mean().item(), right[data.test_mask].double().mean().item()))
    return best[1]


def main(quick: bool) -> None:
    """Print the test accuracy of the same model with either layer."""
    data, n_classes = cora()
    n_features, epochs = data.num_features, 2 if quick else 50
    torch.manual_seed(0)
    gcn = Network(GCNConv(n_features, HIDDEN), GCNConv(HIDDEN, n_classes))
    options = {"alpha": 3, "epsilon": 0.5, "fusion": "mlp"}
    s2 = Network(S2Conv(n_features, HIDDEN, **options), S2Conv(HIDDEN, n_classes, **options))
    print(f"Cora: {data.num_nodes} nodes, trained in {PARTS} parts for {epochs} epochs; test accuracy")
    for name, model in (("GCNConv", gcn), ("S2Conv", s2)):
        print(f"{name:10s}{100 * train(model, data, epochs):5.1f} %")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
