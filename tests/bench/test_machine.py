import os

import numpy as np

from s2gnn.bench.child import in_own_process
from s2gnn.bench.machine import available_bytes, measure_machine, peak_bytes, resident_bytes


def test_rates_are_positive():
    machine = measure_machine(floats=2**12, order=32, repetitions=1)
    assert machine.bandwidth > 0
    assert machine.gemm > 0


def test_memory_is_counted_in_bytes():
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert total / 1000 < available_bytes() < total
    before = resident_bytes()
    held = np.ones(2**23)
    assert resident_bytes() - before > 0.9 * held.nbytes
    assert peak_bytes() >= before + 0.9 * held.nbytes


def test_the_peak_of_a_process_is_its_own():
    held = np.ones(2**26)  # half a GiB that the child does not have
    child = in_own_process(peak_bytes)
    assert held[0] == 1
    assert child < peak_bytes() - held.nbytes / 2
