"""`s2gnn graph`: build, diffuse and describe graphs."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from scipy.sparse.csgraph import connected_components

from s2gnn.cli.options import integer, number
from s2gnn.cli.output import AsJson, check_writable, names, print_facts
from s2gnn.errors import InputError
from s2gnn.graphs import (
    Graph,
    diffuse,
    edge_homophily,
    knn_graph,
    load_graph,
    node_homophily,
    save_graph,
    smooth_graph,
)
from s2gnn.ranges import COUNT
from s2gnn.tables import read_table

app = typer.Typer(help="Build, diffuse and describe graphs.", no_args_is_help=True)


GraphFile = Annotated[Path, typer.Argument(help="A graph file (.npz) written by s2gnn.")]


@app.command()
def build(
    table: Annotated[Path, typer.Argument(help="A table: .csv or .tsv with a header, or .npz with X (and y).")],
    out: Annotated[Path, typer.Option(help="Where to write the graph (.npz).")],
    method: Annotated[
        Literal["knn", "smooth"], typer.Option(help="Nearest neighbours, or a learned smooth graph.")
    ] = "knn",
    k: Annotated[int, integer(COUNT, help="Number of neighbours per row.")] = 30,
    metric: Annotated[
        Literal["euclidean", "cosine"], typer.Option(help="Distance between rows, for knn.")
    ] = "euclidean",
    label: Annotated[str | None, typer.Option(help="Label column; not used as a feature.")] = None,
    features: Annotated[str | None, typer.Option(help="Columns to use, separated by commas. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Build a graph on the rows of a table.

    Example: [bold]s2gnn graph build iris.csv --label species --method smooth --k 10 --out iris.npz[/bold]
    """
    check_writable(out, ".npz")
    data = read_table(table)
    if label is not None:
        data.column(label)
    elif "y" in data.columns and table.suffix.lower() == ".npz":
        label = "y"
    chosen = names(features)
    if chosen and label in chosen:
        raise InputError(f"the column {label!r} is both the label and a feature: remove it from --features")
    X = data.features(chosen, without=[label] if label else [])
    reports: list[Any] = []
    if method == "knn":
        graph = knn_graph(X, k, metric, report=reports.append)
    else:
        if metric != "euclidean":
            raise InputError("a smooth graph is learned from Euclidean distances: omit --metric")
        graph = smooth_graph(X, k, progress=not as_json, report=reports.append)
    save_graph(graph, out)
    summary = {"graph": str(out), "method": method, "k": k, **_sizes(graph), **asdict(reports[0])}
    _print(summary, f"{method} graph of {table}", as_json)


@app.command("diffuse")
def diffuse_command(
    graph: GraphFile,
    out: Annotated[Path, typer.Option(help="Where to write the diffused graph (.npz).")],
    teleport: Annotated[float, number("Probability of returning to the start, in (0, 1).")] = 0.05,
    top: Annotated[int, integer(COUNT, help="Number of links kept per node.")] = 128,
    method: Annotated[Literal["auto", "exact", "push"], typer.Option(help="Exact, or approximate (push).")] = "auto",
    tolerance: Annotated[float, number("Error bound of push, in (0, 1).")] = 1e-3,
    as_json: AsJson = False,
) -> None:
    """Replace the edges of a graph with its strongest personalised-PageRank links.

    Example: [bold]s2gnn graph diffuse citations.npz --teleport 0.05 --top 128 --out diffused.npz[/bold]
    """
    check_writable(out, ".npz")
    diffused = diffuse(load_graph(graph), teleport, top, method, tolerance=tolerance, progress=not as_json)
    save_graph(diffused, out)
    summary = {"graph": str(out), "teleport": teleport, "top": top, **_sizes(diffused)}
    _print(summary, f"diffusion of {graph}", as_json)


@app.command()
def info(
    graph: GraphFile,
    labels: Annotated[Path | None, typer.Option(help="Table with one row per node, to compute the homophily.")] = None,
    label: Annotated[str, typer.Option(help="Label column of that table.")] = "y",
    picture: Annotated[Path | None, typer.Option(help="Where to draw the histograms (PNG).")] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a graph: size, components, degrees, weights and homophily; optionally draw histograms.

    Example: [bold]s2gnn graph info iris.npz --labels iris.csv --label species --picture iris.png[/bold]
    """
    from s2gnn.graphs.picture import draw_histograms

    if picture is not None:
        check_writable(picture, ".png")
    loaded = load_graph(graph)
    summary: dict[str, Any] = {"graph": str(graph), **_sizes(loaded)}
    if labels is not None:
        y = read_table(labels).column(label)
        summary["node_homophily"] = node_homophily(loaded, y)
        summary["edge_homophily"] = edge_homophily(loaded, y)
    if picture is not None:
        draw_histograms(loaded, picture, title=str(graph))
        summary["picture"] = str(picture)
    _print(summary, str(graph), as_json)


def _sizes(graph: Graph) -> dict[str, Any]:
    n_components, component = connected_components(graph.to_scipy(), directed=False)
    neighbours = np.diff(graph.indptr)
    sizes: dict[str, Any] = {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "components": int(n_components),
        "largest_component": int(np.bincount(component).max()),
        "isolated_nodes": int(np.sum(neighbours == 0)),
        "neighbours_min": int(neighbours.min()),
        "neighbours_median": float(np.median(neighbours)),
        "neighbours_max": int(neighbours.max()),
    }
    if graph.n_edges:
        sizes |= {
            "weight_min": float(graph.weights.min()),
            "weight_median": float(np.median(graph.weights)),
            "weight_max": float(graph.weights.max()),
        }
    return sizes


def _print(summary: dict[str, Any], title: str, as_json: bool) -> None:
    if as_json:
        finite = {key: None if isinstance(v, float) and not np.isfinite(v) else v for key, v in summary.items()}
        print(json.dumps(finite, indent=2, allow_nan=False))
        return
    print(title)
    print_facts({key.replace("_", " "): _text(value) for key, value in summary.items()})


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.5g}"
