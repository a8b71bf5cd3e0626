"""Summary of the accuracy tables: numbers reproduced, fair comparison, value of the graph, robustness."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from s2gnn.experiments.compare import DASH, LEVEL, RULE, Verdict, commits_text, counted, span
from s2gnn.experiments.figures.leaderboard import LEADERBOARD
from s2gnn.experiments.figures.leaderboard_headline import scores_by_labels
from s2gnn.experiments.figures.noise_findings import ADDED, mean_lost, measured_together
from s2gnn.experiments.figures.overview_drawings import draw_leads, draw_ranks
from s2gnn.experiments.figures.overview_hero import draw_hero
from s2gnn.experiments.figures.trained_stability import STUDY as STABILITY
from s2gnn.experiments.study import ALL, Selection, Study, StudyCell
from s2gnn.experiments.table import load_table
from s2gnn.experiments.table_scores import OURS, Column, TableScores
from s2gnn.pictures import save_figure
from s2gnn.render import Block, Cell, Table, render

# The paper's comparisons of accuracy on single graphs.
TABLES = ("table2-knn", "table2-learned", "table3")
# S2-GNN searched among more architectures is not another model.
PLUS = "s2gnn+"
# Models that see no graph.
FEATURES_ONLY = ("mlp", "svm")
_HEADLINE_TABLES = ("table2-knn", "table3")
_HEADLINE_MODELS = (OURS, "mlp", "gcn", "sgc", "sign", "cheby")
Where = Literal["paper", "released", "fair"]
_GRAPHS = 3
NEAR = 2  # points between a published mean and ours


@dataclass(frozen=True)
class MeanLead:
    """The lead of S2-GNN over a model in points: mean over graphs, and the 95 % interval from `_GRAPHS` of them on."""

    mean: float
    low: float | None
    high: float | None
    graphs: int

    @classmethod
    def of(cls, leads: Sequence[float]) -> "MeanLead | None":
        """Return the mean lead, or `None` without graphs."""
        if not leads:
            return None
        mean, n = float(np.mean(leads)), len(leads)
        if n < _GRAPHS:
            return cls(mean, None, None, n)
        reach = float(stats.t.ppf(1 - LEVEL / 2, n - 1) * np.std(leads, ddof=1) / np.sqrt(n))
        return cls(mean, mean - reach, mean + reach, n)

    @property
    def text(self) -> str:
        """Mean and interval."""
        return f"{self.mean:+.1f}" + (f" ({self.low:+.1f} to {self.high:+.1f})" if self.low is not None else "")


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of models over graphs, 1 for the best.

    Attributes:
        means: by model, best first.
        graphs: number of graphs.
        p: of the Friedman test that the models do not differ.
        critical: the difference of two mean ranks that Nemenyi's test needs.
    """

    means: Mapping[str, float]
    graphs: int
    p: float
    critical: float

    @classmethod
    def of(cls, scores: Mapping[str, Sequence[float]]) -> "Ranks":
        """Rank every model by its scores on the same graphs."""
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
    def _leads(self) -> dict[Where, dict[str, dict[StudyCell, float]]]:
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
        """Their means over graphs by model."""
        return {where: {m: MeanLead.of(list(of.values())) for m, of in by.items()} for where, by in self._leads.items()}

    def verdicts(self, model: str) -> dict[str, Verdict]:
        """Return the verdict of the fair comparison with `model` on each graph."""
        return {
            Column.of(cell).title: verdict
            for result, cell in self._cells(model)
            if (verdict := result.tally(result.study.protocols[-1]).verdicts.get(cell))
        }

    @cached_property
    def ranks(self) -> Ranks | None:
        """Under the fair protocols, of the models that have runs on every graph that S2-GNN has; `None` if too few."""
        scores: dict[str, dict[Column, float]] = {}
        for result in self.results:
            for column in result.study.columns:
                for cell in result.ranking(column, fair := result.study.protocols[-1]):
                    if cell.model == PLUS:
                        continue
                    scores.setdefault(cell.model, {})[column] = result.scores(cell, fair).mean or 0.0
        graphs = scores.get(OURS, {})
        complete = {m: [of[g] for g in graphs] for m, of in scores.items() if graphs and graphs.keys() <= of.keys()}
        return Ranks.of(complete) if len(complete) > 2 and len(graphs) > 1 else None

    def sentences(self) -> list[str]:
        """Return what is reproduced, what the fair comparison says, when the graph helps, and what robustness adds."""
        found = (self._reproduced(), self._fair(), self._ranked(), self._graph(), self._robust())
        return [sentence for sentence in found if sentence]

    def _reproduced(self) -> str:
        printed = [(r, cell, cell.paper) for r in self.results for cell in r.study.cells if cell.paper]
        found = [
            (cell.model, r.decisive(cell).mean, paper, of) for r, cell, paper in printed if (of := r.reproduced(cell))
        ]
        counts = {word: sum(of == word for *_, of in found) for word in ("yes", "other hyperparameters", "no")}
        ours = [of for model, *_, of in found if model == OURS]
        if not found:
            return "No published number has been run yet."
        near = sum(of == "yes" and mean is not None and abs(mean - paper[0]) <= NEAR for _, mean, paper, of in found)
        return (
            f"**Reproduction**: {len(found)} of the {len(printed)} published accuracies have enough runs. "
            f"{counts['yes']} of them are reproduced under the *released* protocol (S2-GNN: {ours.count('yes')} of "
            f"{len(ours)}), {counts['other hyperparameters']} more with other hyperparameters, {counts['no']} are not. "
            f"Reproduced means that the 95 % intervals overlap, which wide intervals do easily: {near} of the "
            f"{counts['yes']} means differ by at most {NEAR} points."
        )

    def _fair(self) -> str:
        decided = [verdict for model in self.models for verdict in self.verdicts(model).values()]
        if not decided:
            return ""
        counts = {verdict: decided.count(verdict) for verdict in get_args(Verdict)}
        text = (
            f"**Fair comparison**: S2-GNN is ahead in {counts['ahead']} of {len(decided)} comparisons with a baseline "
            f"on one graph, level in {counts['level']}, behind in {counts['behind']}; {counts['undecided']} are "
            "undecided"
        )
        known = {
            where: {cell: lead for of in by.values() for cell, lead in of.items()} for where, by in self._leads.items()
        }
        common = set.intersection(*map(set, known.values()))
        if not common:
            return f"{text}."
        means = [f"{np.mean([of[cell] for cell in common]):+.1f}" for of in known.values()]
        return (
            f"{text}. On the {len(common)} pairs of baseline and graph that the paper reports, its mean lead is "
            f"{means[2]} points under the *fair* protocol, {means[1]} under *released* and {means[0]} in the paper."
        )

    def _ranked(self) -> str:
        ranks = self.ranks
        if ranks is None:
            return ""
        place, near = list(ranks.means).index(OURS) + 1, ranks.near(OURS)
        p = "< 0.001" if ranks.p < 0.001 else f"= {ranks.p:.3f}"
        differ = "differ" if ranks.p < LEVEL else "do not differ"
        nemenyi = (
            f"its difference from {', '.join(near)} is not significant" if near else "every difference is significant"
        )
        return (
            f"**Ranks**: S2-GNN ranks {place} of {len(ranks.means)} models over {ranks.graphs} graphs (mean rank "
            f"{ranks.means[OURS]:.1f}). The models {differ} significantly (Friedman test, p {p}); {nemenyi} (Nemenyi's "
            "test)."
        )

    def _graph(self) -> str:
        """Return the mean lead of S2-GNN over the better of the models without a graph."""
        gains: dict[str, list[float]] = {"constructed graphs": [], "citation networks": []}
        for result in self.results:
            kind = "citation networks" if result.study.name == "table3" else "constructed graphs"
            leads = result.tally(result.study.protocols[-1]).leads
            for column in result.study.columns:
                found = (result.find(column, model) for model in FEATURES_ONLY)
                points = [leads[cell].mean_difference for cell in found if cell and cell in leads]
                gains[kind] += [min(points)] if points else []
        parts = [f"{np.mean(of):+.1f} points on {len(of)} {kind}" for kind, of in gains.items() if of]
        if not parts:
            return ""
        return (
            "**Value of the graph**: compared with the better of an MLP and an SVM, which do not use the graph, S2-GNN "
            f"gains {' and '.join(parts)} on average."
        )

    def _robust(self) -> str:
        record = STABILITY.read(self.folder)
        if record is None:
            return ""
        lost = mean_lost(record["content"], ADDED)
        others = [model for model in lost if model != OURS]  # least first
        if not others:
            return ""
        data, _ = measured_together(record["content"])
        ends = f"{others[-1]} loses {lost[others[-1]]:.1f}"
        if len(others) > 1:
            ends = (
                f"{len(others)} baselines lose {lost[others[0]]:.1f} ({others[0]}) to {lost[others[-1]]:.1f} "
                f"({others[-1]})"
            )
        return (
            f"**Robustness**: with {100 * ADDED.level:.0f} % spurious edges added after training, S2-GNN loses "
            f"{lost[OURS]:.1f} points on average over {counted([len(data)], 'constructed graph')}; {ends}."
        )


