"""S2-GNN compared with every other model over the accuracy tables: mean leads, verdicts and ranks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from scipy import stats

from s2gnn.experiments.compare import LEVEL, Verdict
from s2gnn.experiments.study import StudyCell
from s2gnn.experiments.table import load_table
from s2gnn.experiments.table_scores import OURS, Column, TableScores

# The paper's comparisons of accuracy on single graphs.
TABLES = ("table2-knn", "table2-learned", "table3")
# S2-GNN searched among more architectures is not another model.
PLUS = "s2gnn+"
Where = Literal["paper", "released", "fair"]
ENOUGH = 3  # minimum number of data sets of an interval and of ranks


@dataclass(frozen=True)
class MeanLead:
    """The lead of S2-GNN over a model in points, mean over data sets.

    Graphs of one data set are not independent, so each data set counts once, with the mean over its graphs.

    Attributes:
        mean: over data sets.
        low: lower end of the 95 % interval; `None` with fewer than `ENOUGH` data sets.
        high: its upper end.
        data_sets: number of data sets.
        graphs: number of their graphs.
    """

    mean: float
    low: float | None
    high: float | None
    data_sets: int
    graphs: int

    @classmethod
    def of(cls, leads: Mapping[StudyCell, float]) -> "MeanLead | None":
        """Return the mean of leads on single graphs, or `None` without graphs."""
        if not leads:
            return None
        means = _by_data((cell.data, lead) for cell, lead in leads.items())
        mean, n = float(np.mean(means)), len(means)
        if n < ENOUGH:
            return cls(mean, None, None, n, len(leads))
        reach = float(stats.t.ppf(1 - LEVEL / 2, n - 1) * np.std(means, ddof=1) / np.sqrt(n))
        return cls(mean, mean - reach, mean + reach, n, len(leads))

    @property
    def text(self) -> str:
        """Mean and interval."""
        return f"{self.mean:+.1f}" + (f" ({self.low:+.1f} to {self.high:+.1f})" if self.low is not None else "")


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of models over data sets, 1 for the best.

    Attributes:
        means: by model, best first.
        data_sets: number of data sets.
        p: of the Friedman test that the models do not differ.
        critical: the difference of two mean ranks that Nemenyi's test needs.
    """

    means: Mapping[str, float]
    data_sets: int
    p: float
    critical: float

    @classmethod
    def of(cls, scores: Mapping[str, Sequence[float]]) -> "Ranks":
        """Rank every model by its scores on the same data sets."""
        models, table = list(scores), np.array(list(scores.values()))
        k, n = table.shape
        means = stats.rankdata(-table, axis=0).mean(axis=1)
        order = np.argsort(means, kind="stable")
        quantile = float(stats.studentized_range.ppf(1 - LEVEL, k, np.inf)) / np.sqrt(2)
        return cls(
            {models[place]: float(means[place]) for place in order},
            n,
            float(stats.friedmanchisquare(*table).pvalue),
            quantile * float(np.sqrt(k * (k + 1) / (6 * n))),
        )

    def near(self, model: str) -> list[str]:
        """Return the other models that the test does not separate from `model`."""
        own = self.means[model]
        return [other for other, mean in self.means.items() if other != model and abs(mean - own) < self.critical]


@dataclass(frozen=True, eq=False)
class Overview:
    """The tables of a folder of records together."""

    folder: Path

    @cached_property
    def results(self) -> list[TableScores]:
        """The tables."""
        return [load_table(name).result(self.folder) for name in TABLES]

    @property
    def models(self) -> list[str]:
        """The models other than S2-GNN."""
        found = dict.fromkeys(model for result in self.results for model in result.study.models)
        return [model for model in found if model not in (OURS, PLUS)]

    def _cells(self, model: str) -> Iterator[tuple[TableScores, StudyCell]]:
        for result in self.results:
            yield from ((result, cell) for cell in result.study.cells if cell.model == model)

    @cached_property
    def leads_by_graph(self) -> dict[Where, dict[str, dict[StudyCell, float]]]:
        """The leads over every model in the paper and under each protocol, on the graphs where they are known."""
        leads: dict[Where, dict[str, dict[StudyCell, float]]] = {where: {} for where in get_args(Where)}
        for model in self.models:
            for result, cell in self._cells(model):
                protocols = result.study.protocols
                released, fair = (result.tally(protocol).leads.get(cell) for protocol in (protocols[0], protocols[-1]))
                points: dict[Where, float | None] = {
                    "paper": result.paper_lead(cell),
                    "released": released.mean_difference if released else None,
                    "fair": fair.mean_difference if fair else None,
                }
                for where, lead in points.items():
                    known = leads[where].setdefault(model, {})
                    known |= {} if lead is None else {cell: lead}
        return leads

    @cached_property
    def leads(self) -> dict[Where, dict[str, MeanLead | None]]:
        """Their means by model."""
        return {where: {m: MeanLead.of(of) for m, of in by.items()} for where, by in self.leads_by_graph.items()}

    def verdicts(self, model: str) -> dict[str, Verdict]:
        """Return the verdict of the fair comparison with `model` on each graph."""
        return {
            Column.of(cell).title: verdict
            for result, cell in self._cells(model)
            if (verdict := result.tally(result.study.protocols[-1]).verdicts.get(cell))
        }

    @cached_property
    def ranks(self) -> Ranks | None:
        """Under the fair protocols, of the models that have runs on every graph that S2-GNN has; `None` if too few.

        The score on a data set is the mean over its graphs.
        """
        scores: dict[str, dict[Column, float]] = {}
        for result in self.results:
            for column in result.study.columns:
                for cell in result.ranking(column, fair := result.study.protocols[-1]):
                    if cell.model != PLUS:
                        scores.setdefault(cell.model, {})[column] = result.scores(cell, fair).mean or 0.0
        graphs = scores.get(OURS, {})
        means = {
            model: _by_data((column.data, of[column]) for column in graphs)
            for model, of in scores.items()
            if graphs.keys() <= of.keys()
        }
        return Ranks.of(means) if len(means) > 2 and len(means[OURS]) >= ENOUGH else None


def _by_data(values: Iterable[tuple[str, float]]) -> list[float]:
    """Return the mean value of each data set."""
    found: dict[str, list[float]] = {}
    for data, value in values:
        found.setdefault(data, []).append(value)
    return [float(np.mean(of)) for of in found.values()]
