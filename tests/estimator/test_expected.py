import pytest

from s2gnn import S2GNNClassifier
from s2gnn.estimator import expected


def test_training_needs_more_for_more_rows_columns_and_networks():
    def needed(n=1000, n_features=20, **changes):
        return expected.training_bytes(n, n_features, S2GNNClassifier(**changes))

    assert needed(n=10**5 + 2000) - needed(n=10**5 + 1000) == needed(n=10**5 + 1000) - needed(n=10**5)
    assert needed() < needed(n=2000) < 2 * needed()
    assert needed(n_features=100) > needed()
    assert needed(n_networks=9, num_layers=2) > needed(n_networks=1, num_layers=2)
    assert needed(n=10**5) == needed(n=10**5, n_networks=1)  # the default for a large table


@pytest.mark.parametrize(
    ("table", "passes", "measured"),  # rows, features and labels; processor time of S2GNNClassifier.fit on one thread
    [
        ((1_000, 10, 100), 6, 2.0),
        ((2_000, 100, 100), 6, 3.0),
        ((5_000, 30, 2_000), 6, 11.0),
        ((45_000, 20, 500), 2, 19.2),
    ],
)
def test_expected_time_is_close_to_measured_times(table, passes, measured):
    assert 1 / 1.5 < expected.training_seconds(*table, passes, searched=True) / measured < 1.5


def test_a_given_graph_takes_less_time():
    searched, given = (expected.training_seconds(10**5, 20, 1000, 2, searched=searched) for searched in (True, False))
    assert given < 0.6 * searched
