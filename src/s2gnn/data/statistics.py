"""The statistics of a data set and its graph or graphs, compared with the paper's Table I."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from s2gnn.data.catalogue import CATALOGUE, Kind
from s2gnn.data.dataset import Dataset, GraphCollection
from s2gnn.graphs import DisjointUnion, Graph, node_homophily

NEIGHBOURS = (10, 20, 30, 40)
# H(G) in the paper's appendix, for these numbers of neighbours, by data set and kind of graph.
PUBLISHED_HOMOPHILY: Mapping[tuple[str, Kind], tuple[float, ...]] = MappingProxyType(
    {
        ("cancer-b", "knn"): (0.8625, 0.8447, 0.8334, 0.8230),
        ("cancer-b", "smooth"): (0.8838, 0.8670, 0.8568, 0.8463),
        ("cancer-m", "knn"): (0.6267, 0.5954, 0.5765, 0.5629),
        ("cancer-m", "smooth"): (0.6534, 0.6242, 0.6054, 0.5921),
        ("20news", "knn"): (0.5557, 0.4968, 0.4615, 0.4354),
        ("20news", "smooth"): (0.6103, 0.5348, 0.4919, 0.4628),
        ("har", "knn"): (0.8849, 0.8478, 0.8211, 0.8007),
        ("har", "smooth"): (0.9087, 0.8851, 0.8660, 0.8500),
        ("isolet", "knn"): (0.7346, 0.6851, 0.6454, 0.6105),
        ("isolet", "smooth"): (0.7619, 0.7255, 0.6943, 0.6664),
    }
)


@dataclass(frozen=True)
class Statistic:
    """A measured value and the value in the paper's Table I or its appendix, `None` if it has none."""

    name: str
    measured: float
    published: float | None


def statistics(dataset: Dataset, graph: Graph, kind: Kind, k: int | None = None) -> tuple[Statistic, ...]:
    """Return nodes, edges, features and classes measured and published; homophily if every row has one label.

    Nodes and edges have a published figure if the paper has this kind of graph with this `k` (default: the paper's).
    """
    info = CATALOGUE.get(dataset.name)
    published = info.published if info else None
    nodes = edges = None
    if info and published and k in (None, info.k):
        edges = {info.kind: published.edges, "smooth": published.learned_edges}.get(kind)
        nodes = None if edges is None else published.nodes
    figures = [
        Statistic("nodes", graph.n_nodes, nodes),
        Statistic("edges", graph.n_edges, edges),
        Statistic("features", dataset.x.shape[1], info.features if info and published else None),
        Statistic("classes", len(dataset.class_names), info.classes if info and published else None),
    ]
    if not dataset.several_labels and dataset.labelled.all():
        figures.append(Statistic("homophily", node_homophily(graph, dataset.y), _homophily(dataset.name, kind, k)))
    return tuple(figures)


def _homophily(data: str, kind: Kind, k: int | None) -> float | None:
    """Return the published homophily of a graph with `k` neighbours (default: the paper's), if there is one."""
    printed = PUBLISHED_HOMOPHILY.get((data, kind))
    if printed is None:
        return None
    return dict(zip(NEIGHBOURS, printed, strict=True)).get(k or CATALOGUE[data].k or 0)


def collection_statistics(collection: GraphCollection, graphs: DisjointUnion) -> tuple[Statistic, ...]:
    """Return graphs, nodes and edges of a graph on average, its largest number of nodes, features and classes.

    The paper prints none of them.
    """
    figures = {
        "graphs": graphs.n_graphs,
        "nodes of a graph, mean": graphs.graph.n_nodes / graphs.n_graphs,
        "nodes of a graph, at most": int(graphs.sizes.max()),
        "edges of a graph, mean": graphs.graph.n_edges / graphs.n_graphs,
        "features": collection.x.shape[1],
        "classes": len(collection.class_names),
    }
    return tuple(Statistic(name, value, None) for name, value in figures.items())
