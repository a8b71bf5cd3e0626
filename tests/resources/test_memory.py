import os
import subprocess
import sys

import numpy as np
import pytest

from s2gnn import InputError
from s2gnn.resources import (
    available_bytes,
    forget_peak,
    in_own_process,
    memory,
    peak_bytes,
    resident_bytes,
    settled_bytes,
)
from s2gnn.resources.memory import resident_bytes_of

MIB = 2**20


def test_memory_is_counted_in_bytes():
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert total / 1000 < available_bytes() < total
    before = settled_bytes()  # so that the array cannot lie in what was freed before
    held = np.ones(2**23)
    assert resident_bytes() - before > 0.9 * held.nbytes
    assert peak_bytes() >= before + 0.9 * held.nbytes


def test_the_peak_of_a_process_is_its_own():
    held = np.ones(2**26)  # half a GiB that the child does not have
    child = in_own_process(peak_bytes)
    assert held[0] == 1
    assert child < peak_bytes() - held.nbytes / 2


def peak_of_temporaries(first: int, second: int) -> tuple[int, int]:
    """The peak, above what is held before, of arrays of `first` and then of `second` bytes that are freed at once."""
    before = settled_bytes()
    peaks = []
    for size in (first, second):
        settled_bytes()
        forget_peak()
        np.ones(size, dtype=np.uint8)
        peaks.append(peak_bytes() - before)
    return peaks[0], peaks[1]


@pytest.mark.parametrize("preloaded", [(), ("numpy",)])
def test_a_forgotten_peak_leaves_that_of_a_known_allocation(preloaded):
    large, small = in_own_process(peak_of_temporaries, 200 * MIB, 50 * MIB, preloaded=preloaded)
    assert large == pytest.approx(200 * MIB, abs=2 * MIB)
    assert small == pytest.approx(50 * MIB, abs=2 * MIB)


def test_the_memory_of_another_process():
    assert resident_bytes_of(os.getpid()) == pytest.approx(resident_bytes(), rel=0.1)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    while ended.poll() is None:
        assert resident_bytes_of(ended.pid) >= 0
    assert resident_bytes_of(ended.pid) == 0


def test_a_system_without_these_files_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_OWN", tmp_path / "status")
    with pytest.raises(InputError, match="memory is measured with .*status, which .* does not have: use Linux"):
        resident_bytes()
