from itertools import accumulate

from s2gnn.resources import least_seconds, timing


def test_the_least_of_as_many_runs_as_there_is_patience_for(monkeypatch):
    def least(taken, most, patience):
        """The least of runs that take what `taken` says, and how many there were."""
        ticks = iter(accumulate(value for seconds in taken for value in (0.0, seconds)))
        monkeypatch.setattr(timing.time, "perf_counter", lambda: next(ticks))
        runs = []
        return least_seconds(lambda: runs.append(1), most, patience), len(runs)

    assert least([3.0, 1.0, 2.0, 0.5], most=3, patience=100) == (1.0, 3)
    assert least([3.0, 1.0, 2.0, 0.5], most=10, patience=5.5) == (1.0, 3)
    assert least([3.0, 1.0], most=10, patience=2) == (3.0, 1)
