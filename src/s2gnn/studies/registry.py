"""The studies by name, their kinds, and each as a layout or as numbers from the records of a folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from s2gnn.errors import InputError
from s2gnn.learning.records import RecordsFolder
from s2gnn.render import Table
from s2gnn.studies import (
    branches,
    cost,
    data_table,
    few_labels,
    few_values,
    homophily,
    sparsity,
    spectrum,
    stability,
    trained_stability,
    training_in_parts,
)
from s2gnn.studies.links import LINKS
from s2gnn.studies.links.results import links_json, links_layout, stored_links
from s2gnn.studies.measured import MeasuredStudy
from s2gnn.studies.part import WHOLE, Part
from s2gnn.studies.results import SHOWN, TableResult, table_result
from s2gnn.studies.sweeps.stored import SWEEPS, stored_sweep
from s2gnn.studies.sweeps.view import sweep_json, sweep_layout
from s2gnn.studies.table import load_table, table_names
from s2gnn.studies.view import table_json, table_layout

Result = TypeVar("Result")

MEASURED: Mapping[str, MeasuredStudy] = MappingProxyType(
    {
        study.STUDY.name: study.STUDY
        for study in (
            data_table,
            sparsity,
            homophily,
            spectrum,
            stability,
            trained_stability,
            branches,
            cost,
            training_in_parts,
            few_labels,
            few_values,
        )
    }
)


@dataclass(frozen=True)
class TrainedKind(Generic[Result]):
    """A kind of study whose runs are lines of records: how its results are read and shown.

    Attributes:
        stored: a study by name, or a part of it, with the runs that the files of a folder have.
        layout: a result as a table.
        json: all its figures for a program.
    """

    stored: Callable[[str, Path, Part], Result]
    layout: Callable[[Result], Table]
    json: Callable[[Result], dict[str, Any]]


@dataclass(frozen=True)
class StudyInfo:
    """A study in one line: its name, what it shows, and its size."""

    name: str
    title: str
    size: str


def studies() -> tuple[StudyInfo, ...]:
    """All studies: those that are measured at once, then the accuracy tables, link prediction and the sweeps."""
    found = [
        StudyInfo(
            study.name, f"{study.title} ({study.paper})", "a table" if study.draw is None else "a table, a picture"
        )
        for study in MEASURED.values()
    ]
    for name in table_names():
        table = load_table(name)
        graphs = f" × {len(table.graphs)} kinds of graph" if len(table.graphs) > 1 else ""
        runs = f"{table.folds} folds" if table.folds else f"{len(table.protocols)} protocols"
        size = f"{len(table.models)} models × {len(table.data)} data sets{graphs} × {runs}"
        found.append(StudyInfo(name, f"{table.title} ({table.paper})", size))
    encoders = f"{len(LINKS.rows)} auto-encoders × {len(LINKS.data)} data sets"
    found.append(StudyInfo(LINKS.name, f"{LINKS.title} ({LINKS.paper})", encoders))
    for sweep in SWEEPS.values():
        size = f"{len(sweep.lines)} lines × {len(sweep.values)} values × {len(sweep.data)} data sets, a picture"
        found.append(StudyInfo(sweep.name, f"{sweep.title} ({sweep.paper})", size))
    return tuple(found)


def check_study(name: str) -> None:
    """Refuse a name that is no study's."""
    known = [study.name for study in studies()]
    if name not in known:
        raise InputError(f"there is no study {name!r}: choose from {', '.join(known)}")


def stored_table(name: str, folder: Path, part: Part = WHOLE) -> TableResult:
    """An accuracy table, or a part of it, with the runs that the files of `folder` have."""
    whole = table_result(load_table(name), RecordsFolder(folder, name), part.budgets or SHOWN)
    return whole.chosen(part.data, part.models)


TABLE = TrainedKind(stored_table, table_layout, table_json)
LINK_PREDICTION = TrainedKind(lambda _, folder, part: stored_links(folder, part), links_layout, links_json)
SWEEP = TrainedKind(stored_sweep, sweep_layout, sweep_json)


def trained_kind(name: str) -> TrainedKind[Any]:
    """The kind of a study that is not measured at once."""
    if name == LINKS.name:
        return LINK_PREDICTION
    return SWEEP if name in SWEEPS else TABLE


def study_layout(name: str, folder: Path, part: Part = WHOLE) -> Table:
    """A study from what `folder` has stored of it; a study that is measured at once has no parts."""
    check_study(name)
    if name in MEASURED:
        return MEASURED[name].stored(folder)
    kind = trained_kind(name)
    return kind.layout(kind.stored(name, folder, part))


def study_json(name: str, folder: Path, part: Part = WHOLE) -> dict[str, Any]:
    """The figures of a study from what `folder` has stored of it, for a program."""
    check_study(name)
    if name not in MEASURED:
        kind = trained_kind(name)
        return kind.json(kind.stored(name, folder, part))
    record = MEASURED[name].read(folder)
    if record is None:
        raise InputError(f"{folder} has no record of {name}: make it with s2gnn study run {name}")
    return record
