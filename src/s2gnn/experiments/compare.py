"""The runs of one configuration, and the comparison of two: mean, interval, paired test."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np

from s2gnn.experiments.experiment import Experiment, canonical_json
from s2gnn.experiments.protocols import BUDGETS, Budget
from s2gnn.experiments.records import Record
from s2gnn.learning.metrics import Confidence, PairedComparison, bootstrap_confidence, compare_paired, holm
from s2gnn.progress import duration

Verdict = Literal["ahead", "level", "undecided", "behind"]

# Significance level of every test.
LEVEL = 0.05
# Models are level if they differ by less than this, in points.
MARGIN = 1.0
CORRECTED = f"p < {LEVEL:g} after Holm's correction"
RULE = (
    f"ahead and behind are decided by paired t-tests, level (a difference below {MARGIN:g} point) by two one-sided "
    f"tests, each {CORRECTED}"
)
DASH = "–"


@dataclass(frozen=True)
class Runs:
    """The runs of one configuration by seed, or by fold.

    Attributes:
        records: by seed.
        metric: name of the score in the records.
    """

    records: Mapping[int, Record]
    metric: str = "test_accuracy"

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Runs":
        """Return runs of one experiment with its main score."""
        by_seed = {record.seed: record for record in records}
        return cls(by_seed, next((record.metric for record in by_seed.values()), "test_accuracy"))

    def __len__(self) -> int:
        return len(self.records)

    def by(self, metric: str) -> "Runs":
        """Return the same runs scored by another metric."""
        return replace(self, metric=metric)

    def on(self, seeds: Collection[int]) -> "Runs":
        """Return the runs with these seeds."""
        return replace(self, records={seed: record for seed, record in self.records.items() if seed in seeds})

    @property
    def experiment(self) -> Mapping[str, Any]:
        """The description of the experiment, see `Experiment.describe`; empty without runs."""
        return next((record.experiment for record in self.records.values()), {})

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters of the runs by name; empty without runs."""
        given = self.experiment
        return {"lr": given["lr"], "weight_decay": given["weight_decay"], **given["arguments"]} if given else {}

    @property
    def ignores_graph(self) -> bool:
        """Whether the model is a Chebyshev filter of order K = 1, which is an MLP."""
        return self.experiment.get("model") == "cheby" and self.hyperparameters["K"] == 1

    @cached_property
    def scores(self) -> dict[int, float]:
        """Scores in % by seed, for the runs that have the metric."""
        found = {seed: record.metrics.get(self.metric) for seed, record in self.records.items()}
        return {seed: 100 * score for seed, score in found.items() if score is not None}

    @cached_property
    def score(self) -> Confidence | None:
        """Mean and 95 % half-width over seeds, in %; `None` without runs."""
        return bootstrap_confidence(list(self.scores.values())) if self.scores else None

    @property
    def mean(self) -> float | None:
        """Mean score in %; `None` without runs."""
        return None if not self.scores else float(np.mean(list(self.scores.values())))

    @property
    def validation(self) -> float | None:
        """Mean validation score in %, the criterion of a search; `None` without runs."""
        return self.by(self.metric.replace("test_", "val_")).mean

    def deviation(self, ddof: int = 1) -> float | None:
        """Return standard deviation over runs, in points; `None` with fewer than 1 + `ddof`."""
        return float(np.std(list(self.scores.values()), ddof=ddof)) if len(self.scores) > ddof else None

    def values(self, metric: str) -> tuple[float, ...]:
        """Return the values of a metric, ordered by seed."""
        found = (self.records[seed].metrics for seed in sorted(self.records))
        return tuple(metrics[metric] for metrics in found if metric in metrics)

    def lead(self, other: "Runs") -> PairedComparison | None:
        """Score minus the score of `other` on common seeds, in points; `None` without common seeds."""
        common = self.scores.keys() & other.scores.keys()
        if not common:
            return None
        return compare_paired(*({seed: runs.scores[seed] for seed in common} for runs in (self, other)))

    @property
    def seconds(self) -> float | None:
        """Mean training time of a run."""
        return float(np.mean([record.seconds for record in self.records.values()])) if self.records else None

    @property
    def commits(self) -> list[str]:
        """The commits that produced the runs."""
        return sorted({record.commit or "unknown" for record in self.records.values()})

    @property
    def still_improving(self) -> bool:
        """Whether most runs that keep the best epoch found it among the last 2 % of epochs."""
        late = [
            record.experiment["protocol"]["keep"] == "best"
            and record.metrics["epoch"] + 1 > 0.98 * record.budget["epochs"]
            for record in self.records.values()
        ]
        return bool(2 * sum(late) > len(late))

    def text(self, *, folds: bool = False) -> str:
        """Return mean ± half-width, or ± standard deviation of folds, in %; a dash without runs."""
        if self.score is None:
            return DASH
        spread = self.deviation(ddof=0) if folds else self.score.half_width
        return f"{self.score.mean:.2f} ± {spread:.2f}" if self.score.n > 1 else f"{self.score.mean:.2f}"


