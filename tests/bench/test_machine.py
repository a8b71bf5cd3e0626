from s2gnn.bench.machine import measure_machine


def test_rates_are_positive():
    machine = measure_machine(floats=2**12, order=32, repetitions=1)
    assert machine.bandwidth > 0
    assert machine.gemm > 0
