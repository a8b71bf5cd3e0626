import numpy as np

from s2gnn.bench.graphs import points_on_clusters, time_graph
from tests.random_graphs import random_graph


def test_measurements_name_what_was_built():
    for what in ("k-NN", "learned"):
        timing = time_graph(what, 200)
        assert (timing.what, timing.points) == (what, 200)
        assert timing.seconds > 0
        assert 20 < timing.peak_mib < 4096
        assert 200 * 30 / 4 < timing.edges < 200 * 30
        assert timing.note.startswith("recall 1.000")
    edge_index = random_graph(40).to_pyg().edge_index.numpy()
    timing = time_graph("diffusion", 40, edge_index)
    assert (timing.what, timing.points, timing.note) == ("diffusion", 40, "")


def test_points_are_the_same_for_the_same_seed():
    X = points_on_clusters(50)
    assert X.shape == (50, 64)
    np.testing.assert_array_equal(X, points_on_clusters(50))
