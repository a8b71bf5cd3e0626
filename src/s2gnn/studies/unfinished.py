"""Which models were still getting better when their epochs were over."""

from collections.abc import Collection, Mapping, Sequence

from s2gnn.learning.records import Record
from s2gnn.studies.results import TableResult

LATE = 0.98  # of the epochs: of a model that has stopped improving, one best epoch in fifty comes later


def unfinished(result: TableResult) -> str | None:
    """The models whose best epoch was among the last in most of their runs, in a sentence; `None` without any.

    Runs that stand in the columns of two protocols are named under the first.
    """
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for cell in result.table.cells:
        for protocol in result.table.protocols:
            records = result.at(cell, protocol).records
            configs = {record.config_hash for record in records.values()}
            if not configs & seen and most_are_late(records.values()):
                found.setdefault(f"{cell.column.title}, {protocol.name}", []).append(cell.model)
            seen |= configs
    return unfinished_text(found)


def unfinished_text(found: Mapping[str, Sequence[str]]) -> str | None:
    """Places with the models that were unfinished there, in a sentence; `None` without any."""
    if not found:
        return None
    places = "; ".join(f"{', '.join(models)} ({place})" for place, models in found.items())
    return (
        f"Still getting better when the epochs were over, in most of their runs: {places}. More epochs might raise "
        "these, and make a lead over them smaller."
    )


def most_are_late(records: Collection[Record]) -> bool:
    """Whether the best epoch was among the last in most of these runs, where they went by the best."""
    late = [
        record.config["protocol"]["keep"] == "best" and record.metrics["epoch"] + 1 > LATE * record.budget["epochs"]
        for record in records
    ]
    return 2 * late.count(True) > len(late)
