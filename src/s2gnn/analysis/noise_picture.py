"""Panels that show a measure of one or several models over the strength of edge noise, one for each kind of noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from s2gnn.analysis.edge_noise import EdgeNoise
from s2gnn.pictures import PALETTE, bare

BAND = (10, 90)  # per cent of the runs
TITLES = {"weights": "noise on the weights", "dropped": "edges dropped", "added": "edges added"}
_AXES = {
    "weights": "signal-to-noise ratio (dB)",
    "dropped": "share of the edges (%)",
    "added": "share of the edges (%)",
}
_COLOURS, _MARKERS = (PALETTE[0], PALETTE[4], PALETTE[2]), "osD"


@dataclass(frozen=True)
class Curve:
    """A measure of one model: `values` (L, runs) by noise, under a `label`."""

    label: str
    values: ArrayLike


def draw_noise_row(
    panels: Sequence[Axes],
    noises: Sequence[EdgeNoise],
    curves: Sequence[Curve],
    ylabel: str,
    *,
    low: float | None = 0.0,
) -> None:
    """Draw means over runs and a band of the middle 80 % of them; noise grows to the right.

    Args:
        panels: one for each kind of noise that `noises` has, in their order.
        noises: (L,).
        curves: up to three.
        ylabel: of the first panel.
        low: where the vertical axis begins, for measures that are not negative; `None` leaves it free.
    """
    kinds = list(dict.fromkeys(noise.kind for noise in noises))
    for axes, kind in zip(panels, kinds, strict=True):
        rows = [row for row, noise in enumerate(noises) if noise.kind == kind]
        factor = 1 if kind == "weights" else 100
        strengths = [factor * noises[row].level for row in rows]
        for curve, colour, marker in zip(curves, _COLOURS, _MARKERS, strict=False):
            values: Any = np.asarray(curve.values)[rows]
            axes.fill_between(strengths, *np.percentile(values, BAND, axis=1), color=colour, alpha=0.2, linewidth=0)
            axes.plot(strengths, values.mean(axis=1), color=colour, marker=marker, markersize=3.5, label=curve.label)
        axes.set_xticks(strengths)
        axes.set_xlabel(_AXES[kind], fontsize=8)
        axes.tick_params(labelsize=8)
        if kind == "weights":
            axes.xaxis.set_inverted(True)
        bare(axes)
    panels[0].set_ylabel(ylabel, fontsize=8)
    if low is not None:
        panels[0].set_ylim(bottom=low)