class KnownRuns:
    """Records by experiment."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_key: dict[str, dict[int, Record]] = {}
        self._searched: dict[tuple[str, str], dict[str, dict[int, Record]]] = {}
        for record in records:
            if record.search is None:
                self._by_key.setdefault(record.key, {})[record.seed] = record
            else:
                cell = record.search, _without_hyperparameters(record.experiment)
                self._searched.setdefault(cell, {}).setdefault(record.key, {})[record.seed] = record

    def of(self, experiment: Experiment, budget: Budget | None = None, metric: str | None = None) -> Runs:
        """Return the runs of an experiment, or, with a budget that searches, those with the hyperparameters found.

        Args:
            experiment: the experiment.
            budget: its budget.
            metric: the score; by default the main one.
        """
        found = self._by_key.get(experiment.key, {})
        if budget is not None and budget.rungs:
            searches = self._searched.get((budget.name, _without_hyperparameters(experiment.describe())), {})
            found = max(searches.values(), key=len, default={})
        runs = Runs.of(found.values())
        return runs if metric is None else runs.by(metric)


def failed_trials(trials: Iterable[Record], experiment: Experiment, budget: Budget) -> list[Record]:
    """Return the failed trials of an experiment's search. Rounds of a search differ in their number of epochs."""
    wanted = without_epochs(experiment.describe())
    return [
        trial
        for trial in trials
        if trial.error is not None
        and trial.budget.get("name") == budget.name
        and without_epochs(trial.experiment) == wanted
    ]


def without_epochs(description: Mapping[str, Any]) -> str:
    """Return the description of an experiment without epochs and hyperparameters, which trials of a search vary."""
    protocol = {name: v for name, v in description["protocol"].items() if name not in ("epochs", "patience")}
    return _without_hyperparameters({**description, "protocol": protocol})


def _without_hyperparameters(description: Mapping[str, Any]) -> str:
    chosen = ("lr", "weight_decay", "arguments")
    return canonical_json({name: value for name, value in description.items() if name not in chosen})


def most(counts: Mapping[str, int]) -> str | None:
    """Return the budget with the highest count, ties to the most thorough; `None` where all are 0."""
    best = max(reversed(list(counts)), key=lambda name: counts[name])
    return best if counts[best] else None


What = TypeVar("What")


def verdicts(leads: Mapping[What, PairedComparison]) -> dict[What, Verdict]:
    """Return the verdict of each comparison, at `LEVEL` after Holm's correction for all of them.

    A model is ahead or behind if the paired t-test rejects equal means. It is level if two one-sided tests reject a
    difference of `MARGIN` points or more. Otherwise the comparison is undecided and needs more seeds.
    """
    different = holm([_p_different(lead) for lead in leads.values()])
    equivalent = holm([1.0 if (p := lead.p_equivalent(MARGIN)) is None else p for lead in leads.values()])
    found: dict[What, Verdict] = {}
    for (what, lead), p_different, p_equivalent in zip(leads.items(), different, equivalent, strict=True):
        if p_different < LEVEL:
            found[what] = "ahead" if lead.mean_difference > 0 else "behind"
        else:
            found[what] = "level" if p_equivalent < LEVEL else "undecided"
    return found


