"""The runs of one configuration, and the comparison of two: mean, interval, paired test."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from s2gnn.experiments.experiment import Experiment, canonical_json
from s2gnn.experiments.protocols import BUDGETS, Budget
from s2gnn.experiments.records import Record
from s2gnn.learning.metrics import Confidence, PairedComparison, bootstrap_confidence, compare_paired
from s2gnn.progress import duration

# A lead counts where the p of its paired t-test is below this.
LEVEL = 0.05
DASH = "–"


@dataclass(frozen=True)
class Runs:
    """The runs of one configuration by seed, or by fold.

    Attributes:
        records: by seed.
        metric: the score, as records name it.
    """

    records: Mapping[int, Record]
    metric: str = "test_accuracy"

    @classmethod
    def of(cls, records: Iterable[Record]) -> "Runs":
        """Runs of one experiment with its main score."""
        by_seed = {record.seed: record for record in records}
        return cls(by_seed, next((record.metric for record in by_seed.values()), "test_accuracy"))

    def __len__(self) -> int:
        return len(self.records)

    def by(self, metric: str) -> "Runs":
        """The same runs scored by another metric."""
        return replace(self, metric=metric)

    def on(self, seeds: Collection[int]) -> "Runs":
        """The runs with these seeds."""
        return replace(self, records={seed: record for seed, record in self.records.items() if seed in seeds})

    @property
    def experiment(self) -> Mapping[str, Any]:
        """What was run, see `Experiment.describe`; empty without runs."""
        return next((record.experiment for record in self.records.values()), {})

    @cached_property
    def scores(self) -> dict[int, float]:
        """Scores in % by seed, of the runs that have the metric."""
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
        """Standard deviation over runs, in points; `None` with fewer than 1 + `ddof`."""
        return float(np.std(list(self.scores.values()), ddof=ddof)) if len(self.scores) > ddof else None

    def values(self, metric: str) -> tuple[float, ...]:
        """A metric of every run that has it, in the order of seeds."""
        found = (self.records[seed].metrics for seed in sorted(self.records))
        return tuple(metrics[metric] for metrics in found if metric in metrics)

    def lead(self, other: "Runs") -> PairedComparison | None:
        """The score here minus that of `other`, in points, on common seeds; `None` without any."""
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
        """Of the code that made the runs."""
        return sorted({record.commit or "unknown" for record in self.records.values()})

    @property
    def still_improving(self) -> bool:
        """Whether the best epoch was among the last 2 % in most runs that keep the best."""
        late = [
            record.experiment["protocol"]["keep"] == "best"
            and record.metrics["epoch"] + 1 > 0.98 * record.budget["epochs"]
            for record in self.records.values()
        ]
        return bool(2 * sum(late) > len(late))

    def text(self, *, folds: bool = False) -> str:
        """Mean ± half-width, or ± standard deviation of folds, in %; a dash without runs."""
        if self.score is None:
            return DASH
        spread = self.deviation(ddof=0) if folds else self.score.half_width
        return f"{self.score.mean:.2f} ± {spread:.2f}" if self.score.n > 1 else f"{self.score.mean:.2f}"


class KnownRuns:
    """Records by experiment."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._by_key: dict[str, dict[int, Record]] = {}
        self._searched: dict[str, dict[str, dict[int, Record]]] = {}
        for record in records:
            self._by_key.setdefault(record.key, {})[record.seed] = record
            if record.budget.get("name") == "full":
                searches = self._searched.setdefault(_without_hyperparameters(record.experiment), {})
                searches.setdefault(record.key, {})[record.seed] = record

    def of(self, experiment: Experiment, budget: Budget | None = None, metric: str | None = None) -> Runs:
        """The runs of an experiment; after a search its hyperparameters are those that the search found.

        The default of `metric` is the main score.
        """
        found = self._by_key.get(experiment.key, {})
        if budget is not None and budget.trials:
            searches = self._searched.get(_without_hyperparameters(experiment.describe()), {})
            found = max(searches.values(), key=len, default={})
        runs = Runs.of(found.values())
        return runs if metric is None else runs.by(metric)


def _without_hyperparameters(description: Mapping[str, Any]) -> str:
    chosen = ("lr", "weight_decay", "arguments")
    return canonical_json({name: value for name, value in description.items() if name not in chosen})


def most(counts: Mapping[str, int]) -> str | None:
    """The budget with the highest count, ties to the most thorough; `None` where all are 0."""
    best = max(reversed(list(counts)), key=lambda name: counts[name])
    return best if counts[best] else None


def verdict(lead: PairedComparison) -> int:
    """1 where the first model is ahead, -1 where it is behind, 0 where the seeds do not decide."""
    if lead.p_t is None or lead.p_t >= LEVEL:
        return 0
    return 1 if lead.mean_difference > 0 else -1


What = TypeVar("What")


@dataclass(frozen=True)
class Tally(Generic[What]):
    """Paired comparisons of one model with others or in several places, and what they decide.

    Attributes:
        leads: of the model by what it is compared with or where.
    """

    leads: Mapping[What, PairedComparison]

    @classmethod
    def of(cls, leads: Mapping[What, PairedComparison | None]) -> "Tally[What]":
        """Of those that could be compared."""
        return cls({what: lead for what, lead in leads.items() if lead is not None})

    def _with(self, sign: int) -> list[What]:
        return [what for what, lead in self.leads.items() if verdict(lead) == sign]

    @property
    def ahead(self) -> list[What]:
        """Where the model is ahead."""
        return self._with(1)

    @property
    def undecided(self) -> list[What]:
        """Where the seeds do not decide."""
        return self._with(0)

    @property
    def behind(self) -> list[What]:
        """Where the model is behind."""
        return self._with(-1)

    @property
    def counts(self) -> str:
        """How often ahead / undecided / behind; a dash without comparisons."""
        counts = map(len, (self.ahead, self.undecided, self.behind))
        return " / ".join(map(str, counts)) if self.leads else DASH


def lead_text(lead: PairedComparison | None, run: str = "seed") -> str:
    """A lead in points with its paired t-test; a dash where there is none."""
    if lead is None:
        return DASH
    test = "" if lead.p_t is None else f", p {'< 0.001' if lead.p_t < 0.001 else f'= {lead.p_t:.3f}'}"
    return f"{lead.mean_difference:+.2f} ({lead.n} {run}{'s' if lead.n > 1 else ''}{test})"


def span(values: Sequence[float], form: str = "") -> str:
    """The smallest and the largest of some numbers, or the number if they read alike."""
    return " to ".join(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values))))


def counted(counts: Sequence[int], noun: str = "seed") -> str:
    """The span of some counts, with their noun."""
    return f"{span(counts)} {noun}{'s' if max(counts) > 1 else ''}"


def commits_text(records: Iterable[Record]) -> str:
    """The commits that made records, in order of time; of many their number, the first and the last."""
    in_time = sorted(records, key=lambda record: record.finished)
    commits = list(dict.fromkeys(record.commit or "unknown" for record in in_time))
    if len(commits) > 3:
        return f"{len(commits)} commits, {commits[0]} to {commits[-1]}"
    return f"commit{'s' if len(commits) > 1 else ''} {', '.join(commits)}"


def made_by(command: str, shown: Iterable[tuple[str, Runs]], run: str = "seed") -> str:
    """How many runs are behind a study, their time, commands and commits.

    Args:
        command: the study with its options.
        shown: runs with their budget.
        run: what a run is called.
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
