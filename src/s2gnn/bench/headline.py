"""Three numbers for the first screen: few labels, noisy edges, and speed, from the stored records."""

from pathlib import Path

from s2gnn.bench.report import read_record, records_of
from s2gnn.errors import InputError
from s2gnn.experiments.figures import trained_stability
from s2gnn.experiments.figures.leaderboard import LEADERBOARD
from s2gnn.experiments.figures.leaderboard_headline import AVERAGE, scores_by_labels
from s2gnn.experiments.figures.leaderboard_headline import OURS as CLASSIFIER
from s2gnn.experiments.figures.noise_findings import ADDED, MODELS, mean_lost, measured_together
from s2gnn.experiments.measured import block, commits_of
from s2gnn.experiments.table_scores import OURS
from s2gnn.render import Table, render

LABELS = 10  # per class
GCN = "PyG's GCNConv, cached"
GCN_CSR = "PyG's GCNConv on a CSR adjacency"


def three_numbers(folder: Path) -> str:
    """A table in Markdown with a line for each number, how it compares, and the command and commit behind it."""
    lines = (_few_labels(folder), _noisy_edges(folder), _speed(folder))
    return render(Table("", ("", "s2gnn", "compared with", "measured by"), (block("", lines),)), "markdown")


def _few_labels(folder: Path) -> tuple[str, ...]:
    record = LEADERBOARD.json(folder)
    rows = record["content"]["rows"]
    scores = scores_by_labels(rows)[LABELS]["score"]
    means = scores.mean()
    single = means.drop([CLASSIFIER, AVERAGE]).sort_values(ascending=False)
    return (
        f"Mean accuracy on {len(scores)} tables with {LABELS} labels per class",
        f"**{means[CLASSIFIER]:.1f} %**",
        f"{single.index[0]} {single.iloc[0]:.1f} %, {single.index[1]} {single.iloc[1]:.1f} %",
        f"`{record['command']}`, commit {commits_of(rows)}",
    )


def _noisy_edges(folder: Path) -> tuple[str, ...]:
    record = trained_stability.STUDY.json(folder)
    lost = mean_lost(record["content"], ADDED)
    data, _ = measured_together(record["content"])
    others = [f"{MODELS[name]} {lost[name]:.1f}" for name in ("gcn", "sgc", "gatv2") if name in lost]
    return (
        f"Points of accuracy lost with {100 * ADDED.level:.0f} % spurious edges, mean of {len(data)} data sets",
        f"**{lost[OURS]:.1f}**",
        ", ".join(others),
        f"`{record['command']}`, commit {commits_of(record['content']['rows'])}",
    )


def _speed(folder: Path) -> tuple[str, ...]:
    paths = records_of(folder / "bench-layers.json")
    if not paths:
        raise InputError(f"{folder} has no record of bench layers: make it with s2gnn bench layers --record {folder}")
    record = read_record(paths[0])
    times = {
        of["peer"]: tuple(of["ways"][way]["milliseconds"] for way in ("ours", "peer"))
        for of in record["timings"]
        if of["layer"] == "S2Conv"
    }
    (ours, csr), (_, gcn) = (times[peer] for peer in (GCN_CSR, GCN))
    return (
        f"Forward and backward pass, 100,000 edges, 64 channels, {record['threads']} threads; four branches compared "
        "with one",
        f"**{ours:.1f} ms**",
        f"PyG's GCNConv {gcn:.1f} ms, on a CSR adjacency {csr:.1f} ms",
        f"`{record['command']}`, commit {record['commit']}, {record['cpu']}",
    )
