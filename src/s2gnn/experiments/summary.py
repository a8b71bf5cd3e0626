"""A file of records as a table: one row for each experiment, alongside the published number."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from s2gnn.data.catalogue import graph_title
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import DASH, Runs, commits_text
from s2gnn.experiments.experiment import record_key
from s2gnn.experiments.hyperparameters import Value, default_hyperparameters
from s2gnn.experiments.records import Record, Records
from s2gnn.experiments.table import paper_scores
from s2gnn.experiments.table_result import still_improving_text
from s2gnn.learning.metrics import bootstrap_confidence
from s2gnn.render import Block, Cell, Table

HEADER = (
    "data",
    "graph",
    "model",
    "protocol",
    "changed",
    "measured (%)",
    "paper (%)",
    "difference",
    "seeds",
    "seconds per seed",
)


def runs_of_experiments(records: Records) -> list[Runs]:
    """Return the runs of every experiment, in the order of their first records."""
    by_key: dict[str, list[Record]] = {}
    for record in records.read():
        by_key.setdefault(record.key, []).append(record)
    return list(map(Runs.of, by_key.values()))


def summary_row(runs: Runs) -> tuple[str, ...]:
    """Return the cells of the columns in `HEADER`."""
    given, paper, folds = runs.experiment, _paper_score(runs.experiment), _has_folds(runs.experiment)
    return (
        display_name(given["data"]),
        graph_title(display_name(given["graph"]), given.get("k")),
        display_name(given["model"]),
        given["protocol"]["name"],
        ", ".join(f"{name}={value}" for name, value in _changed(given).items()) or DASH,
        runs.text(folds=folds),
        "{:.2f} ± {:.2f}".format(*paper) if paper else DASH,
        f"{runs.mean - paper[0]:+.2f}" if paper and runs.mean is not None else DASH,
        f"{len(runs)} folds" if folds else str(len(runs)),
        f"{runs.seconds:.1f}",
    )


def summary_json(given: Mapping[str, Any], runs: Runs) -> dict[str, Any]:
    """Return all figures of an experiment as a JSON object; scores are fractions, the published score is in %."""
    records, shares = runs.records.values(), [score / 100 for score in runs.scores.values()]
    return {
        "data": given["data"],
        "graph": graph_title(given["graph"], given.get("k")),
        "model": given["model"],
        "protocol": given["protocol"]["name"],
        "changed": _changed(given),
        "metric": runs.metric,
        "score": asdict(bootstrap_confidence(shares)) if shares else None,
        "deviation": float(np.std(shares)) if shares and _has_folds(given) else None,
        "seeds": len(runs),
        "seconds": runs.seconds,
        "commits": runs.commits,
        "budgets": list({str(record.budget): record.budget for record in records}.values()),
        "patience": given["protocol"].get("patience"),
        "unfinished": runs.still_improving,
        "published": _paper_score(given),
        "experiment": given,
        "key": record_key(given),
    }


def _has_folds(given: Mapping[str, Any]) -> bool:
    return "folds" in given["protocol"]


def _paper_score(given: Mapping[str, Any]) -> tuple[float, float] | None:
    """Score and half-width in the paper, which has no link prediction and no cross-validation."""
    if given["task"] == "links" or _has_folds(given):
        return None
    return paper_scores().get((given["data"], given["graph"], given["model"]))


def _changed(given: Mapping[str, Any]) -> dict[str, Value]:
    """Return hyperparameters that differ from the defaults, and the share of labels and the decoder if given."""
    default = default_hyperparameters(given["model"], given["data"]).values
    used = {"lr": given["lr"], "weight_decay": given["weight_decay"], **given["arguments"]}
    others = {name: given[name] for name in ("share", "decoder") if name in given}
    return {name: value for name, value in used.items() if default.get(name) != value} | others


def summary_table(path: Path) -> Table:
    """Return the table of a file of records, with the commits and budgets that produced it."""
    if not path.is_file():
        return Table("", ("",), (), (f"No records yet: create {path.name} with `s2gnn study run`.",))
    found = runs_of_experiments(Records(path))
    late: dict[str, list[str]] = {}
    budgets = set()
    for runs in found:
        data, model, protocol = (runs.experiment[name] for name in ("data", "model", "protocol"))
        if runs.still_improving:
            late.setdefault(f"{display_name(data)}, {protocol['name']}", []).append(display_name(model))
        bound = "at most " if "patience" in protocol else ""
        allowed = [record.budget for record in runs.records.values()]
        budgets |= {f"{bound}{budget['epochs']} epochs on {budget['threads']} thread(s)" for budget in allowed}
    commits = commits_text(record for runs in found for record in runs.records.values())
    made = f"Source: `results/{path.name}`, {commits}; each run {' or '.join(sorted(budgets))}."
    improving = still_improving_text(late)
    rows = tuple(tuple(map(Cell, summary_row(runs))) for runs in found)
    return Table(path.name, HEADER, (Block("", rows),), (*((improving,) if improving else ()), made))
