"""The sweeps by name, from the records of a folder, and the files that are drawn from these."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from s2gnn.files import write_atomically
from s2gnn.learning.records import RecordsFolder
from s2gnn.pictures import picture
from s2gnn.studies.budget import Budget
from s2gnn.studies.part import WHOLE, Part
from s2gnn.studies.sweeps import alpha, epsilon, label_efficiency, learned_epsilon, neighbours, reach
from s2gnn.studies.sweeps.picture import draw_sweep
from s2gnn.studies.sweeps.results import DRAWN, SweepResult, sweep_result
from s2gnn.studies.sweeps.sweep import Sweep
from s2gnn.studies.sweeps.view import sweep_csv

SWEEPS: Mapping[str, Sweep] = MappingProxyType(
    {study.SWEEP.name: study.SWEEP for study in (epsilon, learned_epsilon, alpha, neighbours, reach, label_efficiency)}
)


def stored_sweep(name: str, folder: Path, part: Part = WHOLE) -> SweepResult:
    """A sweep, or a part of it, with the runs that the files of `folder` have, nothing before its first run."""
    sweep, records = SWEEPS[name].chosen(part.data, part.models), RecordsFolder(folder, name)
    return sweep_result(sweep, records, part.budgets or DRAWN) if records.path.is_file() else SweepResult(sweep, ())


def write_files(name: str, folder: Path, budget: Budget) -> tuple[str, ...]:
    """Write NAME.csv, NAME.png and NAME.svg from the records; the endings of what was written, none without curves.

    They show what `s2gnn study show` does; before there is anything of that, the runs of `budget`.
    """
    result = stored_sweep(name, folder)
    if not result.panels:
        result = sweep_result(SWEEPS[name], RecordsFolder(folder, name), [budget])
    if not result.panels:
        return ()
    figure = draw_sweep(result)
    files = {"csv": sweep_csv(result), "png": picture(figure, "png"), "svg": picture(figure, "svg")}
    for ending, content in files.items():
        write_atomically(folder / f"{name}.{ending}", content)
    return tuple(files)
