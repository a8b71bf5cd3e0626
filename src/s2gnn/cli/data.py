"""`s2gnn data`: list, fetch and describe the named data sets."""

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from s2gnn.cli.options import GraphKind, K
from s2gnn.cli.output import AsJson, print_facts, print_table
from s2gnn.data import (
    CATALOGUE,
    DatasetInfo,
    Statistic,
    collection_graphs,
    collection_statistics,
    dataset_graph,
    dataset_info,
    fetch,
    load_collection,
    load_dataset,
    statistics,
    whereabouts,
)
from s2gnn.data.catalogue import Kind, graph_k, graph_title
from s2gnn.errors import InputError

app = typer.Typer(help="List, fetch and describe the named data sets.", no_args_is_help=True)


@app.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the data sets: sizes, the paper's graph, and where they are stored.

    "local" is in the folder S2GNN_DATA, "cache" was downloaded before, "bundled" comes with scikit-learn. --json adds
    licences and citations.

    Example: [bold]s2gnn data list[/bold]
    """
    if as_json:
        print(json.dumps([_described(found) for found in CATALOGUE.values()], indent=2))
        return
    print_table(
        "Data sets",
        ("name", "rows", "features", "classes", "graph", "where"),
        [
            (
                found.name,
                f"{found.rows:,} graphs" if found.task == "graphs" else f"{found.rows:,}",
                *(f"{size:,}" for size in (found.features, found.classes)),
                _graph_text(found),
                whereabouts(found),
            )
            for found in CATALOGUE.values()
        ],
    )


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A data set, or all.")],
    as_json: AsJson = False,
) -> None:
    """Download a data set to the cache, unless it is already there or in S2GNN_DATA.

    The cache is the folder S2GNN_CACHE; default: s2gnn in XDG_CACHE_HOME or ~/.cache. An interrupted download leaves no
    partial file; complete files are not downloaded again.

    Example: [bold]s2gnn data get cora[/bold]
    """
    wanted = list(CATALOGUE.values()) if name == "all" else [dataset_info(name)]
    results, failures = [], []
    for found in wanted:
        try:
            results.append(_fetched(found, skip=name == "all", progress=not as_json))
        except InputError as error:
            if name != "all":
                raise
            results.append({"name": found.name, "where": whereabouts(found), "result": "failed"})
            failures.append(f"{found.name} ({error})")
    if as_json:
        print(json.dumps(results, indent=2))
    else:
        print_table("Data sets", ("name", "where", "result"), [tuple(result.values()) for result in results])
    if failures:
        raise InputError(f"{len(failures)} of {len(wanted)} data sets could not be fetched: {'; '.join(failures)}")


@app.command()
def info(
    name: Annotated[str, typer.Argument(help="A data set.")],
    graph: GraphKind = None,
    k: K = None,
    as_json: AsJson = False,
) -> None:
    """Describe a data set and its graph, compared with the paper's Table I.

    Missing data are downloaded, and graphs are built once and cached. Diffusing Pubmed takes a few minutes;
    --graph given is fast.

    Example: [bold]s2gnn data info har --graph smooth[/bold]
    """
    found = dataset_info(name)
    kind = graph or found.kind
    used_k = graph_k(name, kind, k)
    figures, source = _measured(found, kind, k, progress=not as_json)
    if as_json:
        summary = {**_described(found), "source": source, "graph": kind, "k": used_k}
        print(json.dumps({**summary, "statistics": [asdict(figure) for figure in figures]}, indent=2))
        return
    print(f"{found.name}: {found.title}")
    facts = {"source": source, "licence": found.licence, "citation": found.citation}
    print_facts({**facts, "graph": graph_title(kind, used_k)})
    print_table(
        "Statistics",
        ("", "measured", "paper"),
        [(figure.name, _number(figure.measured), _published(figure)) for figure in figures],
    )
    if found.name == "ppi-human":
        print("A stand-in for ogbn-proteins: the paper's Table I has no figures for it.")


def _measured(info: DatasetInfo, kind: Kind, k: int | None, *, progress: bool) -> tuple[tuple[Statistic, ...], str]:
    """Return the statistics of a data set with one graph or many, and its source."""
    if info.task == "nodes":
        dataset, graph = dataset_graph(load_dataset(info.name, progress=progress), kind, k, progress=progress)
        return statistics(dataset, graph, kind, k), dataset.source
    collection, graphs = collection_graphs(load_collection(info.name, progress=progress), kind, progress=progress)
    return collection_statistics(collection, graphs), collection.source


def _fetched(info: DatasetInfo, *, skip: bool, progress: bool) -> dict[str, str]:
    """Fetch one data set and describe the result; an unpublished data set is an error unless it may be skipped."""
    before = whereabouts(info)
    if before != "not here":
        result = "was here"
    elif not info.originals and skip:
        result = "skipped: not published in this form"
    else:
        fetch(info, progress=progress)
        result = "fetched, sha256 verified" if info.sha256_known else "fetched, unverified: no sha256 is known"
    return {"name": info.name, "where": whereabouts(info), "result": result}


def _described(info: DatasetInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "title": info.title,
        "task": info.task,
        "rows": info.rows,
        "features": info.features,
        "classes": info.classes,
        "graph": info.kind,
        "k": info.k,
        "where": whereabouts(info),
        "licence": info.licence,
        "citation": info.citation,
        "urls": [original.url for original in info.originals],
        "sha256_known": info.sha256_known,
    }


def _graph_text(info: DatasetInfo) -> str:
    return graph_title(info.kind, info.k if info.kind == "knn" else None)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _published(figure: Statistic) -> str:
    return "–" if figure.published is None else _number(figure.published)
