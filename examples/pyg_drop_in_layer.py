"""S2Conv in place of GCNConv, in a PyG model that trains on parts of Cora by PyG's RandomNodeLoader.

Cora is found in the folder S2GNN_DATA or in the cache, or is fetched from its publisher. Its citations have no weights;
the cosine between the words of two papers gives the Hadamard powers something to differ in.

    python examples/pyg_drop_in_layer.py [--quick]
"""

import sys
from functools import partial

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
        """Return the logits (N, C) of a graph or of a part of one."""
        x = F.dropout(data.x, 0.5, self.training)
        h = F.dropout(self.first(x, data.edge_index, data.edge_weight).relu(), 0.5, self.training)
        return self.second(h, data.edge_index, data.edge_weight)


def cora() -> tuple[Data, int]:
    """Return Cora as PyG has it, with edge weights, the paper's split of the first seed, and the number of classes."""
    dataset = load_dataset("cora")
    data = weights.cosine(dataset.graph, dataset.x).to_pyg()
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
    """Print the mean test accuracy of the same model with either layer, over a few random starts."""
    data, n_classes = cora()
    starts, epochs = (1, 2) if quick else (5, 50)
    layers = {"GCNConv": GCNConv, "S2Conv": partial(S2Conv, alpha=2, epsilon=0.1, fusion="linear")}
    print(f"Cora: {data.num_nodes} nodes, {PARTS} parts, {epochs} epochs; mean test accuracy over {starts} starts")
    for name, layer in layers.items():
        scores = []
        for start in range(starts):
            torch.manual_seed(start)
            scores.append(train(Network(layer(data.num_features, HIDDEN), layer(HIDDEN, n_classes)), data, epochs))
        print(f"{name:10s}{100 * sum(scores) / starts:5.1f} %")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
