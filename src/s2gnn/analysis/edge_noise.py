"""Noise on the edges of a graph: other weights within the paper's set P, edges dropped, edges added."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.validation import check_choice
from s2gnn.links import NonEdges

NoiseKind = Literal["weights", "dropped", "added"]

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
