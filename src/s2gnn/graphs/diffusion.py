"""Graph diffusion convolution (GDC): the graph of the strongest personalised-PageRank links (Klicpera et al. 2019)."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from s2gnn.errors import InputError
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.selection import induced_subgraph
from s2gnn.graphs.validation import check_choice
from s2gnn.progress import progress_bar
from s2gnn.ranges import real

EXACT_UP_TO = 25_000
INVERTED_UP_TO = 9_000
ROUNDING = 1e-12
SMALLEST_PUSHED = 1e-3
SMALLEST = 1e-6  # the exact method takes rounds, and loses digits, in proportion to 1/√t and 1/t
THREADS = 2

Column = tuple[NDArray[np.int64], NDArray[np.float64]]


def diffuse(
    graph: Graph,
    teleport: float = 0.05,
    top: int = 128,
    method: Literal["auto", "exact", "push"] = "auto",
    *,
    tolerance: float = 1e-3,
    progress: bool = False,
) -> Graph:
    r"""Connect every node to the `top` nodes with the largest personalised PageRank.

    With Ã = A + I, its degrees D̃ and H = D̃^-1/2 Ã D̃^-1/2, only the `top` largest entries in each column of

    .. math:: \Pi = t (I - (1 - t) H)^{-1}

    are kept and divided by their sum. The resulting matrix S is symmetrised as S + Sᵀ, and its diagonal is dropped.

    The graph need not be connected: links stay within connected components, and an isolated node stays isolated. The
    paper first takes `largest_component`.

    Args:
        graph: a graph on N nodes; its weights are used, with self-loops of weight 1.
        teleport: probability t of returning to the start, in [1e-6, 1).
        top: number of entries kept in each column, including the diagonal.
        method: "exact" solves for all columns with an error of at most 1e-12, in less than 1 GiB of memory; ties within
            this error go to the smaller node index. "push" computes an approximation around each node. "auto" is exact
            up to 25,000 nodes with edges.
        tolerance: error bound of "push", in (0, 1): the entry (i, j) of Π is at most `tolerance`·√(d̃_i/d̃_j) too small
            and never too large.
        progress: show a bar.
    """
    check_diffusion(teleport, top, tolerance)
    check_choice("method", method, ("auto", "exact", "push"))
    if not isinstance(graph, Graph):
        raise InputError(f"graph is a {type(graph).__name__}, but it must be a Graph")
    linked = np.flatnonzero(np.diff(graph.indptr))
    if method == "auto":
        method = "exact" if len(linked) <= EXACT_UP_TO else "push"
    if method == "push" and teleport < SMALLEST_PUSHED:
        raise InputError(
            f"teleport is {teleport}, for which pushing takes too many rounds: choose {SMALLEST_PUSHED} or more, or "
            'method="exact"'
        )
    if teleport < SMALLEST:
        raise InputError(f"teleport is {teleport}, but the smallest that can be computed with is {SMALLEST}")
    if not len(linked):
        return graph
    joined = induced_subgraph(graph, linked)
    with progress_bar("diffusing the graph", shown=progress) as show:
        if method == "exact":
            columns = _exact_columns(joined, teleport, top, show)
        else:
            columns = _pushed_columns(joined, teleport, top, tolerance, show)
        indices, values = zip(*columns, strict=True)
    rows = linked[np.concatenate(indices)]
    starts = np.repeat(linked, [len(column) for column in indices])
    kept = sp.coo_array((np.concatenate(values), (rows, starts)), shape=(graph.n_nodes,) * 2).tocsr()
    return Graph(kept + kept.T, drop_self_loops=True)


def check_diffusion(teleport: float, top: int, tolerance: float = 0.5) -> None:
    """Raise unless the arguments of `diffuse` are in range."""
    for what, share in (("teleport", teleport), ("tolerance", tolerance)):
        if not 0 < real(share) < 1:
            raise InputError(f"{what} is {share!r}, but it must lie in (0, 1)")
    if not isinstance(top, int | np.integer) or top < 1:
        raise InputError(f"top is {top!r}, but it must be an integer >= 1")


def _exact_columns(graph: Graph, teleport: float, top: int, show: Callable[[float], None]) -> Iterator[Column]:
    """Yield the columns of Π = t M⁻¹, M = I − (1−t)H, by elimination of an independent set E of nodes.

    No two nodes of E are adjacent, so M_EE is diagonal. With the other nodes C, and in the order E, C,

        M⁻¹ = | M_EE⁻¹  0 |  +  P S⁻¹ Pᵀ,    P = | −M_EE⁻¹ M_EC |,    S = M_CC − M_CE M_EE⁻¹ M_EC.
              |   0     0 |                      |       I      |

    P is as sparse as M, and S⁻¹ is computed: C has a fifth of Pubmed's nodes. If C is too large for that, no node is
    eliminated and each block of columns is solved iteratively.
    """
    n = graph.n_nodes
    loops, degrees = _with_loops(graph)
    root = sp.diags_array(1 / np.sqrt(degrees))
    matrix = (sp.eye_array(n) - (1 - teleport) * (root @ loops @ root)).tocsr()
    eliminated = _independent_nodes(graph)
    direct = n - eliminated.sum() <= INVERTED_UP_TO
    if not direct:
        eliminated[:] = False
    diagonal = np.where(eliminated, 1 / matrix.diagonal(), 0.0)  # M_EE⁻¹ and zeros
    to_core = matrix[:, ~eliminated]
    P = (sp.eye_array(n, format="csr")[:, ~eliminated] - sp.diags_array(diagonal) @ to_core).tocsr()
    inverse = _inverse_of_product(to_core.T.tocsr(), P) if direct else None  # S is M's rows of C times P
    width = int(np.clip(2**20 // n, 16, 512))
    starts = range(0, n, width)

    def solve(start: int) -> list[Column]:
        rows = teleport * P[start : start + width]
        core = (
            _chebyshev(matrix, rows.T.toarray("C"), teleport, 2 - teleport) if inverse is None else (rows @ inverse).T
        )
        block = np.ascontiguousarray((P @ core).T)  # (width, n)
        own = np.arange(start, start + len(block))
        block[own - start, own] += teleport * diagonal[own]
        return [_strongest(np.arange(n), column, top) for column in block]

    with ThreadPoolExecutor(THREADS) as pool:
        for start, block in zip(starts, pool.map(solve, starts), strict=True):
            show(start / n)
            yield from block


def _independent_nodes(graph: Graph) -> NDArray[np.bool_]:
    """Return a mask (N,) of a maximal independent set of nodes, chosen greedily by increasing degree."""
    chosen, excluded = np.zeros(graph.n_nodes, dtype=bool), np.zeros(graph.n_nodes, dtype=bool)
    for node in np.argsort(np.diff(graph.indptr), kind="stable"):
        if not excluded[node]:
            chosen[node] = True
            excluded[graph.indices[graph.indptr[node] : graph.indptr[node + 1]]] = True
    return chosen


def _inverse_of_product(left: sp.csr_array, right: sp.csr_array) -> NDArray[np.float64]:
    """Return the inverse of a symmetric positive definite matrix left · right, in the memory of one dense matrix."""
    n = left.shape[0]
    inverse = np.empty((n, n))
    if n == 0:
        return inverse
    for start in range(0, n, 512):
        (left[start : start + 512] @ right).toarray(out=inverse[start : start + 512])
    factor, failed = dpotrf(inverse.T, overwrite_a=1)  # in place: in LAPACK's order of columns it is inverse.T
    result, failed = dpotri(factor, overwrite_c=1) if not failed else (factor, failed)
    if failed:
        raise InputError("the diffusion cannot be computed in float64: choose a larger teleport probability")
    inverse = np.asarray(result).T
    for i in range(n):
        inverse[i, i + 1 :] = inverse[i + 1 :, i]  # LAPACK computes one triangle only
    return inverse


def _with_loops(graph: Graph) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Return Ã = A + I (N, N) and its degrees d̃ (N,)."""
    loops = graph.to_scipy() + sp.eye_array(graph.n_nodes, format="csr")
    return loops, loops.sum(axis=1)


