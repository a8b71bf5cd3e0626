"""Choose the rows of a table to label next: by coverage of the graph, uncertainty, expected change, or at random."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from s2gnn.errors import InputError, unknown_name
from s2gnn.estimator import S2GNNClassifier
from s2gnn.graphs import Graph

Strategy = Literal["auto", "coverage", "uncertain", "change", "random"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
ROWS_AT_ONCE = 1_000  # labelled rows
EARLY = 1.5  # labels per class at which "auto" weighs coverage and uncertainty alike


def suggest(
    estimator: S2GNNClassifier,
    n: int,
    *,
    strategy: Strategy = "auto",
    without: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Suggest unlabelled training rows to label next, most useful first, (n,) or fewer if fewer are left.

    Args:
        estimator: a fitted classifier.
        n: number of rows.
        strategy: "coverage" picks rows with many neighbours that no labelled row is near; "uncertain" the smallest
            margins between the two likeliest classes; "change" the rows whose label is expected to change the
            predictions of their neighbours most; "random" any; "auto" moves from "coverage" to "uncertain" as labels
            come in. All but "random" spread the rows over the graph, so that no two are near-duplicates.
        without: rows that must not be suggested, such as skipped ones.
        seed: random seed of "random".

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = S2GNNClassifier(random_state=0).fit(X, np.where(np.arange(150) % 15 == 0, y, -1))
        >>> rows = suggest(classifier, 3)
        >>> bool(np.isin(rows, classifier.labelled_).any())
        False
    """
    check_is_fitted(estimator)
    if not isinstance(estimator, S2GNNClassifier):
        raise InputError(f"a {type(estimator).__name__} predicts quantities, but suggestions need an S2GNNClassifier")
    if estimator.labelled_ is None:
        raise InputError("this estimator was saved by a release that did not store the labels: fit it again")
    known = Known(estimator.graph_, estimator.labelled_, estimator.label_distributions_)
    return suggest_rows(known, n, strategy=strategy, without=without, seed=seed)


@dataclass(frozen=True)
class Known:
    """What is known about the rows of a table.

    Attributes:
        graph: of the N rows.
        labelled: rows with a label, (n,).
        probabilities: of the classes, (N, C); `None` before there are labels of two classes.
    """

    graph: Graph
    labelled: NDArray[np.int64]
    probabilities: NDArray[np.float64] | None = None


def suggest_rows(
    known: Known, n: int, *, strategy: Strategy = "auto", without: NDArray[np.int64] | None = None, seed: int = 0
) -> NDArray[np.int64]:
    """Return suggestions like `suggest`; without probabilities, every strategy but "random" is "coverage"."""
    if n < 1:
        raise InputError(f"n is {n}, but at least one row must be suggested")
    if strategy not in STRATEGIES:
        raise unknown_name("there is no strategy", strategy, STRATEGIES)
    free = np.ones(known.graph.n_nodes, dtype=np.bool_)
    free[known.labelled] = False
    if without is not None:
        free[without] = False
    rows = np.flatnonzero(free)
    if strategy == "random":
        return np.random.default_rng([seed, len(known.labelled)]).permutation(rows)[:n]
    near = _similarity(known.graph)
    score = SCORES["coverage" if known.probabilities is None else strategy](known, near)
    covered = np.zeros(len(free))  # how near each row is to a labelled or chosen one, 0..1
    if score.counts_labelled:
        for start in range(0, len(known.labelled), ROWS_AT_ONCE):
            nearest = _nearness(near, known.labelled[start : start + ROWS_AT_ONCE])
            np.maximum(covered, nearest.max(axis=0).toarray(), out=covered)
    chosen: list[int] = []
    for _ in range(min(n, len(rows))):
        best = int(rows[np.argmax(np.where(free[rows], score.of(1 - covered)[rows], -np.inf))])
        chosen.append(best)
        free[best] = False
        np.maximum(covered, _nearness(near, np.array([best])).toarray()[0], out=covered)
    return np.array(chosen, dtype=np.int64)


@dataclass(frozen=True)
class Score:
    """The usefulness of every row, (N,), given how much of it is uncovered, (N,)."""

    of: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    counts_labelled: bool = False  # whether labelled rows cover their neighbours


def margins(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the difference of the two largest probabilities of each row (N, C), (N,)."""
    largest = np.sort(probabilities, axis=1)[:, -2:]
    return np.asarray(largest[:, 1] - largest[:, 0])


def _coverage(known: Known, near: sp.csr_array) -> Score:
    del known
    shares = _shares(near)
    return Score(lambda uncovered: shares @ uncovered, counts_labelled=True)


def _uncertainty(known: Known, near: sp.csr_array) -> Score:
    del near
    assert known.probabilities is not None
    doubt = 1 - margins(known.probabilities)
    return Score(lambda uncovered: doubt * uncovered)


def _expected_change(known: Known, near: sp.csr_array) -> Score:
    """Return the expected change Σ_c p_c ‖e_c − p‖₁ = 2 Σ_c p_c (1 − p_c) of a row, times its share in neighbours."""
    assert known.probabilities is not None
    p = known.probabilities
    change = 2 * np.sum(p * (1 - p), axis=1)
    shares = _shares(near)
    open_rows = np.ones(len(p))
    open_rows[known.labelled] = 0
    return Score(lambda uncovered: change * (shares @ (open_rows * uncovered)) * uncovered)


def _coverage_then_uncertainty(known: Known, near: sp.csr_array) -> Score:
    r"""Return the weighted geometric mean :math:`c^w u^{1-w}` of coverage and uncertainty, for n labels.

    .. math:: w = 1.5\, C / (1.5\, C + n)
    """
    assert known.probabilities is not None
    early = EARLY * known.probabilities.shape[1]
    w = early / (early + len(known.labelled))
    coverage, uncertainty = _coverage(known, near), _uncertainty(known, near)
    return Score(
        lambda uncovered: coverage.of(uncovered) ** w * uncertainty.of(uncovered) ** (1 - w), counts_labelled=True
    )


def _shares(near: sp.csr_array) -> sp.csr_array:
    """Return the share (i, j) that row i has in the neighbourhood of row j; 1 in the sum over i."""
    return sp.csr_array(near.multiply(1 / np.asarray(near.sum(axis=1))[:, None]).T)


SCORES: Mapping[str, Callable[[Known, sp.csr_array], Score]] = {
    "coverage": _coverage,
    "uncertain": _uncertainty,
    "change": _expected_change,
    "auto": _coverage_then_uncertainty,
}


def _similarity(graph: Graph) -> sp.csr_array:
    """Return the graph (N, N) with weights of at most 1, and 1 on the diagonal."""
    weights = graph.to_scipy()
    largest = weights.data.max() if weights.nnz else 1.0
    return sp.csr_array(weights / largest + sp.eye_array(graph.n_nodes))


def _nearness(near: sp.csr_array, rows: NDArray[np.int64]) -> sp.csr_array:
    """Return how near each row is to each of `rows` (n,) within two steps, at most 1, (n, N)."""
    reach = sp.csr_array(near[rows] @ near)
    reach = sp.csr_array(reach.multiply(1 / reach[np.arange(len(rows)), rows][:, None]))
    reach.data = np.minimum(reach.data, 1.0)
    return reach
