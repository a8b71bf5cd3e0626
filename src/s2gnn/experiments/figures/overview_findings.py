"""What the accuracy tables show, in sentences: reproduction, fair comparison, ranks, value of the graph, robustness."""

from typing import get_args

import numpy as np

from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.compare import LEVEL, Verdict, counted
from s2gnn.experiments.figures.noise_findings import ADDED, mean_lost, measured_together
from s2gnn.experiments.figures.overview_statistics import Overview
from s2gnn.experiments.figures.trained_stability import STUDY as STABILITY
from s2gnn.experiments.table_scores import OURS, Reproduced

# Models that see no graph.
FEATURES_ONLY = ("mlp", "svm")
_PLACES = ("best", "second best", "third best")


def overview_sentences(overview: Overview) -> list[str]:
    """Return what is reproduced, what the fair comparison says, when the graph helps, and what robustness adds."""
    found = (of(overview) for of in (_reproduced, _fair, _powers, _ranked, _graph, _robust))
    return [sentence for sentence in found if sentence]


def _reproduced(overview: Overview) -> str:
    printed = [(result, cell) for result in overview.results for cell in result.study.cells if cell.paper]
    found = [(cell.model, verdict) for result, cell in printed if (verdict := result.reproduced(cell))]
    counts = {word: sum(verdict == word for _, verdict in found) for word in get_args(Reproduced)}
    ours = [verdict for model, verdict in found if model == OURS]
    if not found:
        return "No published number has been run yet."
    return (
        f"**Reproduction**: {len(found)} of the {len(printed)} published accuracies of Table II and of the citation "
        f"networks of Table III have enough runs. {counts['yes']} of them are reproduced under the *released* protocol "
        f"(S2-GNN: {ours.count('yes')} of {len(ours)}), {counts['other hyperparameters']} with other hyperparameters; "
        f"for {counts['compatible']} the intervals are too wide to tell; {counts['no']} are not reproduced."
    )


def _fair(overview: Overview) -> str:
    decided = [verdict for model in overview.models for verdict in overview.verdicts(model).values()]
    if not decided:
        return ""
    counts = {verdict: decided.count(verdict) for verdict in get_args(Verdict)}
    text = (
        f"**Fair comparison**: S2-GNN is ahead in {counts['ahead']} of {len(decided)} comparisons with a baseline "
        f"on one graph, level in {counts['level']}, behind in {counts['behind']}; {counts['undecided']} are undecided"
    )
    known = {
        where: {cell: lead for of in by.values() for cell, lead in of.items()}
        for where, by in overview.leads_by_graph.items()
    }
    common = set.intersection(*map(set, known.values()))
    if not common:
        return f"{text}."
    means = [f"{np.mean([of[cell] for cell in common]):+.1f}" for of in known.values()]
    return (
        f"{text}. On the {len(common)} pairs of baseline and graph that the paper reports, its mean lead is "
        f"{means[2]} points under the *fair* protocol, {means[1]} under *released* and {means[0]} in the paper."
    )


def _powers(overview: Overview) -> str:
    """Return on how many data sets the S2-GNN of the fair comparison has no power above the first."""
    alphas: dict[str, set[int]] = {}
    for result in overview.results:
        for cell in result.study.cells:
            runs = result.scores(cell, result.study.protocols[-1])
            if cell.model == OURS and runs.records:
                alphas.setdefault(cell.data, set()).add(runs.hyperparameters["alpha"])
    if not alphas:
        return ""
    first = [display_name(data) for data, found in alphas.items() if found == {1}]
    where = f": {', '.join(first)}" if first else ""
    return (
        f"**Powers**: in the fair comparison the selected S2-GNN has α = 1, so no power above the first, on "
        f"{len(first)} of {counted([len(alphas)], 'data set')}{where}."
    )


def _ranked(overview: Overview) -> str:
    ranks = overview.ranks
    if ranks is None:
        return ""
    place, near = list(ranks.means).index(OURS), ", ".join(map(display_name, ranks.near(OURS)))
    place_text = _PLACES[place] if place < len(_PLACES) else f"{place + 1}th best"
    p = "< 0.001" if ranks.p < 0.001 else f"= {ranks.p:.3f}"
    differ = "differ" if ranks.p < LEVEL else "do not differ"
    nemenyi = f"its difference from {near} is not significant" if near else "every difference is significant"
    return (
        f"**Ranks**: S2-GNN has the {place_text} mean rank of {len(ranks.means)} models, {ranks.means[OURS]:.1f} over "
        f"{ranks.data_sets} data sets. The models {differ} significantly (Friedman test, p {p}); {nemenyi} (Nemenyi's "
        "test)."
    )


def _graph(overview: Overview) -> str:
    """Return the mean lead of S2-GNN over the better of the models without a graph."""
    gains: dict[str, list[float]] = {"constructed graphs": [], "citation networks": []}
    for result in overview.results:
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


def _robust(overview: Overview) -> str:
    record = STABILITY.read(overview.folder)
    if record is None:
        return ""
    lost = mean_lost(record["content"], ADDED)
    others = [(display_name(model), points) for model, points in lost.items() if model != OURS]  # least first
    if not others:
        return ""
    data, _ = measured_together(record["content"])
    (least, fewest), (worst, largest) = others[0], others[-1]
    ends = f"{worst} loses {largest:.1f}"
    if len(others) > 1:
        ends = f"{len(others)} baselines lose {fewest:.1f} ({least}) to {largest:.1f} ({worst})"
    return (
        f"**Robustness**: with {100 * ADDED.level:.0f} % spurious edges added after training, S2-GNN loses "
        f"{lost[OURS]:.1f} points on average over {counted([len(data)], 'constructed graph')}; {ends}."
    )
