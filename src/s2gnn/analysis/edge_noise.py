"""Edge noise, and the stability of the outputs and scores of trained models under it."""

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
    """A kind and level of edge noise.

    Attributes:
        kind: "weights" perturbs the weights of edges, "dropped" removes edges, "added" adds edges with weights sampled
            from the graph's.
        level: signal-to-noise ratio in dB for "weights", at least 0; for the others the share of edges, in (0, 1].
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
        """A short description of the noise."""
        return f"weights at {self.level:g} dB" if self.kind == "weights" else f"{100 * self.level:g} % {self.kind}"

    def fits(self, graph: Graph) -> bool:
        """Return whether `graph` has room for it: edges to drop, or pairs of nodes without an edge to add."""
        joined, pairs = graph.n_edges, graph.n_nodes * (graph.n_nodes - 1) // 2
        return joined > 0 and (self.kind != "added" or round(self.level * joined) <= pairs - joined)

    def applied(self, graph: Graph, generator: np.random.Generator) -> Graph:
        """Apply a random draw of this noise to `graph`."""
        if graph.n_edges == 0:
            raise InputError("the graph has no edges, so there are none to put noise on")
        draw = {"weights": perturbed_weights, "dropped": dropped_edges, "added": added_edges}[self.kind]
        return draw(graph, self.level, generator)


def edge_noises(ratios: Sequence[float] = RATIOS, shares: Sequence[float] = SHARES) -> tuple[EdgeNoise, ...]:
    """Return noise on the weights at these `ratios` (dB), and edges dropped and added at these `shares`, in order."""
    return (
        *(EdgeNoise("weights", ratio) for ratio in ratios),
        *(EdgeNoise("dropped", share) for share in shares),
        *(EdgeNoise("added", share) for share in shares),
    )


def perturbed_weights(graph: Graph, snr: float, generator: np.random.Generator) -> Graph:
    r"""Return A + E, E in the paper's set P (symmetric, |E_ij| <= A_ij), ‖A‖² / ‖E‖² = 10^(snr/10), Frobenius norms.

    Normal noise is clipped to P, and scaled so that the ratio is `snr`, in dB, after clipping. Edges whose weight
    becomes zero are removed.
    """
    pairs, weights = graph.to_edge_list()
    relative = weights / weights.max()
    drawn = generator.normal(size=len(weights))
    scale = _scale_after_cut(np.abs(drawn), relative, float((relative**2).sum()) * 10 ** (-snr / 10))
    noise = np.clip(scale * drawn, -relative, relative)
    return Graph.from_edge_list(pairs, (relative + noise) * weights.max(), graph.n_nodes)


def _scale_after_cut(sizes: NDArray[np.float64], limits: NDArray[np.float64], energy: float) -> float:
    """Return the s for which Σ min(s · size, limit)² is `energy`, which is at most Σ limit²."""
    cut_at = limits / np.maximum(sizes, np.finfo(np.float64).tiny)  # the s from which on an edge is cut
    order = np.argsort(cut_at)
    cut = np.concatenate([[0.0], np.cumsum(limits[order] ** 2)[:-1]])  # energy of the edges cut before this one
    free = np.cumsum(sizes[order][::-1] ** 2)[::-1]  # of the others, at s = 1
    reached = cut + cut_at[order] ** 2 * free
    place = min(int(np.searchsorted(reached, energy)), len(order) - 1)
    return float(np.sqrt(max(energy - cut[place], 0.0) / free[place]))


def dropped_edges(graph: Graph, share: float, generator: np.random.Generator) -> Graph:
    """Remove a random `share` of the edges of `graph`."""
    pairs, weights = graph.to_edge_list()
    kept = np.sort(generator.permutation(len(weights))[round(share * len(weights)) :])
    return Graph.from_edge_list(pairs[kept], weights[kept], graph.n_nodes)


def added_edges(graph: Graph, share: float, generator: np.random.Generator) -> Graph:
    """Add `share` · E random edges to `graph`, with weights sampled from the graph's."""
    pairs, weights = graph.to_edge_list()
    new = NonEdges(graph).draw(round(share * len(weights)), generator)
    drawn = generator.choice(weights, len(new))
    return Graph.from_edge_list(np.concatenate([pairs, new]), np.concatenate([weights, drawn]), graph.n_nodes)


@dataclass(frozen=True, eq=False)
class NoiseStability:
    """The effect of edge noise on a model, for L noises with S random draws each.

    Attributes:
        noises: the noises, (L,).
        seeds: random seeds of the draws, (S,).
        changes: relative changes of the outputs, ‖Ŷ − Y‖ / ‖Y‖ in Frobenius norm, (L, S).
        flips: shares of rows whose predicted class changes, (L, S); `None` for a single output.
        clean_score: score without noise; `None` without a score function.
        scores: scores with noise, (L, S); `None` without a score function.
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
    """Measure the stability of a model under edge noise.

    The noisy graphs only depend on the graph, the noises and the seeds, so they are the same for all models.

    Args:
        outputs: function from a graph to the model's outputs (n, C), e.g.
            `lambda graph: predict_logits(model, *model.prepare(x, graph))`.
        graph: the graph without noise.
        score: function of the outputs, such as the accuracy on the test nodes.
        noises: kinds and levels of noise; default `edge_noises()`: weights at 5 to 40 dB, 5 to 50 % of the edges
            dropped and added.
        seeds: random seeds; each noise is drawn once per seed.
        on_draw: function called with the number of draws so far, e.g. for a progress bar.
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
