import sys

import pytest

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