def _chebyshev(
    matrix: sp.csr_array, right: NDArray[np.float64], smallest: float, largest: float
) -> NDArray[np.float64]:
    """Solve matrix · x = right for a symmetric matrix with eigenvalues in [smallest, largest], to `ROUNDING`."""
    centre, radius = (largest + smallest) / 2, (largest - smallest) / 2
    ratio = centre / radius
    root = np.sqrt(largest / smallest)
    iterations = int(np.ceil(np.log(2 / (ROUNDING * smallest)) / np.log((root + 1) / (root - 1))))
    x = np.zeros_like(right)
    residual = right
    direction = residual / centre
    rho = 1 / ratio
    for _ in range(iterations):
        x += direction
        residual -= matrix @ direction
        next_rho = 1 / (2 * ratio - rho)
        direction *= next_rho * rho
        direction += (2 * next_rho / radius) * residual
        rho = next_rho
    return x


def _strongest(rows: NDArray[np.int64], values: NDArray[np.float64], top: int) -> Column:
    """Return the `top` largest entries of a column, in the order of `rows`, divided by their sum.

    Entries that differ by no more than the error of the exact method count as equal; the first of them are kept.
    """
    if top < len(values):
        last = np.partition(values, -top)[-top]
        chosen = np.flatnonzero(values >= last - 2 * ROUNDING)
        if len(chosen) > top:
            larger = values[chosen] > last + 2 * ROUNDING
            equal = np.flatnonzero(~larger)
            larger[equal[: top - larger.sum()]] = True
            chosen = chosen[larger]
        rows, values = rows[chosen], values[chosen]
    positive = values > ROUNDING
    return rows[positive], values[positive] / values[positive].sum()


