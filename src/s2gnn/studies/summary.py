"""Summaries of a file of records: one line for each configuration, beside the number that the paper printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from s2gnn.data.catalogue import graph_title
from s2gnn.learning.hyperparameters import Value, default_hyperparameters
from s2gnn.learning.metrics import Confidence, bootstrap_confidence
from s2gnn.learning.records import Record, Records
from s2gnn.render import markdown_table
from s2gnn.studies.made_by import commits_text
from s2gnn.studies.table import paper_scores
from s2gnn.studies.unfinished import most_are_late, unfinished_text

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
    "s a seed",
)


@dataclass(frozen=True)
class Summary:
    """The records of one configuration.

    Attributes:
        data: name of the data set.
        graph: kind of the graph, with its k.
        model: name of the model.
        protocol: name of the protocol.
        changed: the hyperparameters that differ from the default, the share of training nodes where it does, and the
            decoder where links are predicted.
        metric: the score, such as "test_accuracy".
        score: its mean and half-width over seeds, as a share.
        deviation: of the folds of a cross-validation, as a share; `None` of seeds.
        seeds: number of seeds or folds.
        seconds: the mean time of training one.
        commits: of the code that made them.
        budgets: epochs and threads of the runs.
        patience: epochs without a better score after which they stopped; `None` where they went on.
        unfinished: whether most of them were still getting better when the epochs were over.
        published: the paper's accuracy and half-width in %; `None` where it has none.
    """

    data: str
    graph: str
    model: str
    protocol: str
    changed: dict[str, Value]
    metric: str
    score: Confidence
    deviation: float | None
    seeds: int
    seconds: float
    commits: tuple[str, ...]
    budgets: tuple[dict[str, Any], ...]
    patience: int | None
    unfinished: bool
    published: tuple[float, float] | None

    def cells(self) -> tuple[str, ...]:
        """The texts below `HEADER`."""
        mean = 100 * self.score.mean
        printed, difference = "–", "–"
        if self.published is not None:
            printed, difference = "{:.2f} ± {:.2f}".format(*self.published), f"{mean - self.published[0]:+.2f}"
        return (
            self.data,
            self.graph,
            self.model,
            self.protocol,
            ", ".join(f"{name}={value}" for name, value in self.changed.items()) or "–",
            mean_text(self.score, self.deviation),
            printed,
            difference,
            str(self.seeds) if self.deviation is None else f"{self.seeds} folds",
            f"{self.seconds:.1f}",
        )


def mean_text(score: Confidence, deviation: float | None) -> str:
    """A mean in % ± its half-width over seeds, or ± the standard deviation of folds; of one run its score."""
    if score.n == 1:
        return f"{100 * score.mean:.2f}"
    return f"{100 * score.mean:.2f} ± {100 * (score.half_width if deviation is None else deviation):.2f}"


def summaries(records: Records) -> list[Summary]:
    """One for each configuration, in the order of their first records."""
    by_configuration: dict[str, list[Record]] = {}
    for record in records.read():
        by_configuration.setdefault(record.config_hash, []).append(record)
    return [_summary(found) for found in by_configuration.values()]


def render_records(path: Path) -> str:
    """The table of a file of records in Markdown, with what made it."""
    if not path.is_file():
        return f"No records yet: {path.name} is made by `s2gnn study run`.\n"
    records = Records(path)
    found, commits = summaries(records), commits_text(records.read())
    budgets = {
        f"{'at most ' if s.patience else ''}{b['epochs']} epochs on {b['threads']} thread(s)"
        for s in found
        for b in s.budgets
    }
    made = f"From `results/{path.name}`, made at {commits}; each run {' or '.join(sorted(budgets))}.\n"
    late: dict[str, list[str]] = {}
    for summary in found:
        if summary.unfinished:
            late.setdefault(f"{summary.data}, {summary.protocol}", []).append(summary.model)
    told = unfinished_text(late)
    table = markdown_table(HEADER, [summary.cells() for summary in found])
    return "\n".join([table, *((f"{told}\n",) if told else ()), made])


def _summary(found: Sequence[Record]) -> Summary:
    config = found[0].config
    metric = found[0].metric
    commits = dict.fromkeys(record.commit or "unknown" for record in found)
    budgets = {str(record.budget): record.budget for record in found}
    scores = [record.metrics[metric] for record in found]
    return Summary(
        config["data"],
        graph_title(config["graph"], config["k"]),
        config["model"],
        config["protocol"]["name"],
        _changed(config),
        metric,
        bootstrap_confidence(scores),
        float(np.std(scores)) if "folds" in config["protocol"] else None,
        len(found),
        sum(record.seconds for record in found) / len(found),
        tuple(commits),
        tuple(budgets.values()),
        config["protocol"].get("patience"),
        most_are_late(found),
        _published(config),
    )


def _published(config: dict[str, Any]) -> tuple[float, float] | None:
    """What the paper printed; it has no link prediction and no cross-validation."""
    if "task" in config or "folds" in config["protocol"]:
        return None
    return paper_scores().get((config["data"], config["graph"], config["model"]))


def _changed(config: dict[str, Any]) -> dict[str, Value]:
    """What tells a configuration from the default one of its model and data set."""
    default = default_hyperparameters(config["model"], config["data"])
    usual = {"lr": default.lr, "weight_decay": default.weight_decay, **default.model}
    chosen = config["hyperparameters"]
    used = {"lr": chosen["lr"], "weight_decay": chosen["weight_decay"], **chosen["model"]}
    others = {name: config[name] for name in ("share", "decoder") if name in config}
    return {name: value for name, value in used.items() if usual.get(name) != value} | others
