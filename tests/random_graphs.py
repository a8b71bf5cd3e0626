"""Random graphs to test on, as a hypothesis strategy and as a plain function."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from s2gnn import Graph
from tests.seed import seeded


@st.composite
def graphs(draw, max_nodes=12, weights=(1e-20, 1e6)):
    """Random weighted graphs: isolated nodes, N = 1, no edges, separate parts, extreme and zero weights."""
    n = draw(st.integers(1, max_nodes))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3 * n)) if pairs else []
    exponents = st.floats(np.log10(weights[0]), np.log10(weights[1]))
    weight = st.one_of(st.floats(0.05, 1.0), exponents.map(lambda e: 10.0**e), st.just(0.0), st.sampled_from(weights))
    values = draw(st.lists(weight, min_size=len(chosen), max_size=len(chosen)))
    return Graph.from_edge_list(np.array(chosen, dtype=int).reshape(-1, 2), values, n)


def random_graph(n: int, density: float = 0.3, seed: int = 0) -> Graph:
    """A random graph with weights in (0, 1), the same for a seed in one run of the tests."""
    upper = sp.triu(sp.random_array((n, n), density=density, rng=np.random.default_rng(seeded(seed))), k=1)
    return Graph.from_scipy(upper + upper.T)
