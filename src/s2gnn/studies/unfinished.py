"""Which models of a table were still getting better when their epochs were over."""

from collections.abc import Mapping

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
            if protocol.keep == "best" and not configs & seen and _most_are_late(records):
                found.setdefault(f"{cell.column.title}, {protocol.name}", []).append(cell.model)
            seen |= configs
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
