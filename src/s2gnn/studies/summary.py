"""Summaries of a file of records: one line for each configuration, beside the number that the paper printed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2gnn.data.catalogue import graph_title
from s2gnn.documents import markdown_table
from s2gnn.learning.hyperparameters import Value, default_hyperparameters
from s2gnn.learning.metrics import Confidence, bootstrap_confidence
from s2gnn.learning.records import Record, Records
from s2gnn.studies.made_by import commits_text
from s2gnn.studies.table import paper_scores

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
        seeds: number of seeds.
        seconds: the mean time of training one.
        commits: of the code that made them.
        budgets: epochs and threads of the runs.
        published: the paper's accuracy and half-width in %; `None` where it has none.
    """

    data: str
    graph: str
    model: str
    protocol: str
    changed: dict[str, Value]
    metric: str
    score: Confidence
    seeds: int
    seconds: float
    commits: tuple[str, ...]
    budgets: tuple[dict[str, Any], ...]
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
            f"{mean:.2f} ± {100 * self.score.half_width:.2f}",
            printed,
            difference,
            str(self.seeds),
            f"{self.seconds:.1f}",
        )


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
    budgets = {f"{b['epochs']} epochs on {b['threads']} thread(s)" for s in found for b in s.budgets}
    made = f"From `results/{path.name}`, made at {commits}; each run {', '.join(sorted(budgets))}.\n"
    return f"{markdown_table(HEADER, [summary.cells() for summary in found])}\n{made}"


def _summary(found: Sequence[Record]) -> Summary:
    config = found[0].config
    metric = found[0].metric
    commits = dict.fromkeys(record.commit or "unknown" for record in found)
    budgets = {str(record.budget): record.budget for record in found}
    return Summary(
        config["data"],
        graph_title(config["graph"], config["k"]),
        config["model"],
        config["protocol"]["name"],
        _changed(config),
        metric,
        bootstrap_confidence([record.metrics[metric] for record in found]),
        len(found),
        sum(record.seconds for record in found) / len(found),
        tuple(commits),
        tuple(budgets.values()),
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