def _pushed_columns(
    graph: Graph, teleport: float, top: int, tolerance: float, show: Callable[[float], None]
) -> Iterator[Column]:
    for block in _pushed_blocks(graph, teleport, tolerance, show):
        block.sort_indices()
        for start, end in pairwise(block.indptr):
            yield _strongest(block.indices[start:end].astype(np.int64), block.data[start:end], top)


def _pushed_blocks(
    graph: Graph, teleport: float, tolerance: float, show: Callable[[float], None], width: int = 512
) -> Iterator[sp.csr_array]:
    """Approximate `width` columns of Π at once, as the rows of (width, N) matrices, by pushing residuals.

    Personalised PageRank of the random walk, π_u = t Σ_k (1−t)^k (Ã D̃^-1)^k e_u, is approached from below by p
    (Andersen, Chung and Lang 2006): π_u = p + (what the same walk makes of a non-negative residual r). While some
    r(i) > τ·d̃_i, with τ = tolerance/d̃_u, that residual is pushed: a share t stays in p(i), the rest moves on to the
    neighbours. In the end 0 ≤ π_u(i) − p(i) ≤ τ·d̃_i, because the walk maps d̃ to itself. Π(i, u) is
    π_u(i)·√(d̃_u/d̃_i).
    """
    n = graph.n_nodes
    loops, degrees = _with_loops(graph)
    step = (sp.diags_array((1 - teleport) / degrees) @ loops).tocsr()  # a row of residuals times this moves them on
    root = np.sqrt(degrees)
    for start in range(0, n, width):
        show(start / n)
        starts = np.arange(start, min(start + width, n))
        shape = (len(starts), n)
        residual = sp.csr_array((np.ones(len(starts)), (starts - start, starts)), shape=shape)
        reached = sp.csr_array(shape)
        while True:
            own = np.repeat(degrees[starts], np.diff(residual.indptr))
            large = residual.data > tolerance * degrees[residual.indices] / own
            if not large.any():
                break
            pushed, kept = residual.copy(), residual.copy()
            pushed.data[~large] = 0.0
            kept.data[large] = 0.0
            pushed.eliminate_zeros()
            kept.eliminate_zeros()
            reached = reached + teleport * pushed
            residual = (kept + pushed @ step).tocsr()
        yield (sp.diags_array(root[starts]) @ reached @ sp.diags_array(1 / root)).tocsr()
