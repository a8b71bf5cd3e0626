"""What made a table or a picture, in a sentence: the number of runs, their time, the commands and the commits."""

from collections.abc import Collection, Mapping, Sequence

from s2gnn.learning.records import Record
from s2gnn.studies.span import seeds_span


def made_by(study: str, records: Collection[Record], seeds: Mapping[str, Sequence[int]]) -> str:
    """The runs behind a study.

    Args:
        study: its name.
        records: of all that is shown.
        seeds: by budget those of every place or point; budgets without any are left out.
    """
    hours = sum(record.seconds for record in records) / 3600
    commands = [
        f"s2gnn study run {study} --budget {name} ({seeds_span([count for count in counts if count])})"
        for name, counts in seeds.items()
        if any(counts)
    ]
    commits = list(dict.fromkeys(record.commit or "unknown" for record in records))
    noun = "Commit" if len(commits) == 1 else "Commits"
    return f"{len(records):,} runs, {hours:.1f} hours of training: {'; '.join(commands)}. {noun} {', '.join(commits)}."
