"""Which models of a table were still getting better when their epochs were over."""

from collections.abc import Mapping

from s2gnn.learning.records import Record
from s2gnn.studies.results import TableResult

LATE = 0.98  # of the epochs: of a model that has stopped improving, one best epoch in fifty comes later


def unfinished(result: TableResult) -> str | None:
    """The models whose best epoch was among the last in most of their runs, in a sentence; `None` without any."""
    found: dict[str, list[str]] = {}
    for cell in result.table.cells:
        for protocol in result.table.protocols:
            if protocol.keep == "best" and _most_are_late(result.at(cell, protocol).records):
                found.setdefault(f"{cell.data}, {protocol.name}", []).append(cell.model)
    if not found:
        return None
    places = "; ".join(f"{', '.join(models)} ({place})" for place, models in found.items())
    return (
        f"Still getting better when the epochs were over, in most of their runs: {places}. More epochs might raise "
        "these, and make a lead over them smaller."
    )


def _most_are_late(records: Mapping[int, Record]) -> bool:
    late = [record.metrics["epoch"] + 1 > LATE * record.budget["epochs"] for record in records.values()]
    return bool(sum(late) > len(late) / 2)
