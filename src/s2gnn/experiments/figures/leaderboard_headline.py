"""The leaderboard in one small table and in sentences, for documents."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from s2gnn.experiments.figures.leaderboard import (
    CALIBRATION,
    CLASSIFIERS,
    LARGE_LOSS,
    LEADERBOARD,
    REFERENCES,
    by_table,
)
from s2gnn.experiments.measured import Row, block, commits_of, grouped
from s2gnn.render import Table, render

METHODS = tuple(CLASSIFIERS)
OURS = METHODS[0]
AVERAGE = "regression + forest"  # not a single method
COMPARED_AT = 10  # labels per class


def scores_by_labels(rows: Sequence[Row]) -> dict[int, dict[str, pd.DataFrame]]:
    """Return accuracies in % and measures of calibration, each (tables, methods), by number of labels per class.

    Tables that lack a method are left out.
    """
    found = {}
    for known, of in grouped(rows, "known").items():
        frames = by_table(of, METHODS, 100)
        complete = frames["score"].dropna().index
        found[int(known)] = {name: frame.loc[complete] for name, frame in frames.items()}
    return found


def leaderboard_findings(folder: Path) -> str:
    """Compare S2GNNClassifier with other methods, in sentences: accuracy, losses and calibration."""
    lines = []
    for known, frames in scores_by_labels(LEADERBOARD.json(folder)["content"]["rows"]).items():
        scores, means = frames["score"], frames["score"].mean()
        single = means.drop([OURS, AVERAGE])
        rank = scores.rank(axis=1, ascending=False).mean()
        behind = scores[list(REFERENCES[OURS])].max(axis=1) - scores[OURS]
        large = int((behind > 100 * LARGE_LOSS).sum())
        error, floor, again = (frames[name][OURS].mean() for name in CALIBRATION.values())
        lines.append(
            f"- **{known} labels per class**: mean rank {rank[OURS]:.1f} (next: {rank.drop(OURS).min():.1f}); "
            f"{means[OURS] - single.max():+.1f} points compared with the best single method ({single.idxmax()}), "
            f"{means[OURS] - means[AVERAGE]:+.1f} compared with the mean of regression and forest. More than "
            f"{100 * LARGE_LOSS:.0f} points behind the better of these two on {large} of {len(scores)} tables, at most "
            f"{behind.max():.1f}. Calibration error {error:.3f} (perfectly calibrated probabilities: {floor:.3f}; "
            f"after temperature scaling on as many additional labels: {again:.3f})."
        )
    return "\n".join(lines) + "\n"


def leaderboard_headline(folder: Path) -> str:
    """Return mean accuracies at each number of labels; median lead of S2GNNClassifier, and tables ahead and behind."""
    rows = LEADERBOARD.json(folder)["content"]["rows"]
    scores = {known: frames["score"] for known, frames in scores_by_labels(rows).items()}
    compared = scores[COMPARED_AT]
    lead = compared.rsub(compared[OURS], axis=0)
    lines = []
    for method in compared.mean().sort_values(ascending=False).index:
        means = [f"{of[method].mean():.1f}" for of in scores.values()]
        against = [f"{lead[method].median():+.1f}", f"{(lead[method] > 0).sum()} : {(lead[method] < 0).sum()}"]
        lines.append([method, *means, *(against if method != OURS else ("", ""))])
    header = (
        f"mean accuracy (%) on {len(lead)} tables",
        *(f"{known} labels" for known in scores),
        f"median lead of {OURS} at {COMPARED_AT}",
        "tables ahead : behind",
    )
    note = (
        f"`s2gnn study run leaderboard`, commit {commits_of(rows)}; labels per class, all methods with their defaults."
    )
    return render(Table("", header, (block("", lines),), (note,)), "markdown")
