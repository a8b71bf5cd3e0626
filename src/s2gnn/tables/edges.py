"""A graph given by the user on the rows of a table: a list of edges, or a graph file."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph, load_graph
from s2gnn.tables.files import read_table
from s2gnn.tables.table import ROW_NAMES, Table, stripped


def read_edges(path: Path, table: Table, identifier: str | None = None) -> Graph:
    """Read the graph in `path`, whose nodes are the rows of `table`.

    A .npz file is a graph written by s2gnn. A .csv or .tsv file has one line per edge: its two rows and optionally its
    weight, in columns of any name. Rows are given by their value in the column `identifier` of the table; without it,
    by their number, 1 for the first row below the header. An edge may be listed in one direction or both; self-loops
    are ignored.

    Raises:
        InputError: if an end is not a row of the table, a weight is not positive, or an edge has two weights.
    """
    if path.suffix.lower() == ".npz":
        graph = load_graph(path)
        if graph.n_nodes != table.n_rows:
            raise InputError(f"{path} has {graph.n_nodes:,} nodes, but {table.source} has {table.n_rows:,} rows")
        return graph
    edges = read_table(path)
    names = [name for name in edges.columns if name != ROW_NAMES]
    if len(names) not in (2, 3):
        raise InputError(
            f"{path} has {len(names)} columns, but a list of edges has two, the rows that are joined, or three with "
            "the weight"
        )
    ends = np.stack([_rows(edges, name, table, identifier) for name in names[:2]], axis=1)
    weights = _weights(edges, names[2]) if len(names) == 3 else np.ones(len(ends))
    return _graph(ends, weights, table.n_rows, path)


def _rows(edges: Table, name: str, table: Table, identifier: str | None) -> NDArray[np.int64]:
    """Return the table positions (E,) of the rows in a column of the list of edges."""
    if identifier is None:
        numbers = edges.numbers(name, "the number of a row", "give --id COLUMN if edges name rows by an identifier")
        bad = np.flatnonzero(~((numbers >= 1) & (numbers <= table.n_rows) & (numbers == np.round(numbers))))
        if len(bad):
            problem = f"but the rows of {table.source} are numbered from 1 to {table.n_rows}"
            raise edges.value_error(name, bad[0], edges.column(name)[bad[0]] or "empty", problem)
        return numbers.astype(np.int64) - 1
    position: dict[str, int] = {}
    for row, value in enumerate(stripped(table.column(identifier)).tolist()):
        if position.setdefault(value, row) != row:
            raise InputError(
                f"column {identifier!r} of {table.source} is {value!r} in rows {position[value] + 1} and {row + 1}: "
                "an identifier names one row only"
            )
    values = stripped(edges.column(name)).tolist()
    unknown = next((row for row, value in enumerate(values) if value not in position), None)
    if unknown is not None:
        problem = f"which column {identifier!r} of {table.source} does not have"
        raise edges.value_error(name, unknown, repr(values[unknown]), problem)
    return np.array([position[value] for value in values], dtype=np.int64)


def _weights(edges: Table, name: str) -> NDArray[np.float64]:
    weights = edges.numbers(name, "a weight", "give every edge a positive weight")
    bad = np.flatnonzero(~(weights > 0))
    if len(bad):
        problem = "but a weight is a positive number: delete the rows that are not edges"
        raise edges.value_error(name, bad[0], edges.column(name)[bad[0]] or "empty", problem)
    return weights


def _graph(ends: NDArray[np.int64], weights: NDArray[np.float64], n: int, path: Path) -> Graph:
    between = ends[:, 0] != ends[:, 1]
    ends, weights = np.sort(ends[between], axis=1), weights[between]
    if not len(ends):
        raise InputError(f"{path} joins no two different rows: a graph needs edges")
    keys, first, inverse = np.unique(ends[:, 0] * n + ends[:, 1], return_index=True, return_inverse=True)
    differing = np.flatnonzero(weights != weights[first][inverse])
    if len(differing):
        i, j = ends[differing[0]] + 1
        raise InputError(f"{path} gives the edge between rows {i} and {j} two different weights: keep one of them")
    return Graph.from_edge_list(np.stack(np.divmod(keys, n), axis=1), weights[first], n)
