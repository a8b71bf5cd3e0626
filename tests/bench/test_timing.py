from s2gnn.bench.timing import Way, fastest, race


def test_ways_take_turns_of_two_runs_after_one_to_warm_up():
    calls = []
    best = fastest({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, turns=2)
    assert "".join(calls) == "abaabbaabb"
    assert min(best.values()) > 0


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