def _p_different(lead: PairedComparison) -> float:
    """Return the p-value of the paired t-test; 0 for several equal nonzero differences, which have no variance."""
    if lead.p_t is not None:
        return lead.p_t
    return 0.0 if lead.n > 1 and lead.mean_difference else 1.0


@dataclass(frozen=True)
class Tally(Generic[What]):
    """Paired comparisons of one model with others or on several graphs, and their verdicts.

    Attributes:
        leads: the comparison with each model or on each graph.
        verdicts: the verdict of each lead.
    """

    leads: Mapping[What, PairedComparison]
    verdicts: Mapping[What, Verdict]

    @classmethod
    def of(cls, leads: Mapping[What, PairedComparison | None]) -> "Tally[What]":
        """Return the comparisons that are not `None`, corrected for their number."""
        known = {what: lead for what, lead in leads.items() if lead is not None}
        return cls(known, verdicts(known))

    def on(self, part: Collection[What]) -> "Tally[What]":
        """Return a subset of the comparisons, still corrected for the number of all of them."""
        known = [what for what in part if what in self.leads]
        return Tally({what: self.leads[what] for what in known}, {what: self.verdicts[what] for what in known})

    def where(self, verdict: Verdict) -> list[What]:
        """Return the comparisons with a verdict."""
        return [what for what, found in self.verdicts.items() if found == verdict]

    @property
    def counts(self) -> str:
        """How often ahead / level / undecided / behind; a dash without comparisons."""
        counts = (str(len(self.where(verdict))) for verdict in get_args(Verdict))
        return " / ".join(counts) if self.leads else DASH


def lead_text(lead: PairedComparison, verdict: Verdict) -> str:
    """Return a lead in points with its 95 % interval and its verdict."""
    interval = "" if lead.low is None else f" ({lead.low:+.2f} to {lead.high:+.2f})"
    return f"{lead.mean_difference:+.2f}{interval}, {verdict}"


def span(values: Sequence[float], form: str = "") -> str:
    """Return the range of some numbers, e.g. "3 to 10", or a single number if both ends are formatted alike."""
    return " to ".join(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values))))


def counted(counts: Sequence[int], noun: str = "seed") -> str:
    """Return the range of some counts with a noun, e.g. "3 to 10 seeds"."""
    return f"{span(counts)} {noun}{'s' if max(counts) > 1 else ''}"


def commits_text(records: Iterable[Record]) -> str:
    """Return the commits of records in chronological order; more than three as their number, first and last."""
    in_time = sorted(records, key=lambda record: record.finished)
    commits = list(dict.fromkeys(record.commit or "unknown" for record in in_time))
    if len(commits) > 3:
        return f"{len(commits)} commits, {commits[0]} to {commits[-1]}"
    return f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}"


def made_by(command: str, shown: Iterable[tuple[str, Runs]], run: str = "seed") -> str:
    """Return the number of runs of a study, their training time, commands and commits.

    Args:
        command: the study with its options.
        shown: runs with their budget.
        run: the name of one run, e.g. "seed" or "fold".
    """
    counts: dict[str, list[int]] = {name: [] for name in BUDGETS}
    records: dict[tuple[str, int], Record] = {}
    for budget, runs in shown:
        if runs.records:
            counts[budget].append(len(runs))
            records |= {(record.key, record.seed): record for record in runs.records.values()}
    seconds = sum(record.seconds for record in records.values())
    time = f"{seconds / 3600:.1f} hours" if seconds >= 360 else duration(max(seconds, 1))
    commands = [f"s2gnn study run {command} --budget {name} ({counted(of, run)})" for name, of in counts.items() if of]
    made = f"{len(records):,} run{'s' if len(records) > 1 else ''}, {time} of training: {'; '.join(commands)}"
    return f"{made}. {commits_text(records.values()).capitalize()}."
