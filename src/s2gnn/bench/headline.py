"""Three numbers for the README's first screen: few labels, noisy edges and speed, from the stored records."""

from pathlib import Path

from s2gnn.bench.record import Row, all_records, latest_record
from s2gnn.experiments.figures import trained_stability
from s2gnn.experiments.figures.leaderboard import LEADERBOARD
from s2gnn.experiments.figures.leaderboard_headline import OURS as CLASSIFIER
from s2gnn.experiments.figures.leaderboard_headline import scores_by_labels
from s2gnn.experiments.figures.noise_findings import ADDED, MODELS, mean_lost, measured_together
from s2gnn.experiments.table_scores import OURS

LABELS = 10  # per class
GCN = "PyG's GCNConv"
GCN_CSR = "PyG's GCNConv on a CSR adjacency"


def three_numbers(folder: Path) -> str:
    """Return a table in Markdown for the README: each number, how it compares, and a link to how it was measured."""
    lines = (_few_labels(folder), _noisy_edges(folder), _speed(folder))
    head = ("| | s2gnn | others | measured |", "|---|---:|---|---|")
    return "\n".join((*head, *(f"| {' | '.join(line)} |" for line in lines), ""))


def _few_labels(folder: Path) -> tuple[str, ...]:
    scores = scores_by_labels(LEADERBOARD.json(folder)["content"]["rows"])[LABELS]["score"]
    means = scores.mean()
    others = means.drop(CLASSIFIER).sort_values(ascending=False)
    return (
        f"Accuracy with {LABELS} labels per class",
        f"**{means[CLASSIFIER]:.1f} %**",
        f"{others.index[0]} {others.iloc[0]:.1f} %, {others.index[1]} {others.iloc[1]:.1f} %",
        f"[mean of {len(scores)} tables](docs/leaderboard.md)",
    )


def _noisy_edges(folder: Path) -> tuple[str, ...]:
    content = trained_stability.STUDY.json(folder)["content"]
    lost = mean_lost(content, ADDED)
    data, _ = measured_together(content)
    others = [f"{MODELS[name]} {lost[name]:.1f}" for name in ("sign", "gcn", "gatv2") if name in lost]
    return (
        f"Points lost with {100 * ADDED.level:.0f} % spurious edges",
        f"**{lost[OURS]:.1f}**",
        ", ".join(others),
        f"[mean of {len(data)} data sets](docs/gallery.md#stability-of-trained-networks)",
    )


def _speed(folder: Path) -> tuple[str, ...]:
    """Return times with freed memory kept: otherwise, page faults take most of the time of GCNConv on an edge_index."""
    kept = latest_record(folder, "layers-kept")
    returned = next((one for one in all_records(folder, "layers") if one["cpu"] == kept["cpu"]), None)
    ours, gcn, csr = (_milliseconds(kept, way, peer) for way, peer in (("ours", GCN), ("peer", GCN), ("peer", GCN_CSR)))
    default = f" ({_milliseconds(returned, 'peer', GCN)} ms with glibc's defaults)" if returned else ""
    return (
        "Forward and backward pass, four branches against one",
        f"**{ours} ms**",
        f"PyG's GCNConv {gcn} ms{default}; on a CSR adjacency {csr} ms",
        f"[100,000 edges, {kept['threads']} threads, freed memory kept](docs/benchmarks.md#layers)",
    )


def _milliseconds(record: Row, way: str, peer: str) -> str:
    """Return the time of S2Conv, or of the layer that it was compared with."""
    rows = (row for row in record["timings"] if row["layer"] == "S2Conv")
    row = next(row for row in rows if row["peer"].removesuffix(", cached") == peer)
    return f"{row['ways'][way]['milliseconds']:.1f}"
