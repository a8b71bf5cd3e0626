"""What edge noise does to a fitted estimator, as numbers to store, a table to read and a picture to look at."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from s2gnn.analysis import EdgeNoise, NoiseStability
from s2gnn.analysis.noise_picture import TITLES, Curve, draw_noise_row
from s2gnn.estimator.stability import verdict
from s2gnn.render import Block, Cell, Table


def stability_content(found: NoiseStability, model: str, looked_at: str) -> dict[str, Any]:
    """The numbers as JSON has them.

    Args:
        found: measured.
        model: its name.
        looked_at: which rows, in a few words.
    """
    return {
        "model": model,
        "looked_at": looked_at,
        "task": "regress" if found.flips is None else "classify",
        "seeds": list(found.seeds),
        "score": found.clean_score,
        "rows": [
            {
                "kind": noise.kind,
                "level": noise.level,
                "changes": found.changes[row].tolist(),
                "flips": None if found.flips is None else found.flips[row].tolist(),
                "scores": None if found.scores is None else found.scores[row].tolist(),
            }
            for row, noise in enumerate(found.noises)
        ],
        "verdict": verdict(found),
    }


def stability_layout(content: Mapping[str, Any]) -> Table:
    """One block for each kind of noise that was measured, one row for each strength; the verdict is the first note."""
    scored, classifies = content["score"] is not None, content["task"] == "classify"
    header = ["noise"]
    header += ["classes changed (%)", "change of probabilities (%)"] if classifies else ["change (% of the spread)"]
    header += [_score_name(content)] if scored else []
    blocks = [
        Block(title, tuple(_row(row, content) for row in content["rows"] if row["kind"] == kind))
        for kind, title in _titles(content).items()
    ]
    note = (
        f"Mean ± standard deviation over {len(content['seeds'])} draws of the noise, on {content['looked_at']}. "
        + (f"Without noise: {_score(content['score'], content)}. " if scored else "")
        + "At a ratio of s dB the noise on the weights has 10^(−s/20) times their size. The networks are not trained "
        "again."
    )
    return Table(f"Edge noise on {content['model']}", tuple(header), tuple(blocks), (content["verdict"], note))


def _titles(content: Mapping[str, Any]) -> dict[str, str]:
    """The kinds of noise that were measured; a graph whose nodes are all joined has no room for more edges."""
    return {kind: TITLES[kind] for kind in dict.fromkeys(row["kind"] for row in content["rows"])}


def _row(row: Mapping[str, Any], content: Mapping[str, Any]) -> tuple[Cell, ...]:
    texts = [EdgeNoise(row["kind"], row["level"]).label]
    shown = [("flips", 100.0)] if content["task"] == "classify" else []
    shown.append(("changes", 100.0))
    texts += [f"{factor * np.mean(row[key]):.2f} ± {factor * np.std(row[key]):.2f}" for key, factor in shown]
    if row["scores"] is not None:
        factor, form, spread = (100.0, ".1f", ".1f") if content["task"] == "classify" else (1.0, ".4g", ".2g")
        mean, deviation = factor * np.mean(row["scores"]), factor * np.std(row["scores"])
        texts.append(f"{mean:{form}} ± {deviation:{spread}}")
    return tuple(map(Cell, texts))


def _score_name(content: Mapping[str, Any]) -> str:
    return "accuracy (%)" if content["task"] == "classify" else "mean absolute error"


def _score(value: float, content: Mapping[str, Any]) -> str:
    return f"accuracy {100 * value:.1f} %" if content["task"] == "classify" else f"mean absolute error {value:.4g}"


def draw_stability(content: Mapping[str, Any]) -> Figure:
    """A row of panels for the predictions that change, and one for the score if there is any."""
    noises = [EdgeNoise(row["kind"], row["level"]) for row in content["rows"]]
    classifies, scored = content["task"] == "classify", content["score"] is not None
    figure = Figure(figsize=(7.2, 4.4 if scored else 2.5), layout="constrained")
    titles = _titles(content).values()
    grid = figure.subplots(1 + scored, len(titles), sharey="row", squeeze=False)
    key, what = ("flips", "classes changed (%)") if classifies else ("changes", "change (% of the spread)")
    changes = [[100 * value for value in row[key]] for row in content["rows"]]
    draw_noise_row(grid[0], noises, [Curve("with noise", changes)], what)
    for axes, title in zip(grid[0], titles, strict=True):
        axes.set_title(title, fontsize=9)
    if scored:
        factor = 100 if classifies else 1
        scores = [[factor * value for value in row["scores"]] for row in content["rows"]]
        draw_noise_row(grid[1], noises, [Curve("with noise", scores)], _score_name(content), low=None)
        for axes in grid[1]:
            axes.axhline(factor * content["score"], color="0.4", linestyle="--", linewidth=1, label="without noise")
        grid[1][0].legend(frameon=False, fontsize=7)
    figure.suptitle(f"Edge noise on {content['model']}", fontsize=10)
    return figure
