"""The citation networks and the histology table, read straight from the data folder."""

import numpy as np

from s2gnn import Graph


def citation_graph(folder, name):
    """A Planetoid citation network: graph and labels."""
    with np.load(folder / "citation" / f"{name}.npz", allow_pickle=False) as archive:
        y = archive["y"]
        return Graph.from_edge_index(archive["edge_index"], n_nodes=len(y)), y


def histology(folder, name):
    """Features and labels of Cancer-B (tumour and stroma) or Cancer-M (all eight classes)."""
    with np.load(folder / "kather" / "kather_lbp38.npz", allow_pickle=False) as archive:
        X, y = archive["X"], archive["y"]
    kept = y < 2 if name == "cancer-b" else y >= 0
    return X[kept], y[kept]
