"""The paper's appendix on stability: both sides of Theorem 3 over the signal-to-noise ratio of a perturbation."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from s2gnn.analysis import StabilityBound, laplacian_bound, noise, perturbation, stability_bound
from s2gnn.experiments.measured import Content, MeasuredStudy, Measurement, Row, block, grouped, rows_frame
from s2gnn.pictures import QUIET, add_legend, graded, panel_grid
from s2gnn.render import Table

NODES, F0, F1, SEEDS = 10, 16, 2, 100
RATIOS = (5, 10, 20, 30, 40)  # dB
_BOUNDS = ("full", "first_order", "literal")


@dataclass(frozen=True)
class Setting:
    """One curve: the parameter that its panel varies, Hadamard power, edge probability and ε."""

    panel: str
    rho: int = 2
    p: float = 0.3
    epsilon: float = 0.5

    @property
    def label(self) -> str:
        """The value that the panel varies."""
        return {"rho": f"ρ = {self.rho}", "p": f"p = {self.p:g}", "epsilon": f"ε = {self.epsilon:g}"}[self.panel]


SETTINGS = (
    *(Setting("rho", rho=rho) for rho in (2, 3)),
    *(Setting("p", p=p) for p in (0.1, 0.3, 0.5)),
    *(Setting("epsilon", epsilon=epsilon) for epsilon in (0.5, 5.0, 10.0)),
)


def draw_example(setting: Setting, snr: float, seed: int) -> tuple[StabilityBound, StabilityBound]:
    """Evaluate the theorem and its lemma on an Erdős–Rényi graph with normal features and weights drawn from `seed`."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((NODES, NODES)) < setting.p, 1).astype(float)
    A = A + A.T
    X, W = rng.normal(size=(NODES, F0)), rng.normal(size=(F0, F1))
    E = perturbation(A, snr, rng)
    theorem = stability_bound(A, E, X, W, W + noise(W, snr, rng), setting.rho, setting.epsilon)
    return theorem, laplacian_bound(A, E, setting.rho, setting.epsilon)


def _measure(at: Measurement) -> Iterator[Row]:
    for setting in SETTINGS:
        at.report(setting.label)
        for snr in RATIOS:
            theorem, lemma = zip(*(draw_example(setting, snr, seed) for seed in range(SEEDS)), strict=True)
            yield {
                "panel": setting.panel,
                "label": setting.label,
                "snr": snr,
                **{name: float(np.mean([getattr(one, name) for one in theorem])) for name in ("distance", *_BOUNDS)},
                "violations": {name: _violations(theorem, name) for name in _BOUNDS},
                "lemma_violations": {name: _violations(lemma, name) for name in _BOUNDS},
            }


def _violations(found: tuple[StabilityBound, ...], name: str) -> int:
    return sum(bound.distance > getattr(bound, name) * (1 + 1e-12) for bound in found)


def _tabulate(content: Content) -> Table:
    header = ("SNR (dB)", "distance", "full bound", "first order", "as printed", "violated", "lemma violated")
    note = (
        f"Means over {content['seeds']} seeds: ‖Y − Ŷ‖ and the right-hand side of Theorem 3. Violated: how often the "
        "full, the first-order and the printed bound were exceeded, for the theorem and for its lemma "
        f"‖L^(ρ) − L̂^(ρ)‖. Defaults: ρ = 2, p = 0.3, ε = 0.5; {NODES} nodes. The paper reports that the distance grows "
        "with ρ, p and ε and that the bound tightens with the ratio."
    )
    blocks = (block(label, map(_texts, rows)) for label, rows in grouped(content["rows"], "label").items())
    return Table("", header, tuple(blocks), (note,))


def _texts(row: Row) -> tuple[str, ...]:
    values = (f"{row[name]:.3g}" for name in ("distance", *_BOUNDS))
    counts = (" / ".join(str(row[key][name]) for name in _BOUNDS) for key in ("violations", "lemma_violations"))
    return str(row["snr"]), *values, *counts


def _draw(content: Content) -> Figure:
    """Draw one panel for each parameter: the distance solid, the full bound dashed, on a logarithmic axis."""
    figure, panels, _ = panel_grid(3, 3, 2.2, sharey=True)
    frame = rows_frame(content)
    titles = {"rho": "Hadamard power", "p": "edge probability", "epsilon": "Sobolev coefficient"}
    for axes, panel in zip(panels, titles, strict=True):
        curves = frame[frame["panel"] == panel].groupby("label", sort=False)
        for colour, (label, curve) in zip(graded(curves.ngroups), curves, strict=True):
            axes.plot(curve["snr"], curve["distance"], color=colour, marker="o", label=label)
            axes.plot(curve["snr"], curve["full"], color=colour, linestyle="--")
        axes.set_yscale("log")
        axes.set_title(titles[panel])
        axes.set_xlabel("signal-to-noise ratio (dB)")
        axes.legend()
    panels[0].set_ylabel("change of the output")
    handles = [
        Line2D([], [], color=QUIET, marker="o", label=r"measured $\|Y-\hat Y\|$"),
        Line2D([], [], color=QUIET, linestyle="--", label="bound of Theorem 3"),
    ]
    add_legend(figure, None, handles)
    return figure


STUDY = MeasuredStudy(
    "stability",
    "Stability against perturbed edges",
    "Theorem 3, appendix",
    ("erdos-renyi",),
    _measure,
    _tabulate,
    _draw,
    settings=lambda _: {"seeds": SEEDS},
)
