"""The paper's Figure 3 and Theorem 2: the spectra of regular and Hadamard powers, measured on real graphs."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from s2gnn.analysis import conditioning, kronecker_form, penalisation
from s2gnn.analysis.spectrum import EXACT_NODES
from s2gnn.data import dataset_graph, load_dataset
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block
from s2gnn.graphs import Graph
from s2gnn.pictures import add_legend, graded, panel_grid
from s2gnn.render import Table

ORDERS = (1, 2, 3, 4, 5)
EPSILONS = (0.1, 0.5, 1.0, 1.5, 2.0)
DATA = ("cancer-b", "cancer-m", "20news", "har", "isolet")
_SUBGRAPH = 100  # nodes of the subgraph on which the Kronecker product is formed
_POINTS = 201


def _measure(at: Measurement) -> Iterator[Row]:
    _, graph = dataset_graph(load_dataset(at.data), "knn")
    yield _row(graph)


def spectrum_content(name: str, graph: Graph) -> Row:
    """Return the content of the study for one graph under a name."""
    return {"orders": ORDERS, "epsilons": EPSILONS, "rows": [{"data": name, **_row(graph)}]}


def _row(graph: Graph) -> Row:
    found = penalisation(graph, ORDERS)
    shares = np.linspace(0, 1, _POINTS)
    subgraph = Graph.from_scipy(graph.to_scipy()[:_SUBGRAPH, :_SUBGRAPH])
    forms = [kronecker_form(subgraph, rho) for rho in ORDERS[1:]]
    return {
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


def _conditioning(graph: Graph) -> Row:
    laplacian = conditioning(graph, ORDERS, EPSILONS)
    adjacency = conditioning(graph, ORDERS, EPSILONS, "normalized_adjacency")
    return {
        "numbers": [[v if np.isfinite(v) else None for v in line] for line in laplacian.numbers.tolist()],
        "definite_laplacian": laplacian.definite.tolist(),
        "definite_normalized_adjacency": adjacency.definite.tolist(),
    }


def spectrum_table(content: Content, kind: str | None = "k-NN") -> Table:
    """Return distances, correlations and condition numbers by order, and verdicts on the theorems; `kind` of graph."""
    rows = content["rows"]
    decomposed = [row for row in rows if row["conditioning"] is not None]
    conditions = (
        (
            f"{display_name(row['data'])}, ε = {epsilon:g}",
            *(_number(of_order[position]) for of_order in row["conditioning"]["numbers"]),
        )
        for row in decomposed
        for position, epsilon in enumerate(content["epsilons"])
    )
    methods = "; ".join(f"{display_name(row['data'])} by {row['method']}" for row in rows)
    return Table(
        "",
        ("graph" if kind is None else f"graph ({kind})", *(f"ρ = {rho}" for rho in content["orders"])),
        (
            block(
                "Distance of the normalised spectra of L^ρ and L^(ρ): mean difference over all frequencies",
                ((display_name(row["data"]), *(f"{value:.3f}" for value in row["distances"])) for row in rows),
            ),
            block(
                "Correlation of the two curves",
                ((display_name(row["data"]), *(f"{value:.3f}" for value in row["correlations"])) for row in rows),
            ),
            block("Condition number of (L + εI)^(ρ)", conditions),
        ),
        (
            _theorem(rows),
            _definite(decomposed, content["epsilons"]),
            f"The paper reports that the spectra of L^ρ and L^(ρ) are very similar. Eigenvalues: {methods}.",
        ),
    )


def _number(value: float | None) -> str:
    return "beyond rounding" if value is None else f"{value:.3g}"


def _theorem(rows: list[Row]) -> str:
    error = max(max(row["kronecker_errors"]) for row in rows)
    verdict = "always interlace" if all(all(row["interlaces"]) for row in rows) else "do not always interlace"
    return (
        f"Theorem 2 on the first {_SUBGRAPH} nodes of each graph: the Kronecker form gives L^(ρ) with a relative error "
        f"of at most {error:.1e}; its eigenvalues {verdict} with those of L ⊗ L^(ρ−1)."
    )


def _definite(decomposed: list[Row], epsilons: list[float]) -> str:
    if not decomposed:
        return f"Definiteness is checked on graphs of at most {EXACT_NODES:,} nodes."

    def where(shift: str) -> str:
        definite: Any = np.array([row["conditioning"][f"definite_{shift}"] for row in decomposed]).all(axis=(0, 1))
        return ", ".join(f"{epsilon:g}" for epsilon, holds in zip(epsilons, definite, strict=True) if holds) or "none"

    return (
        f"Positive definite for every ρ on {', '.join(display_name(row['data']) for row in decomposed)}, of the values "
        f"of ε tried: (L + εI)^(ρ) at {where('laplacian')} (the paper: ε > 0), (A_N + εI)^(ρ) at "
        f"{where('normalized_adjacency')} (the paper: ε > 1)."
    )


def draw_spectrum(content: Content, kind: str | None = "k-NN") -> Figure:
    """Draw the curves of the first graph: regular powers left, Hadamard powers right."""
    row = content["rows"][0]
    figure, panels, _ = panel_grid(2, 2, 2.3, sharey=True)
    titles = {"regular": "matrix power $L^\\rho$", "sparse": "Hadamard power $L^{(\\rho)}$"}
    for axes, (key, title) in zip(panels, titles.items(), strict=True):
        for colour, rho, curve in zip(graded(len(row[key])), content["orders"], row[key], strict=True):
            axes.plot(row["shares"], curve, color=colour, label=f"ρ = {rho}")
        axes.set_title(title)
        axes.set(xlabel="frequency (share of the eigenvalues)", xlim=(0, 1), ylim=(0, 1))
    panels[0].set_ylabel("eigenvalue / largest eigenvalue")
    title = display_name(row["data"]) if kind is None else f"{display_name(row['data'])}, {kind} graph"
    add_legend(figure, None, panels[0].get_lines())
    figure.suptitle(title)
    return figure


STUDY = MeasuredStudy(
    "spectrum",
    "Spectra of regular and Hadamard powers",
    "Figure 3, Theorem 2",
    DATA,
    _measure,
    spectrum_table,
    draw_spectrum,
    settings=lambda _: {"orders": ORDERS, "epsilons": EPSILONS},
)
