"""Three numbers for the README's first screen: few labels, noisy edges and speed, from the stored records."""

from pathlib import Path

import pandas as pd

from s2gnn.bench.layers import CACHED, LINEAR, ON_CSR
from s2gnn.bench.record import latest_record
from s2gnn.experiments.appearance import display_name
from s2gnn.experiments.figures import trained_stability
from s2gnn.experiments.figures.leaderboard import LEADERBOARD, RANDOM_LEADERBOARD
from s2gnn.experiments.figures.leaderboard_headline import AVERAGE, scores_by_labels
from s2gnn.experiments.figures.leaderboard_headline import OURS as CLASSIFIER
from s2gnn.experiments.figures.noise_findings import ADDED, MODELS, mean_lost, measured_together
from s2gnn.experiments.measured import MeasuredStudy
from s2gnn.experiments.table_scores import OURS

LABELS = 10  # per class


def three_numbers(folder: Path) -> str:
    """Return a table in Markdown for the README: each number, how it compares, and a link to how it was measured."""
    lines = (_few_labels(folder), _noisy_edges(folder), _speed(folder))
    head = ("| | s2gnn | others | measured |", "|---|---:|---|---|")
    return "\n".join((*head, *(f"| {' | '.join(line)} |" for line in lines), ""))


def _few_labels(folder: Path) -> tuple[str, ...]:
    means, n_tables = _mean_scores(LEADERBOARD, folder)
    single = means.drop([CLASSIFIER, AVERAGE])
    random, _ = _mean_scores(RANDOM_LEADERBOARD, folder)
    return (
        f"Accuracy with {LABELS} labels per class (in brackets: as many labels of random rows)",
        f"**{means[CLASSIFIER]:.1f} %** ({random[CLASSIFIER]:.1f} %)",
        f"{single.idxmax()} {single.max():.1f} %; logistic regression and forest averaged {means[AVERAGE]:.1f} % "
        f"({random[AVERAGE]:.1f} %)",
        f"[mean of {n_tables} tables](docs/leaderboard.md)",
    )


def _mean_scores(study: MeasuredStudy, folder: Path) -> tuple[pd.Series, int]:
    """Return mean accuracies in % by method, and the number of tables."""
    scores = scores_by_labels(study.json(folder)["content"]["rows"])[LABELS]["score"]
    return scores.mean(), len(scores)


def _noisy_edges(folder: Path) -> tuple[str, ...]:
    content = trained_stability.STUDY.json(folder)["content"]
    lost = mean_lost(content, ADDED)
    data, _ = measured_together(content)
    others = [f"{MODELS[name]} {lost[name]:.1f}" for name in ("sign", "gcn", "gatv2") if name in lost]
    sets = " and ".join(map(display_name, data)) if len(data) < 3 else f"{len(data)} data sets"
    return (
        f"Points lost with {100 * ADDED.level:.0f} % spurious edges",
        f"**{lost[OURS]:.1f}**",
        ", ".join(others) + "; an MLP ignores the graph",
        f"[mean of {sets}](docs/gallery.md#stability-of-trained-networks)",
    )


def _speed(folder: Path) -> tuple[str, ...]:
    """Return times on both graphs with freed memory kept, or page faults would take most of the time of GCNConv."""
    record = latest_record(folder, "layers-kept")
    rows = [row for row in record["timings"] if row["layer"] == LINEAR]
    ours, cached, csr = (
        " and ".join(f"{row['ways'][way]['milliseconds']:.1f}" for row in rows if row["peer"] == peer)
        for way, peer in (("ours", CACHED), ("peer", CACHED), ("peer", ON_CSR))
    )
    graphs = " and ".join(row["graph"] for row in rows if row["peer"] == CACHED)
    return (
        "Forward and backward pass: four branches with linear fusion, against one",
        f"**{ours} ms**",
        f"{CACHED}: {cached} ms; on a CSR adjacency: {csr} ms",
        f"[{graphs}; {record['threads']} threads](docs/benchmarks.md#layers)",
    )
