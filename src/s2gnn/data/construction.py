"""The graph or graphs of a data set, built as in the paper and cached by a hash of their inputs."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from s2gnn.data.catalogue import Kind, graph_k
from s2gnn.data.dataset import Dataset, GraphCollection
from s2gnn.data.fetching import writable_cache
from s2gnn.errors import InputError
from s2gnn.files import folder_aside
from s2gnn.graphs import DisjointUnion, Graph, diffuse, knn_graph, largest_component, smooth_graph
from s2gnn.graphs.storage import load_graph, save_graph

# To be increased when building a graph gives different numbers than before: cached graphs are then rebuilt.
RECIPE = 1
TELEPORT = 0.05
TOP = 128
TOP_OF_MANY = 15


def dataset_graph(
    dataset: Dataset, kind: Kind, k: int | None = None, *, progress: bool = False
) -> tuple[Dataset, Graph]:
    """Build the graph of a data set; returns the data set restricted to the graph's nodes, and the graph.

    Args:
        dataset: a data set with N rows.
        kind: "knn" and "smooth" build a graph from the features; "diffusion" diffuses the largest component of the
            given graph (teleport 0.05, 128 entries per column); "given" returns the given graph unchanged.
        k: number of neighbours of "knn" and "smooth"; default: the paper's, i.e. 40 for HAR, 20 for Isolet, otherwise
            30.
        progress: show a bar while a graph is learned or diffused.

    Returns:
        The data set, restricted to the largest component for "diffusion" and unchanged otherwise, and the graph.
    """
    k = graph_k(dataset.name, kind, k)
    if k is not None:
        learn = partial(smooth_graph, dataset.x, k, progress=progress)
        build = learn if kind == "smooth" else partial(knn_graph, dataset.x, k)
        return dataset, _cached(_key(kind, f"k={k}", dataset.x), build)
    if dataset.graph is None:
        raise InputError(f'{dataset.name} has no given graph: build one from its features with "knn" or "smooth"')
    if kind == "given":
        return dataset, dataset.graph
    component, nodes = largest_component(dataset.graph)
    return dataset.restricted(nodes, component), diffused(component, progress=progress)


def diffused(graph: Graph, *, progress: bool = False) -> Graph:
    """Return the diffusion of a graph with the paper's parameters, see `diffuse`; cached."""
    key = _key("diffusion", f"teleport={TELEPORT},top={TOP}", graph.to_scipy())
    return _cached(key, lambda: diffuse(graph, TELEPORT, TOP, progress=progress))


def collection_graphs(
    collection: GraphCollection, kind: Kind, *, progress: bool = False
) -> tuple[GraphCollection, DisjointUnion]:
    """Return the graphs of a collection, and the collection.

    Args:
        collection: G graphs.
        kind: "diffusion" joins the nodes of each graph by personalised PageRank, as the paper does (teleport 0.05, 15
            entries of each column); "given" leaves the graphs as they are.
        progress: show a bar.
    """
    if kind not in ("diffusion", "given"):
        raise InputError(f'the kind of graph is {kind!r}, but many graphs are "diffusion" or "given"')
    union = collection.union
    if kind == "given":
        return collection, union
    key = _key("diffusion", f"teleport={TELEPORT},top={TOP_OF_MANY},many", union.graph.to_scipy())
    graph = _cached(key, lambda: union.diffused(TELEPORT, TOP_OF_MANY, progress=progress).graph)
    return collection, DisjointUnion(graph, union.offsets)


def _key(kind: Kind, parameters: str, values: Any) -> str:
    """Return the name of the graph of these values: a hash of the recipe, the parameters, the shape and every byte."""
    digest = hashlib.sha256(f"{RECIPE} {kind} {parameters} {values.shape}".encode())
    for array in (values.data, values.indices, values.indptr) if sp.issparse(values) else (values,):
        digest.update(f" {array.dtype.str} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"{kind}-{digest.hexdigest()[:32]}"


def _cached(key: str, build: Callable[[], Graph]) -> Graph:
    """Return the graph cached under `key`, or the one that `build` returns, which is then cached.

    The name of a file ends in a hash of the key and the file's bytes: a truncated, changed or foreign file does not
    match its name and is removed. Several processes may do this at once; each reads complete files only.
    """
    folder = writable_cache("graphs")
    for path in sorted(folder.glob(f"{key}-*.npz")):
        with suppress(InputError, FileNotFoundError):  # another process may have removed it
            if path.name == _sealed_name(key, path):
                return load_graph(path)
        path.unlink(missing_ok=True)
    graph = build()
    with folder_aside(folder / "new") as aside:
        path = aside / "graph.npz"
        save_graph(graph, path)
        path.replace(folder / _sealed_name(key, path))
    return graph


def _sealed_name(key: str, path: Path) -> str:
    return f"{key}-{hashlib.sha256(key.encode() + path.read_bytes()).hexdigest()[:16]}.npz"
