"""The paper's Table I: the sizes of the data sets and their graphs, measured and published."""

from collections.abc import Iterator
from dataclasses import asdict

from s2gnn.data import CATALOGUE, dataset_graph, load_dataset, statistics
from s2gnn.data.catalogue import Kind, dataset_info, graph_title
from s2gnn.data.statistics import Statistic
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block
from s2gnn.render import Table

# ogbn-proteins is a large download that needs gigabytes of memory to be converted: s2gnn data info measures it.
DATA = tuple(name for name, found in CATALOGUE.items() if found.published is not None and found.name != "ogbn-proteins")
_FIGURES = ("nodes", "edges", "features", "classes")


def _measure(at: Measurement) -> Iterator[Row]:
    kind, k = dataset_info(at.data).kind, dataset_info(at.data).k
    kinds: tuple[Kind, ...] = ("knn", "smooth") if kind == "knn" else (kind,)
    for kind in kinds:
        at.report(f"{at.data} {kind}")
        dataset, graph = dataset_graph(load_dataset(at.data), kind)
        figures = [asdict(figure) for figure in statistics(dataset, graph, kind)]
        yield {"graph": kind, "k": k if kind in ("knn", "smooth") else None, "figures": figures}


def _tabulate(content: Content) -> Table:
    """Return one row for each data set and graph, with the paper's value if it differs."""
    note = (
        "The paper's value is in brackets if it differs; the paper's table does not include homophily. It is not "
        "published which 3,000 rows of HAR, Isolet and 20News the paper sampled."
    )
    header = ("data set", "graph", *_FIGURES, "homophily")
    return Table("", header, (block("Measured (paper)", map(_texts, content["rows"])),), (note,))


def _texts(row: Row) -> tuple[str, ...]:
    figures = {figure["name"]: Statistic(**figure) for figure in row["figures"]}
    homophily = f"{figures['homophily'].measured:.4f}" if "homophily" in figures else "–"
    graph = graph_title(display_name(row["graph"]), row["k"])
    return display_name(row["data"]), graph, *(_text(figures[name]) for name in _FIGURES), homophily


def _text(figure: Statistic) -> str:
    same = figure.published in (None, figure.measured)
    return f"{figure.measured:,}" + ("" if same else f" ({figure.published:,})")


STUDY = MeasuredStudy("table1", "Data sets and their graphs", "Table I", DATA, _measure, _tabulate)
