"""The paper's Figure 3 and Theorem 2: the spectra of regular and Hadamard powers, measured on real graphs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from s2gnn.analysis import conditioning, kronecker_form, penalisation
from s2gnn.analysis.spectrum import EXACT_NODES
from s2gnn.data import dataset_graph, load_dataset
from s2gnn.graphs import Graph
from s2gnn.pictures import PALETTE, bare
from s2gnn.render import Block, Cell, Table
from s2gnn.studies.measured import MeasuredStudy, Report

ORDERS = (1, 2, 3, 4, 5)
EPSILONS = (0.1, 0.5, 1.0, 1.5, 2.0)
DATA = ("cancer-b", "cancer-m", "20news", "har", "isolet")
_PART = 100  # nodes of the subgraph on which the Kronecker product is formed
_POINTS = 201


def _measure(data: Sequence[str] | None, report: Report) -> dict[str, Any]:
    rows = []
    for name in data or DATA:
        report(f"{name}: penalisation")
        _, graph = dataset_graph(load_dataset(name), "knn")
        rows.append(spectrum_row(name, graph))
    return spectrum_content(rows)


def spectrum_content(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows of `spectrum_row`, with what they have in common."""
    return {"orders": ORDERS, "epsilons": EPSILONS, "rows": list(rows)}


def spectrum_row(name: str, graph: Graph) -> dict[str, Any]:
    """All that is measured of one graph, under a name."""
    found = penalisation(graph, ORDERS)
    shares = np.linspace(0, 1, _POINTS)
    forms = [kronecker_form(_first_nodes(graph), rho) for rho in ORDERS[1:]]
    return {
        "data": name,
        "method": found.method,
        "shares": shares.tolist(),
        "regular": [np.interp(shares, found.shares, curve).tolist() for curve in found.regular],
        "sparse": [np.interp(shares, found.shares, curve).tolist() for curve in found.sparse],
        "distances": found.distances.tolist(),
        "correlations": found.correlations.tolist(),
        "conditioning": _conditioning(graph) if graph.n_nodes <= EXACT_NODES else None,
        "kronecker_errors": [form.error for form in forms],
        "interlaces": [form.interlaces for form in forms],
    }


def _conditioning(graph: Graph) -> dict[str, Any]:
    laplacian = conditioning(graph, ORDERS, EPSILONS)
    adjacency = conditioning(graph, ORDERS, EPSILONS, "normalized_adjacency")
    return {
        "numbers": [[v if np.isfinite(v) else None for v in line] for line in laplacian.numbers.tolist()],
        "definite_laplacian": laplacian.definite.tolist(),
        "definite_normalized_adjacency": adjacency.definite.tolist(),
    }


def _first_nodes(graph: Graph) -> Graph:
    """The subgraph of the first nodes, small enough for a Kronecker product."""
    return Graph.from_scipy(graph.to_scipy()[:_PART, :_PART])


def spectrum_layout(content: Mapping[str, Any], kind: str | None = "k-NN") -> Table:
    """Distances, correlations and condition numbers by order, and what the theorems say; `kind` is of the graphs."""
    rows = content["rows"]
    orders = tuple(f"ρ = {rho}" for rho in content["orders"])

    def block(heading: str, key: str, form: str) -> Block:
        return Block(heading, tuple(tuple(map(Cell, (r["data"], *(format(v, form) for v in r[key])))) for r in rows))

    conditions = tuple(
        tuple(map(Cell, (f"{row['data']}, ε = {epsilon:g}", *(_number(line[position]) for line in numbers))))
        for row in _decomposed(content)
        for numbers in [row["conditioning"]["numbers"]]
        for position, epsilon in enumerate(content["epsilons"])
    )
    return Table(
        "",
        ("graph" if kind is None else f"graph ({kind})", *orders),
        (
            block(
                "Distance of the normalised spectra of L^ρ and L^(ρ): mean difference over all frequencies",
                "distances",
                ".3f",
            ),
            block("Correlation of the two curves", "correlations", ".3f"),
            Block("Condition number of (L + εI)^(ρ)", conditions),
        ),
        (_theorem(content), _definite(content), _methods(content)),
    )


def _number(value: float | None) -> str:
    return "beyond rounding" if value is None else f"{value:.3g}"


def _decomposed(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of graphs small enough for a full decomposition."""
    return [row for row in content["rows"] if row["conditioning"] is not None]


def _theorem(content: Mapping[str, Any]) -> str:
    error = max(max(row["kronecker_errors"]) for row in content["rows"])
    all_interlace = all(all(row["interlaces"]) for row in content["rows"])
    verdict = "always interlace" if all_interlace else "do not always interlace"
    return (
        f"Theorem 2 on the first {_PART} nodes of each graph: the Kronecker form gives L^(ρ) with a relative error of "
        f"at most {error:.1e}; its eigenvalues {verdict} with those of L ⊗ L^(ρ−1)."
    )


def _definite(content: Mapping[str, Any]) -> str:
    epsilons = np.array(content["epsilons"])
    rows = [row["conditioning"] for row in _decomposed(content)]
    if not rows:
        return f"Definiteness is looked at on graphs of at most {EXACT_NODES:,} nodes."
    laplacian = np.array([row["definite_laplacian"] for row in rows])
    adjacency = np.array([row["definite_normalized_adjacency"] for row in rows])

    def where(definite: Any) -> str:
        good = [f"{epsilon:g}" for epsilon, ok in zip(epsilons, definite.all(axis=(0, 1)), strict=True) if ok]
        return ", ".join(good) or "none"

    return (
        f"Positive definite for every ρ on {', '.join(row['data'] for row in _decomposed(content))}, of the values of "
        "ε tried: (L + εI)^(ρ) at "
        f"{where(laplacian)} (the paper: ε > 0), (A_N + εI)^(ρ) at {where(adjacency)} (the paper: ε > 1)."
    )


def _methods(content: Mapping[str, Any]) -> str:
    methods = "; ".join(f"{row['data']} by {row['method']}" for row in content["rows"])
    return f"The paper finds the spectra of L^ρ and L^(ρ) very alike. Eigenvalues: {methods}."


def draw_spectrum(content: Mapping[str, Any], kind: str | None = "k-NN") -> Figure:
    """The curves of the first graph: regular powers left, Hadamard powers right."""
    row = content["rows"][0]
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, key, title in zip(
        panels, ("regular", "sparse"), ("matrix power $L^\\rho$", "Hadamard power $L^{(\\rho)}$"), strict=True
    ):
        for colour, rho, curve in zip(PALETTE, content["orders"], row[key], strict=False):
            axes.plot(row["shares"], curve, color=colour, label=f"$\\rho={rho}$")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("frequency (share of the eigenvalues)")
        bare(axes)
    panels[0].set_ylabel("eigenvalue / largest eigenvalue")
    panels[0].legend(frameon=False, fontsize=8)
    title = row["data"] if kind is None else f"{row['data']} ({kind})"
    figure.suptitle(f"Penalisation of frequencies, {title}", fontsize=10)
    return figure


STUDY = MeasuredStudy(
    "spectrum",
    "Spectra of regular and Hadamard powers",
    "Figure 3, Theorem 2",
    DATA,
    _measure,
    spectrum_layout,
    draw_spectrum,
)
