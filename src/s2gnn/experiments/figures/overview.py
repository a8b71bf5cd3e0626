"""Summary of the accuracy tables: numbers reproduced, fair comparison, value of the graph, robustness."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from matplotlib.figure import Figure

from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import DASH, RULE, Verdict
from s2gnn.experiments.figures.leaderboard import LEADERBOARD
from s2gnn.experiments.figures.leaderboard_headline import scores_by_labels
from s2gnn.experiments.figures.noise_findings import ADDED, mean_lost
from s2gnn.experiments.figures.overview_drawings import draw_leads, draw_ranks
from s2gnn.experiments.figures.overview_findings import overview_sentences
from s2gnn.experiments.figures.overview_hero import draw_hero
from s2gnn.experiments.figures.overview_statistics import Overview, Where
from s2gnn.experiments.figures.trained_stability import STUDY as STABILITY
from s2gnn.experiments.study import ALL, Selection, Study
from s2gnn.experiments.table_scores import OURS
from s2gnn.pictures import save_figure
from s2gnn.render import Block, Cell, Table, render


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
            rows.append(
                tuple(map(Cell, (display_name(model), *(lead.text if lead else DASH for lead in leads), counts, rank)))
            )
        header = (
            "S2-GNN compared with",
            *(f"{where} (points)" for where in get_args(Where)),
            f"fair: {' / '.join(get_args(Verdict))}",
            "mean rank",
        )
        own = f" S2-GNN has mean rank {ranks[OURS]:.1f}." if OURS in ranks else ""
        note = (
            "Mean lead of S2-GNN in points, with its 95 % interval, over the data sets with runs of both models; where "
            "a data set has a k-NN and a learned graph, their mean counts once. The verdicts are on single graphs: "
            f"{RULE} within each table. Mean ranks are over the data sets with fair runs of every ranked model.{own}"
        )
        return Table(self.title, header, (Block("", tuple(rows)),), (note,))

    def json(self, folder: Path, selection: Selection = ALL) -> dict[str, Any]:
        """Return the same with the verdict on every graph."""
        del selection
        overview = Overview(folder)
        leads, ranks = overview.leads, overview.ranks
        return {
            "sentences": overview_sentences(overview),
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
    sentences = "\n".join(f"- {sentence}" for sentence in overview_sentences(overview))
    return f"{sentences}\n\n{render(OverviewStudy().table_of(overview), 'markdown')}"
