"""The leaderboard in one small table, for the first screen of a document."""

from pathlib import Path

from s2gnn.experiments.figures.leaderboard import CLASSIFIERS, LEADERBOARD, by_table
from s2gnn.experiments.measured import block, grouped
from s2gnn.render import Table, render

METHODS = tuple(CLASSIFIERS)
OURS = METHODS[0]
COMPARED_AT = 10  # labels per class


def leaderboard_headline(folder: Path) -> str:
    """Mean accuracies at each number of labels; median lead of S2GNNClassifier, and tables ahead and behind."""
    rows = LEADERBOARD.json(folder)["content"]["rows"]
    scores = {known: by_table(of, METHODS, 100)["score"].dropna() for known, of in grouped(rows, "known").items()}
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
    commits = ", ".join(dict.fromkeys(row["commit"] for row in rows))
    note = f"`s2gnn study run leaderboard`, commit {commits}; labels per class, all methods with their defaults."
    return render(Table("", header, (block("", lines),), (note,)), "markdown")
