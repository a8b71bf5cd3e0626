import time
from itertools import groupby

from s2gnn.bench import timing
from s2gnn.bench.timing import Way, fastest, measure_machine, race


def test_ways_alternate_in_rounds_and_warm_up_in_each():
    calls = []

    def run(name):
        calls.append(name)
        time.sleep(0.002)

    best = fastest({"a": lambda: run("a"), "b": lambda: run("b")}, rounds=2)
    assert [name for name, _ in groupby(calls)] == ["a", "b", "a", "b"]
    assert all(len(list(group)) >= 2 for _, group in groupby(calls))
    assert 0.002 <= min(best.values()) <= max(best.values()) < 0.1


def test_rates_of_the_machine_are_positive():
    machine = measure_machine(floats=2**12, order=32, rounds=1)
    assert machine["bandwidth"] > 0
    assert machine["gemm"] > 0


def test_a_way_that_does_not_fit_into_what_earlier_ones_left_or_is_not_installed_is_not_run(monkeypatch):
    def missing():
        raise ImportError("no such library")

    left = iter([100, 100, 5])
    monkeypatch.setattr(timing, "available_bytes", lambda: next(left))
    outcomes = race({"small": Way(10, lambda: int), "missing": Way(10, missing), "large": Way(10, lambda: int)}, 1)
    assert outcomes["small"].pop("milliseconds") > 0
    assert outcomes == {
        "small": {"needs": 10, "not_run": None},
        "missing": {"milliseconds": None, "needs": 10, "not_run": "not installed"},
        "large": {"milliseconds": None, "needs": 10, "not_run": "memory"},
    }
