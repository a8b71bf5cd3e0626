"""`s2gnn analyse`: the spectrum of a graph, the stability of a trained model."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from matplotlib.figure import Figure

from s2gnn.cli.options import GraphKind, K, integer
from s2gnn.cli.output import AsJson, check_results_folder, command_line
from s2gnn.data import CATALOGUE, Kind, dataset_graph, load_dataset
from s2gnn.data.catalogue import dataset_info, graph_k, graph_title
from s2gnn.errors import InputError
from s2gnn.estimator.folder import load_estimator
from s2gnn.estimator.stability import draw_stability, estimator_stability, stability_content, stability_layout
from s2gnn.estimator.table_model import TableModel
from s2gnn.experiments.figures.spectrum import draw_spectrum, spectrum_content, spectrum_table
from s2gnn.experiments.measured import made_record, write_record
from s2gnn.graphs import Graph, load_graph
from s2gnn.progress import progress_bar
from s2gnn.ranges import DRAWS
from s2gnn.render import Table, render
from s2gnn.tables import read_table

app = typer.Typer(help="Analyse the spectrum of a graph or the stability of a trained model.", no_args_is_help=True)

Out = Annotated[Path | None, typer.Option(help="Folder for the numbers (JSON, CSV) and the picture (PNG, SVG).")]


@app.command()
def stability(
    model: Annotated[Path, typer.Argument(help="A model folder written by s2gnn fit or save_estimator.")],
    table: Annotated[
        Path | None,
        typer.Option(
            help="Predict the rows of this table instead of the training rows; if it has labels, scores are "
            "measured too."
        ),
    ] = None,
    seeds: Annotated[int, integer(DRAWS, help="Number of random draws per noise level.")] = 10,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Measure how much a model's predictions change when the edges of its graph are noisy.

    The noise changes weights (at signal-to-noise ratios of 40 to 5 dB), drops edges, or adds edges.

    Example: [bold]s2gnn analyse stability model/ --table new.csv --out robustness/[/bold]
    """
    if out is not None:
        check_results_folder(out)
    if table is None:
        estimator, _ = load_estimator(model)
        X, truth, looked_at = None, None, f"the {estimator.graph_.n_nodes:,} training rows"
    else:
        loaded = TableModel.load(model)
        estimator = loaded.estimator
        X, truth, looked_at = _rows_of(loaded, table)
    labels, known = (None, None) if truth is None else truth
    with progress_bar("noise on the edges", shown=not as_json) as show:
        found = estimator_stability(estimator, X, labels, known, seeds=range(seeds), on_progress=show)
    name = str(model)
    _finish(
        "stability",
        stability_content(found, name, looked_at),
        lambda _: stability_layout(found, name, looked_at),
        lambda _: draw_stability(found, name),
        out,
        as_json,
    )


def _rows_of(model: TableModel, path: Path) -> tuple[Any, Any, str]:
    """Read a table; return it, its labels with the mask of labelled rows (if any), and a description."""
    table = read_table(path)
    truth = model.truth(table)
    labelled = 0 if truth is None else int(truth[1].sum())
    seen = int(model.estimator.seen_in_training(table).sum())
    return (
        table,
        truth,
        f"the {table.n_rows:,} rows of {path}, {seen:,} of them seen in training and {labelled:,} labelled",
    )


@app.command()
def spectrum(
    graph: Annotated[str, typer.Argument(help="A graph file (.npz) written by s2gnn, or the name of a data set.")],
    kind: GraphKind = None,
    k: K = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Compare the spectra of matrix powers and Hadamard powers of a graph's Laplacian.

    Reports their distance and correlation, condition numbers, definiteness, and Theorem 2 of the paper.

    Example: [bold]s2gnn analyse spectrum iris.npz --out spectrum/[/bold]
    """
    if out is not None:
        check_results_folder(out)
    loaded, title = _graph(graph, kind, k)
    content = spectrum_content(Path(graph).stem if title is None else graph, loaded)

    def layout(content: Mapping[str, Any]) -> Table:
        return replace(spectrum_table(content, title), title=f"Spectra of {graph}")

    _finish("spectrum", content, layout, partial(draw_spectrum, kind=title), out, as_json)


def _graph(given: str, kind: Kind | None, k: int | None) -> tuple[Graph, str | None]:
    """Return the graph of a data set and its kind, or the graph of a file and `None`."""
    if given in CATALOGUE:
        kind = kind or dataset_info(given).kind
        k = graph_k(given, kind, k)
        return dataset_graph(load_dataset(given), kind, k, progress=True)[1], graph_title(kind, k)
    if not Path(given).is_file():
        known = ", ".join(name for name, found in CATALOGUE.items() if found.task == "nodes")
        raise InputError(f"{given} is neither a file nor a data set: give a graph file, or one of {known}")
    if kind is not None or k is not None:
        raise InputError(f"--kind and --k are for a data set, but {given} is a graph already: omit them")
    return load_graph(given), None


def _finish(
    name: str,
    content: Mapping[str, Any],
    layout: Callable[[Mapping[str, Any]], Table],
    draw: Callable[[Mapping[str, Any]], Figure],
    out: Path | None,
    as_json: bool,
) -> None:
    """Print the result and write its files if `out` is given."""
    record = made_record(command_line(), content)
    if out is not None:
        write_record(out, name, record, layout, draw)
    if as_json:
        print(json.dumps(record, indent=1))
        return
    print(render(layout(content), "text"), end="")
    if out is not None:
        print(f"Numbers and picture: {out / name}.json, .csv, .png and .svg")
