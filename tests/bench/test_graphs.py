import numpy as np

from s2gnn.bench.graphs import points_on_clusters, sizes, time_diffusion, time_knn, time_smooth
from tests.random_graphs import random_graph


def test_measurements_name_what_was_built():
    for measure, what in ((time_knn, "k-NN"), (time_smooth, "learned")):
        timing = measure(200)
        assert (timing.what, timing.points) == (what, 200)
        assert timing.seconds > 0
        assert 20 < timing.peak_mib < 4096
        assert 200 * 30 / 4 < timing.edges < 200 * 30
        assert timing.note.startswith("recall 1.000")
    edge_index = random_graph(40).to_pyg().edge_index.numpy()
    assert time_diffusion(edge_index, 40).what == "diffusion"


def test_sizes_and_points():
    assert list(sizes(60_000)) == [12_500, 25_000, 50_000]
    X = points_on_clusters(50)
    assert X.shape == (50, 64)
    np.testing.assert_array_equal(X, points_on_clusters(50))
