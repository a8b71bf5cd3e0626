import time
from itertools import groupby

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
    assert machine.bandwidth > 0
    assert machine.gemm > 0


def test_a_way_that_does_not_fit_or_is_not_installed_is_not_run():
    made = []

    def make(name):
        made.append(name)
        return lambda: None

    def missing():
        raise ImportError("no such library")

    ways = {
        "small": Way(10, lambda: make("small")),
        "large": Way(1000, lambda: make("large")),
        "missing": Way(10, missing),
    }
    outcomes = race(ways, 1, available=lambda: 100)
    assert made == ["small"]
    assert list(outcomes) == ["small", "large", "missing"]
    assert outcomes["small"].milliseconds > 0
    assert (outcomes["large"].milliseconds, outcomes["large"].not_run, outcomes["large"].needs) == (
        None,
        "memory",
        1000,
    )
    assert (outcomes["missing"].milliseconds, outcomes["missing"].not_run) == (None, "not installed")


def test_later_ways_find_what_memory_earlier_ones_left():
    left = iter([100, 5])
    outcomes = race({"a": Way(50, lambda: int), "b": Way(50, lambda: int)}, 1, available=lambda: next(left))
    assert [outcome.not_run for outcome in outcomes.values()] == [None, "memory"]
