import pytest

from s2gnn.learning.records import Record
from s2gnn.studies.made_by import commits_text, made_by


def record(commit, hour, seed=0):
    return Record("0", seed, {}, {"test_accuracy": 1.0}, 1800.0, {}, f"2024-01-01T{hour:02d}:00:00+00:00", commit, {})


@pytest.mark.parametrize(
    ("commits", "text"),
    [
        ({1: "b"}, "commit b"),
        ({3: "a", 1: "b"}, "commits b, a"),
        ({3: "a", 1: "b", 2: None, 4: "b"}, "commits b, unknown, a"),
        ({3: "a", 1: "b", 2: "c", 9: "e+", 5: "d", 10: "b"}, "5 commits, b to e+"),
    ],
)
def test_commits_are_in_the_order_of_time_and_few_are_named(commits, text):
    assert commits_text(record(commit, hour) for hour, commit in commits.items()) == text


def test_runs_hours_commands_and_commits():
    records = [record(commit, hour, seed=hour) for hour, commit in enumerate("abcd")]
    assert made_by("table3", records, {"quick": [3, 0, 1], "long": [0]}) == (
        "4 runs, 2.0 hours of training: s2gnn study run table3 --budget quick (1 to 3 seeds). 4 commits, a to d."
    )
