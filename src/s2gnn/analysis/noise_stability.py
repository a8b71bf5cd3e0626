"""Stability of any trained model on a graph: how its outputs and its score change when the edges are noisy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.analysis.edge_noise import EdgeNoise, edge_noises
from s2gnn.errors import InputError
from s2gnn.graphs import Graph

Outputs = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoiseStability:
    """What edge noise does to a model, for L kinds and strengths of noise and S draws of each.

    Attributes:
        noises: (L,).
        seeds: of the draws, (S,).
        changes: ‖Ŷ − Y‖ / ‖Y‖ of the outputs with and without noise, Frobenius norms, (L, S).
        flips: the share of rows whose largest output is another one with noise, (L, S); `None` for a single output.
        clean_score: without noise; `None` where no score was asked for.
        scores: with noise, (L, S); `None` where no score was asked for.
    """

    noises: tuple[EdgeNoise, ...]
    seeds: tuple[int, ...]
    changes: NDArray[np.float64]
    flips: NDArray[np.float64] | None
    clean_score: float | None
    scores: NDArray[np.float64] | None


def edge_noise_stability(
    outputs: Callable[[Graph], Any],
    graph: Graph,
    score: Callable[[Outputs], float] | None = None,
    *,
    noises: Sequence[EdgeNoise] | None = None,
    seeds: Sequence[int] = range(10),
    on_draw: Callable[[int], None] | None = None,
) -> NoiseStability:
    """Measure a model on `graph` with noise on its edges.

    Models that are given the same graph, noises and seeds meet the same noisy graphs.

    Args:
        outputs: the model's outputs (n, C) on a graph, for instance
            `lambda graph: predict_logits(model, *model.prepare(x, graph))`.
        graph: without noise.
        score: of outputs, such as the accuracy on the test nodes.
        noises: kinds and strengths; default `edge_noises()`: weights at 5 to 40 dB, 5 to 50 % of the edges dropped
            and added.
        seeds: a draw of each noise for each of them.
        on_draw: called with the number of draws measured so far, for a progress bar.
    """
    noises = edge_noises() if noises is None else tuple(noises)
    if not noises or not seeds:
        raise InputError(f"there are {len(noises)} noises and {len(seeds)} seeds, but at least one of each is needed")
    clean = _checked(outputs(graph))
    size = float(np.linalg.norm(clean))
    if size == 0:
        raise InputError("all outputs are zero on the graph without noise, so that no change can be relative to them")
    changes, scores = np.empty((2, len(noises), len(seeds)))
    flips = np.empty_like(changes)
    for row, noise in enumerate(noises):
        for column, seed in enumerate(seeds):
            noisy = _checked(outputs(noise.applied(graph, np.random.default_rng(seed))), clean.shape)
            changes[row, column] = np.linalg.norm(noisy - clean) / size
            flips[row, column] = np.mean(noisy.argmax(axis=1) != clean.argmax(axis=1))
            scores[row, column] = np.nan if score is None else score(noisy)
            if on_draw is not None:
                on_draw(row * len(seeds) + column + 1)
    return NoiseStability(
        noises,
        tuple(seeds),
        changes,
        flips if clean.shape[1] > 1 else None,
        None if score is None else score(clean),
        None if score is None else scores,
    )


def _checked(given: Any, shape: tuple[int, ...] | None = None) -> Outputs:
    values = np.asarray(given, dtype=np.float64)
    expected = "(n, C), one row for each node" if shape is None else f"{shape}, as without noise"
    if values.ndim != 2 or values.size == 0 or (shape is not None and values.shape != shape):
        raise InputError(f"the outputs have shape {values.shape}, but it must be {expected}")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0].tolist()
        raise InputError(f"output ({row}, {column}) is {values[row, column]}, but outputs are finite numbers")
    return values
