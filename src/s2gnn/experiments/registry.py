"""All studies by name: the modules of `figures`, and the tables and sweeps of the catalog."""

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from s2gnn.errors import unknown_name
from s2gnn.experiments.figures.overview import OverviewStudy
from s2gnn.experiments.measured import MeasuredStudy
from s2gnn.experiments.study import Study, catalog
from s2gnn.experiments.sweep import parse_sweep
from s2gnn.experiments.sweep_findings import FINDINGS
from s2gnn.experiments.table import load_table, table_names


@cache
def studies() -> Mapping[str, Study]:
    """Return the measured studies, the tables, their overview and the sweeps."""
    tables = map(load_table, table_names())
    sweeps = (
        parse_sweep(name, content, FINDINGS[content["finding"]])
        for name, content in catalog().items()
        if "finding" in content
    )
    return MappingProxyType({study.name: study for study in (*_measured(), OverviewStudy(), *tables, *sweeps)})


def _measured() -> Iterator[MeasuredStudy]:
    """Yield every `MeasuredStudy` that a module of `figures` defines."""
    for found in pkgutil.iter_modules([str(Path(__file__).parent / "figures")]):
        module = import_module(f"s2gnn.experiments.figures.{found.name}")
        yield from (value for value in vars(module).values() if isinstance(value, MeasuredStudy))


def find_study(name: str) -> Study:
    """Return the study `name`."""
    if name not in studies():
        raise unknown_name("there is no study", name, studies())
    return studies()[name]
