import sys

import pytest

from s2gnn import S2GNNClassifier
from s2gnn.cli import memory


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(1, "1 MiB"), (300 * 2**20, "300 MiB"), (2**29, "0.5 GiB"), (5 * 2**30, "5.0 GiB")]
)
def test_sizes_for_people(n_bytes, text):
    assert memory.size_text(n_bytes) == text


def test_the_peak_is_that_of_this_process():
    peak = memory.measured_peak()
    kept = bytearray(64 * 2**20)
    kept[::4096] = b"x" * len(kept[::4096])
    assert memory.measured_peak() >= peak
    assert 2**26 < memory.measured_peak() < 2**40


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells what is available")
def test_too_little_memory_is_said_before(monkeypatch):
    monkeypatch.setattr(memory, "peak_bytes", lambda: 2**30)
    monkeypatch.setattr(memory, "available_bytes", lambda: 4 * 2**30)
    assert memory.expected_text(2**31) == "expected peak memory 3.0 GiB (4.0 GiB more is available)"
    text = memory.expected_text(5 * 2**30)
    assert text == ("expected peak memory 6.0 GiB, but only 4.0 GiB more is available: use fewer columns or rows")


def test_training_needs_more_for_more_rows_columns_and_networks():
    def needed(n=1000, n_features=20, **changes):
        return memory.training_bytes(n, n_features, S2GNNClassifier(**changes))

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
    assert 1 / 1.5 < memory.training_seconds(*table, passes, searched=True) / measured < 1.5


def test_a_given_graph_takes_less_time():
    searched, given = (memory.training_seconds(10**5, 20, 1000, 2, searched=searched) for searched in (True, False))
    assert given < 0.6 * searched
