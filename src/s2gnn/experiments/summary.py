"""A file of records as a table: one row for each experiment, next to the published number."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from s2gnn.data.catalogue import graph_title
from s2gnn.experiments.compare import DASH, Runs, commits_text
from s2gnn.experiments.experiment import Experiment, record_key
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


@dataclass(frozen=True)
class Summary:
    """The records of one experiment."""

    experiment: dict[str, Any]
    runs: Runs

    @property
    def folds(self) -> bool:
        """Whether the runs are the folds of a cross-validation."""
        return "folds" in self.experiment["protocol"]

    @property
    def published(self) -> tuple[float, float] | None:
        """Score and half-width in the paper, which has no link prediction and no cross-validation."""
        if self.experiment["task"] == "links" or self.folds:
            return None
        return paper_scores().get((self.experiment["data"], self.experiment["graph"], self.experiment["model"]))

    @property
    def changed(self) -> dict[str, Value]:
        """What differs from the defaults of the model and data set, with the share of labels and the decoder."""
        given, names = self.experiment, ("share", "decoder")
        default = default_hyperparameters(given["model"], given["data"]).values
        used = {"lr": given["lr"], "weight_decay": given["weight_decay"], **given["arguments"]}
        others = {name: given[name] for name in names if name in given}
        return {name: value for name, value in used.items() if default.get(name) != value} | others

    def row(self) -> tuple[str, ...]:
        """The texts below `HEADER`."""
        given, runs, published = self.experiment, self.runs, self.published
        assert runs.mean is not None
        return (
            given["data"],
            graph_title(given["graph"], given.get("k")),
            given["model"],
            given["protocol"]["name"],
            ", ".join(f"{name}={value}" for name, value in self.changed.items()) or DASH,
            runs.text(folds=self.folds),
            "{:.2f} ± {:.2f}".format(*published) if published else DASH,
            f"{runs.mean - published[0]:+.2f}" if published else DASH,
            f"{len(runs)} folds" if self.folds else str(len(runs)),
            f"{runs.seconds:.1f}",
        )

    def json(self) -> dict[str, Any]:
        """All figures for programs; scores are shares, the published one is in %."""
        given, runs, records = self.experiment, self.runs, self.runs.records.values()
        shares = [score / 100 for score in runs.scores.values()]
        return {
            "data": given["data"],
            "graph": graph_title(given["graph"], given.get("k")),
            "model": given["model"],
            "protocol": given["protocol"]["name"],
            "changed": self.changed,
            "metric": runs.metric,
            "score": asdict(bootstrap_confidence(shares)) if shares else None,
            "deviation": float(np.std(shares)) if shares and self.folds else None,
            "seeds": len(runs),
            "seconds": runs.seconds,
            "commits": runs.commits,
            "budgets": list({str(record.budget): record.budget for record in records}.values()),
            "patience": given["protocol"].get("patience"),
            "unfinished": runs.still_improving,
            "published": self.published,
            "experiment": given,
            "key": record_key(given),
        }


def experiment_summary(experiment: Experiment, records: Records) -> Summary:
    """What is on record of one experiment."""
    found = {record.seed: record for record in records.read() if record.key == experiment.key}
    return Summary(experiment.describe(), Runs.of(found[seed] for seed in experiment.seeds if seed in found))


def summaries(records: Records) -> list[Summary]:
    """One for each experiment, in the order of their first records."""
    by_key: dict[str, list[Record]] = {}
    for record in records.read():
        by_key.setdefault(record.key, []).append(record)
    return [Summary(found[0].experiment, Runs.of(found)) for found in by_key.values()]


def summary_table(path: Path) -> Table:
    """The table of a file of records, with what made it."""
    if not path.is_file():
        return Table("", ("",), (), (f"No records yet: {path.name} is made by `s2gnn study run`.",))
    records = Records(path)
    found = summaries(records)
    late: dict[str, list[str]] = {}
    for summary in found:
        if summary.runs.still_improving:
            place = f"{summary.experiment['data']}, {summary.experiment['protocol']['name']}"
            late.setdefault(place, []).append(summary.experiment["model"])
    budgets = {
        f"{'at most ' if 'patience' in summary.experiment['protocol'] else ''}{record.budget['epochs']} epochs on "
        f"{record.budget['threads']} thread(s)"
        for summary in found
        for record in summary.runs.records.values()
    }
    made = (
        f"From `results/{path.name}`, made at {commits_text(records.read())}; each run {' or '.join(sorted(budgets))}."
    )
    improving = still_improving_text(late)
    rows = tuple(tuple(map(Cell, summary.row())) for summary in found)
    return Table(path.name, HEADER, (Block("", rows),), (*((improving,) if improving else ()), made))
