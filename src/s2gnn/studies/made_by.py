"""What made a table or a picture, in a sentence: the number of runs, their time, the commands and the commits."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from s2gnn.learning.records import Record
from s2gnn.studies.span import counted

MOST_NAMED = 3  # commits


def made_by(study: str, records: Collection[Record], seeds: Mapping[str, Sequence[int]], run: str = "seed") -> str:
    """The runs behind a study.

    Args:
        study: its name.
        records: of all that is shown.
        seeds: by budget those of every place or point; budgets without any are left out.
        run: what one of them is called.
    """
    hours = sum(record.seconds for record in records) / 3600
    commands = [
        f"s2gnn study run {study} --budget {name} ({counted([count for count in counts if count], run)})"
        for name, counts in seeds.items()
        if any(counts)
    ]
    made = f"{len(records):,} runs, {hours:.1f} hours of training: {'; '.join(commands)}"
    return f"{made}. {commits_text(records).capitalize()}."


def commits_text(records: Iterable[Record]) -> str:
    """The commits of the code that made records, in the order of time; of many their number, the first and the last."""
    in_time = sorted(records, key=lambda record: record.finished)
    commits = list(dict.fromkeys(record.commit or "unknown" for record in in_time))
    if len(commits) > MOST_NAMED:
        return f"{len(commits)} commits, {commits[0]} to {commits[-1]}"
    return f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}"
