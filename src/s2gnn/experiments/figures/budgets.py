"""The budgets of the studies, with the measured time of a cell under each."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from s2gnn.experiments.compare import DASH, without_epochs
from s2gnn.experiments.figures.overview_statistics import TABLES
from s2gnn.experiments.measured import block
from s2gnn.experiments.protocols import BUDGETS, Budget, Rung
from s2gnn.experiments.records import RecordsFolder, search_records
from s2gnn.experiments.table import load_table
from s2gnn.progress import duration
from s2gnn.render import Table, render


def budget_table(folder: Path) -> str:
    """Return the budgets in Markdown: seeds, epochs, hyperparameters, and the time of a cell."""
    times = cell_times(folder)
    rows = [
        (f"`{name}`", str(budget.seeds), _epochs(budget), _hyperparameters(budget), _range(times[name]))
        for name, budget in BUDGETS.items()
    ]
    note = (
        "Time of all seeds of a cell, with its search, on one thread: median over the cells of Tables II and III, "
        "and in brackets the 10th and 90th percentiles. Patience: training stops after this number of epochs without a "
        "better validation score."
    )
    header = ("budget", "seeds", "epochs", "hyperparameters", "time of a cell")
    return render(Table("", header, (block("", rows),), (note,)), "markdown")


def cell_times(folder: Path) -> dict[str, list[float]]:
    """Return the seconds of every cell by budget: the mean time of its runs for all seeds, and that of its search."""
    searches: dict[tuple[str, str], float] = defaultdict(float)
    for trial in search_records(RecordsFolder(folder, TABLES[0])).read():
        searches[str(trial.budget.get("name")), without_epochs(trial.experiment)] += trial.seconds
    times: dict[str, dict[str, float]] = {name: {} for name in BUDGETS}
    for name in TABLES:
        for by_budget in load_table(name).runs(folder, BUDGETS.values()).values():
            for budget, runs in by_budget.items():
                if runs.seconds is not None:
                    cell = without_epochs(runs.experiment)  # the same under two protocols if they train it alike
                    times[budget][cell] = runs.seconds * BUDGETS[budget].seeds + searches[budget, cell]
    return {budget: list(of.values()) for budget, of in times.items()}


def _epochs(budget: Budget) -> str:
    return f"{budget.epochs}" if budget.patience is None else f"{budget.epochs} (patience {budget.patience})"


def _hyperparameters(budget: Budget) -> str:
    heads = "" if budget.max_heads is None else f", at most {budget.max_heads} attention head"
    heads += "s" if budget.max_heads and budget.max_heads > 1 else ""
    if not budget.rungs:
        return f"those of the study{heads}"
    first, *others = map(_rung, budget.rungs)
    return "; ".join((f"a search for each model, data set and protocol: {first}", *(f"the best {of}" for of in others)))


def _rung(rung: Rung) -> str:
    epochs = "" if rung.epochs is None else f" for {rung.epochs} epochs"
    return f"{rung.configurations} configurations with {rung.seeds} validation seed{'s'[: rung.seeds > 1]}{epochs}"


def _range(seconds: Sequence[float]) -> str:
    if not seconds:
        return DASH
    low, median, high = map(duration, np.percentile(seconds, (10, 50, 90)))
    return f"{median} ({low} to {high})"
