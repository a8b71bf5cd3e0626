"""The paper's Table I: the sizes of the data sets and their graphs, measured beside published."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from s2gnn import provenance
from s2gnn.data import CATALOGUE, dataset_graph, load_dataset, statistics
from s2gnn.data.catalogue import Kind, entry
from s2gnn.data.statistics import Statistic
from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.layout import Block, Entry, Layout

NAME = "table1"
TITLE = "Data sets and their graphs (Table I)"


@dataclass(frozen=True)
class DataRow:
    """A data set on one kind of graph, and its figures."""

    data: str
    graph: Kind
    k: int | None
    figures: tuple[Statistic, ...]


def kinds(data: str) -> tuple[Kind, ...]:
    """The graphs that the paper's table has of a data set."""
    found = entry(data)
    return ("knn", "smooth") if found.kind == "knn" else (found.kind,)


def measure(data: str, kind: Kind) -> DataRow:
    """Build the graph, or take it from the cache, and count."""
    dataset, graph = dataset_graph(load_dataset(data), kind)
    return DataRow(data, kind, entry(data).k if kind in ("knn", "smooth") else None, statistics(dataset, graph, kind))


def published_names() -> tuple[str, ...]:
    """The data sets that the paper's table has."""
    return tuple(name for name, found in CATALOGUE.items() if found.published is not None)


def write(path: Path, rows: list[DataRow], command: str) -> None:
    """Store measured rows with what made them."""
    record = {
        "command": command,
        "commit": provenance.commit(),
        "versions": provenance.versions(),
        "rows": [asdict(row) for row in rows],
    }
    write_atomically(path, f"{json.dumps(record, indent=1)}\n".encode())


def read(path: Path) -> dict[str, Any] | None:
    """The stored record; `None` if there is none."""
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        record["rows"] = [
            DataRow(row["data"], row["graph"], row["k"], tuple(Statistic(**figure) for figure in row["figures"]))
            for row in record["rows"]
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path} is damaged ({error}): make it anew with s2gnn study run {NAME}") from error
    return record


def data_layout(record: dict[str, Any] | None) -> Layout:
    """One row for each data set and graph; a figure that differs from the paper's is followed by the paper's."""
    header = ("data set", "graph", "nodes", "edges", "features", "classes", "homophily")
    if record is None:
        return Layout(TITLE, header, (), (f"No record yet: s2gnn study run {NAME}",))
    rows = tuple(_row(row) for row in record["rows"])
    notes = (
        "A figure that is not the paper's is followed by the paper's in brackets; a figure alone is exactly the "
        "paper's, but for homophily, which that table does not have. Which 3,000 rows of HAR, Isolet and 20News the "
        "paper drew is not published.",
        f"{record['command']}; commit {record['commit']}.",
    )
    return Layout(TITLE, header, (Block("Measured (paper)", rows),), notes)


def _row(row: DataRow) -> tuple[Entry, ...]:
    figures = {figure.name: figure for figure in row.figures}
    texts = [_figure(figures[name]) for name in ("nodes", "edges", "features", "classes")]
    homophily = f"{figures['homophily'].measured:.4f}" if "homophily" in figures else "–"
    graph = row.graph if row.k is None else f"{row.graph}, k = {row.k}"
    return tuple(map(Entry, (row.data, graph, *texts, homophily)))


def _figure(figure: Statistic) -> str:
    measured = f"{figure.measured:,}"
    same = figure.published in (None, figure.measured)
    return measured if same else f"{measured} ({figure.published:,})"
