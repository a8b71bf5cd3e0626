"""The statistics of a data set and its graph or graphs, compared with the paper's Table I."""

from dataclasses import dataclass

from s2gnn.data.catalogue import CATALOGUE, Kind
from s2gnn.data.dataset import Dataset, GraphCollection
from s2gnn.graphs import DisjointUnion, Graph, node_homophily


@dataclass(frozen=True)
class Statistic:
    """A measured value and the value in the paper's Table I, `None` if it has none."""

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
        figures.append(Statistic("homophily", node_homophily(graph, dataset.y), None))
    return tuple(figures)


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
