"""The native kernels against plain torch for every number of powers and odd widths, forward and backward."""

import numpy as np
import pytest
import torch

from s2gnn import Graph
from s2gnn.operators import SobolevFamily, SobolevOperator, kernel
from tests.seed import seeded

NATIVE = [name for name in kernel.available() if name not in (kernel.PLAIN, kernel.TRITON)]
WIDTHS = (1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 64, 100)


def hub_and_isolated_nodes() -> Graph:
    """A hub that is joined to half of the nodes, a ring, and isolated nodes at both ends and in between."""
    hub = [(3, node) for node in range(4, 24)]
    ring = [(node, node + 1) for node in range(30, 40)] + [(30, 40)]
    edges = np.array(hub + ring)
    return Graph.from_edge_list(edges, np.random.default_rng(seeded(0)).uniform(0.1, 2.0, len(edges)), n_nodes=43)


GRAPHS = {
    "hub": hub_and_isolated_nodes(),
    "no edges": Graph.from_edge_list([], n_nodes=3),
    "one node": Graph.from_edge_list([], n_nodes=1),
    "one edge": Graph.from_edge_list([(0, 1)], [0.5]),
}


def results(chosen, graph, alpha, width, dtype):
    """All three products and the gradients by the signals, the edge weights and ε."""
    generator = torch.Generator().manual_seed(seeded(alpha * 101 + width))

    def signal(*shape):
        return torch.randn(shape, generator=generator, dtype=dtype, requires_grad=True)

    n = graph.n_nodes
    h, branches, weight = signal(n, width), signal(n, alpha + 1, width), signal(alpha + 1, width, 3)
    weights = torch.tensor(graph.to_edge_list()[1], requires_grad=True)
    epsilon = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    with kernel.use(chosen):
        constant = SobolevOperator(graph, alpha, 0.7, "laplacian", dtype=dtype)
        learned = SobolevFamily(graph, alpha, dtype=dtype).with_weights(weights).at(epsilon)
        outputs = [constant.propagate(h), constant.propagate_branches(branches), constant.filtered(h, weight)]
        outputs += [learned.propagate(h), learned.propagate_branches(branches)]
        loss = sum((output * torch.randn(output.shape, generator=generator)).sum() for output in outputs)
        gradients = torch.autograd.grad(loss, (h, branches, weight, weights, epsilon))
    return [*outputs, *gradients]


@pytest.mark.filterwarnings("ignore::s2gnn.IdenticalBranchesWarning")
@pytest.mark.parametrize("variant", NATIVE)
@pytest.mark.parametrize("alpha", range(1, 10))
@pytest.mark.parametrize("name", GRAPHS)
def test_products_and_gradients_are_those_of_plain_torch(variant, alpha, name):
    for width in WIDTHS if name == "hub" else WIDTHS[::5]:
        dtype = torch.float32 if width % 2 else torch.float64
        found, expected = (results(chosen, GRAPHS[name], alpha, width, dtype) for chosen in (variant, kernel.PLAIN))
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-4)