@dataclass(frozen=True)
class OverviewStudy(Study):
    """A summary of `TABLES`, from their records."""

    name: str = "overview"
    title: str = "S2-GNN compared with every other model"
    paper: str = "Tables II and III together"

    @property
    def size(self) -> str:
        """What it produces."""
        return "a table, three pictures, from the records of other studies"

    def table(self, folder: Path, selection: Selection = ALL) -> Table:
        """Return mean leads, verdicts and ranks of every model."""
        del selection
        return self.table_of(Overview(folder))

    def table_of(self, overview: Overview) -> Table:
        """Return the table of records that are read."""
        ranks = overview.ranks.means if overview.ranks else {}
        rows = []
        for model in overview.models:
            leads = [of[model] for of in overview.leads.values()]
            decided = list(overview.verdicts(model).values())
            counts = " / ".join(str(decided.count(verdict)) for verdict in get_args(Verdict)) if decided else DASH
            rank = f"{ranks[model]:.1f}" if model in ranks else DASH
            rows.append(tuple(map(Cell, (model, *(lead.text if lead else DASH for lead in leads), counts, rank))))
        header = (
            "S2-GNN compared with",
            *(f"{where} (points)" for where in get_args(Where)),
            f"fair: {' / '.join(get_args(Verdict))}",
            "mean rank",
        )
        own = f" S2-GNN has mean rank {ranks[OURS]:.1f}." if OURS in ranks else ""
        note = (
            "Mean lead of S2-GNN in points, with its 95 % interval, over the graphs that have runs of both models. "
            f"Number of graphs: {RULE} within each table. Mean ranks are over the graphs that have fair runs of every "
            f"ranked model; a data set with two graphs counts twice.{own}"
        )
        return Table(self.title, header, (Block("", tuple(rows)),), (note,))

    def json(self, folder: Path, selection: Selection = ALL) -> dict[str, Any]:
        """Return the same with the verdict on every graph."""
        del selection
        overview = Overview(folder)
        leads, ranks = overview.leads, overview.ranks
        return {
            "sentences": overview.sentences(),
            "models": {
                model: {
                    "leads": {where: asdict(lead) if (lead := of[model]) else None for where, of in leads.items()},
                    "verdicts": overview.verdicts(model),
                }
                for model in overview.models
            },
            "ranks": asdict(ranks) if ranks else None,
        }

    def draw(self, folder: Path) -> tuple[str, ...]:
        """Write the forest plot, the critical-difference diagram and the README's figure; returns their names."""
        overview = Overview(folder)
        drawings: dict[str, Callable[[], Figure]] = {"overview-leads": lambda: draw_leads(overview.leads)}
        if (ranks := overview.ranks) is not None:
            drawings["overview-ranks"] = lambda: draw_ranks(ranks)
        noise, tables = STABILITY.read(folder), LEADERBOARD.read(folder)
        if noise is not None and tables is not None:
            scores = scores_by_labels(tables["content"]["rows"])
            means = pd.DataFrame({known: frames["score"].mean() for known, frames in scores.items()})
            lost = mean_lost(noise["content"], ADDED)
            drawings["overview-hero"] = lambda: draw_hero(means, lost)
        for name, draw in drawings.items():
            save_figure(draw, folder / name)
        return tuple(drawings)

    def redraw(self, folder: Path) -> tuple[str, ...]:
        """Return the same, if there are records of a table."""
        return self.draw(folder) if any(result.records for result in Overview(folder).results) else ()


