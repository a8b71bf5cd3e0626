"""Protein functions from interactions: 112 labels for each node of a weighted network, scored by mean ROC-AUC.

The human protein network with the 112 biological processes of the Gene Ontology is a stand-in for ogbn-proteins. It is
not published in this form: docs/data.md describes how to make the file for the folder S2GNN_DATA. Its proteins have no
features; they get eight that describe their edges.

    python examples/protein_network.py [--quick]
"""

import sys

from s2gnn.data import dataset_split, load_dataset
from s2gnn.learning import FitConfig, fit, predict_logits
from s2gnn.learning.metrics import mean_roc_auc
from s2gnn.nn import make_model

SEED = 0


def main(quick: bool) -> None:
    """Train S2-GNN, a GCN and an MLP on 60 % of the annotated proteins, and print their scores on 20 %."""
    dataset = load_dataset("ppi-human")
    x = dataset.x  # log degree, weighted degree and quantiles of the weights, standardised
    split = dataset_split(dataset, SEED)  # proteins without any annotation are in no part, but in the graph
    n_labels = dataset.y.shape[1]
    print(f"{dataset.graph.n_nodes:,} proteins, {dataset.graph.n_edges:,} interactions, {n_labels} labels")
    config = FitConfig(lr=0.01, weight_decay=0.0, epochs=2 if quick else 400, patience=None, monitor="auc")
    own = {"s2gnn": {"alpha": 2 if quick else 4, "epsilon": 1.5}, "gcn": {}, "mlp": {}}
    for name, options in own.items():
        model = make_model(name, x.shape[1], n_labels, hidden_channels=8 if quick else 32, dropout=0.0, **options)
        inputs, op = model.prepare(x, dataset.graph)
        # With labels (N, 112) of 0 and 1, `fit` takes the cross-entropy of each label by itself.
        result = fit(model, inputs, op, dataset.y, split.train, split.val, config=config, seed=SEED)
        scores = predict_logits(model, inputs, op).numpy()[split.test]
        auc = mean_roc_auc(dataset.y[split.test], scores)
        print(f"{name:8s} mean ROC-AUC {auc:.3f}, epoch {result.best_epoch + 1} of {len(result.history.train_loss)}")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
