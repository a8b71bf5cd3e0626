"""Noise on the edges of a graph, and how the outputs and the score of any trained model change under it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.validation import check_choice
from s2gnn.links import NonEdges

NoiseKind = Literal["weights", "dropped", "added"]
Outputs = NDArray[np.float64]

RATIOS = (40.0, 30.0, 20.0, 10.0, 5.0)  # dB, the paper's
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class EdgeNoise:
    """One kind of noise on the edges of a graph, in one strength.

    Attributes:
        kind: "weights" changes the weights of the edges that are there, "dropped" takes edges away, "added" joins nodes
            that are not joined, with weights drawn from those of the graph.
        level: the signal-to-noise ratio in dB of "weights", at least 0; the share of the number of edges of the others,
            in (0, 1].
    """

    kind: NoiseKind
    level: float

    def __post_init__(self) -> None:
        check_choice("the kind of noise", self.kind, get_args(NoiseKind))
        if self.kind == "weights" and not 0 <= self.level < np.inf:
            raise InputError(
                f"the signal-to-noise ratio is {self.level} dB, but it must be at least 0: an edge changes by no more "
                "than its weight"
            )
        if self.kind != "weights" and not 0 < self.level <= 1:
            raise InputError(f"the share of edges {self.kind} is {self.level}, but it must be in (0, 1]")

    @property
    def label(self) -> str:
        """The noise in a few words."""
        return f"weights at {self.level:g} dB" if self.kind == "weights" else f"{100 * self.level:g} % {self.kind}"

    def fits(self, graph: Graph) -> bool:
        """Whether `graph` has room for it: edges, and pairs of nodes that are not joined for those to be added."""
        joined, pairs = graph.n_edges, graph.n_nodes * (graph.n_nodes - 1) // 2
        return joined > 0 and (self.kind != "added" or round(self.level * joined) <= pairs - joined)

    def applied(self, graph: Graph, generator: np.random.Generator) -> Graph:
        """`graph` under a draw of this noise."""
        if graph.n_edges == 0:
            raise InputError("the graph has no edges, so there are none to put noise on")
        draw = {"weights": perturbed_weights, "dropped": dropped_edges, "added": added_edges}[self.kind]
        return draw(graph, self.level, generator)


def edge_noises(ratios: Sequence[float] = RATIOS, shares: Sequence[float] = SHARES) -> tuple[EdgeNoise, ...]:
    """Noise on the weights at these `ratios` (dB), and edges dropped and added at these `shares`, in this order."""
    return (
        *(EdgeNoise("weights", ratio) for ratio in ratios),
        *(EdgeNoise("dropped", share) for share in shares),
        *(EdgeNoise("added", share) for share in shares),
    )


def perturbed_weights(graph: Graph, snr: float, generator: np.random.Generator) -> Graph:
    r"""A + E with E in the paper's set P (symmetric, |E_ij| <= A_ij) and ‖A‖² / ‖E‖² = 10^(snr/10), Frobenius norms.

    Normal noise is cut to what P allows and scaled so that it has the ratio `snr`, in dB, after the cut. An edge whose
    weight is cut to zero is none.
    """
    pairs, weights = graph.to_edge_list()
    relative = weights / weights.max()
    drawn = generator.normal(size=len(weights))
    scale = _scale_after_cut(np.abs(drawn), relative, float((relative**2).sum()) * 10 ** (-snr / 10))
    noise = np.clip(scale * drawn, -relative, relative)
    return Graph.from_edge_list(pairs, (relative + noise) * weights.max(), graph.n_nodes)


def _scale_after_cut(sizes: NDArray[np.float64], limits: NDArray[np.float64], energy: float) -> float:
    """The s for which Σ min(s · size, limit)² is `energy`, which is at most Σ limit²."""
    cut_at = limits / np.maximum(sizes, np.finfo(np.float64).tiny)  # the s from which on an edge is cut
    order = np.argsort(cut_at)
    cut = np.concatenate([[0.0], np.cumsum(limits[order] ** 2)[:-1]])  # energy of the edges cut before this one
    free = np.cumsum(sizes[order][::-1] ** 2)[::-1]  # of the others, at s = 1
    reached = cut + cut_at[order] ** 2 * free
    place = min(int(np.searchsorted(reached, energy)), len(order) - 1)
    return float(np.sqrt(max(energy - cut[place], 0.0) / free[place]))


def dropped_edges(graph: Graph, share: float, generator: np.random.Generator) -> Graph:
    """`graph` without a random `share` of its edges."""
    pairs, weights = graph.to_edge_list()
    kept = np.sort(generator.permutation(len(weights))[round(share * len(weights)) :])
    return Graph.from_edge_list(pairs[kept], weights[kept], graph.n_nodes)


def added_edges(graph: Graph, share: float, generator: np.random.Generator) -> Graph:
    """`graph` with `share` times the number of its edges more, between random nodes that were not joined.

    The weights of the new edges are drawn from those of the graph.
    """
    pairs, weights = graph.to_edge_list()
    new = NonEdges(graph).draw(round(share * len(weights)), generator)
    drawn = generator.choice(weights, len(new))
    return Graph.from_edge_list(np.concatenate([pairs, new]), np.concatenate([weights, drawn]), graph.n_nodes)


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