def overview_text(folder: Path) -> str:
    """Return the sentences and the table in Markdown, for the first screen of a document."""
    overview = Overview(folder)
    sentences = "\n".join(f"- {sentence}" for sentence in overview.sentences())
    return f"{sentences}\n\n{render(OverviewStudy().table_of(overview), 'markdown')}"


def headline(folder: Path) -> str:
    """Return one small table in Markdown: fair accuracies on the seeds common to all models shown."""
    results = [load_table(name).result(folder) for name in _HEADLINE_TABLES]
    columns = [(result, column) for result in results for column in result.study.columns]
    rows: dict[str, list[Cell]] = {model: [] for model in _HEADLINE_MODELS}
    seeds: list[int] = []
    budgets: dict[str, None] = {}
    for result, column in columns:
        fair = result.study.protocols[-1]
        shown = {
            cell.model: result.shown[cell, fair.name]
            for cell in result.ranking(column, fair)
            if cell.model in _HEADLINE_MODELS
        }
        scores = {model: of.runs.scores for model, of in shown.items()}
        common = sorted(set.intersection(*map(set, scores.values()))) if scores else []
        means = {model: np.mean([of[seed] for seed in common]) for model, of in scores.items() if common}
        best = f"{max(means.values()):.1f}" if means else None
        for model, row in rows.items():
            text = f"{means[model]:.1f}" if model in means else DASH
            row.append(Cell(text, 1 if text == best else None))  # ties after rounding are all marked
        if common:
            seeds.append(len(common))
            budgets |= dict.fromkeys(str(of.budget) for of in shown.values())
    made = "no runs yet"
    if seeds:
        commits = commits_text(record for result in results for record in result.records)
        made = f"{span(seeds)} seeds common to all models, budget {', '.join(budgets)}, {commits}"
    header = ("accuracy (%)", *(column.data for _, column in columns))
    block = Block("", tuple((Cell(model), *row) for model, row in rows.items()))
    note = f"`s2gnn study run table2-knn` and `table3`, {made}."
    return render(Table("", header, (block,), (note,)), "markdown")
