"""Beyond Theorem 3: what edge noise does to trained networks on real graphs, S2-GNN beside GCN."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from s2gnn.analysis import EdgeNoise, NoiseStability, edge_noise_stability
from s2gnn.analysis.noise_picture import TITLES, Curve, draw_noise_row
from s2gnn.data import Dataset
from s2gnn.data.catalogue import entry
from s2gnn.data.splits import TEST_SEEDS, dataset_split
from s2gnn.graphs import Graph
from s2gnn.learning import Run, fit_many, predict_logits
from s2gnn.learning.metrics import accuracy
from s2gnn.learning.protocol import FAIR
from s2gnn.render import Block, Cell, Table
from s2gnn.studies.cell import Cell as Experiment
from s2gnn.studies.cell import make_cell
from s2gnn.studies.measured import MeasuredStudy, Report
from s2gnn.studies.run import dataset_of, materials
from s2gnn.studies.table import chosen_values

DATA = ("cancer-b", "isolet")
MODELS = {"s2gnn": "S2-GNN", "gcn": "GCN"}
PROTOCOL = FAIR
TRAINING_SEEDS = TEST_SEEDS[:3]
NOISE_SEEDS = tuple(range(10))
_EVEN = 0.1  # points of accuracy between two models that count as none


def _measure(data: Sequence[str] | None, report: Report) -> dict[str, Any]:
    rows = []
    for name in data or DATA:
        for model in MODELS:
            values = chosen_values("table2-knn", name, model)
            cell = make_cell(name, model, PROTOCOL, graph="knn", changes=values, seeds=TRAINING_SEEDS)
            rows.append(_row(cell, _networks(cell, report)))
    return {"protocol": PROTOCOL.name, "training_seeds": TRAINING_SEEDS, "noise_seeds": NOISE_SEEDS, "rows": rows}


def _row(cell: Experiment, found: Sequence[NoiseStability]) -> dict[str, Any]:
    """What is stored of a model on a data set: by noise, then network, then draw."""

    def listed(measure: str, row: int) -> list[list[float]]:
        return [getattr(network, measure)[row].round(6).tolist() for network in found]

    return {
        "data": cell.data,
        "model": cell.model,
        "hyperparameters": asdict(cell.hyperparameters),
        "clean": [network.clean_score for network in found],
        "noises": [
            {
                **asdict(noise),
                "accuracies": listed("scores", row),
                "changes": listed("changes", row),
                "flips": listed("flips", row),
            }
            for row, noise in enumerate(found[0].noises)
        ],
    }


def _networks(cell: Experiment, report: Report) -> list[NoiseStability]:
    """Train the seeds of a cell and measure each network on the same noisy graphs, in the order of the seeds."""
    dataset, graph = dataset_of(cell)
    config, data = materials(cell, dataset, graph)
    report(f"{cell.title}: training")
    runs = {run.seed: run for run in fit_many(config, data, cell.seeds)}
    found = []
    for seed in cell.seeds:
        report(f"{cell.title}: noise, seed {seed}")
        found.append(_stability(cell, runs[seed], dataset, graph))
    return found


def _stability(cell: Experiment, run: Run, dataset: Dataset, graph: Graph) -> NoiseStability:
    """One trained network: its logits, less their mean over classes, which changes no probability."""
    with torch.device("meta"):  # its parameters are those of the run
        model = cell.new_model(dataset.x.shape[1], len(dataset.class_names))
    model.load_state_dict(run.state, assign=True)
    test = dataset_split(dataset, run.seed).test

    def outputs(noisy: Graph) -> NDArray[np.float64]:
        logits = predict_logits(model, *model.prepare(dataset.x, noisy)).double().numpy()
        return np.asarray(logits - logits.mean(axis=1, keepdims=True))

    def score(logits: NDArray[np.float64]) -> float:
        return accuracy(dataset.y[test], logits[test].argmax(axis=1))

    return edge_noise_stability(outputs, graph, score, seeds=NOISE_SEEDS)


def _drops(row: Mapping[str, Any], noise: Mapping[str, Any]) -> NDArray[np.float64]:
    """The accuracy that the noise takes, in points, of every network and draw, (runs,)."""
    return np.asarray(100 * (np.array(row["clean"])[:, None] - np.array(noise["accuracies"]))).ravel()


def _changes(noise: Mapping[str, Any]) -> NDArray[np.float64]:
    """The change of the outputs in per cent, of every network and draw, (runs,)."""
    return 100 * np.array(noise["changes"]).ravel()


def _by_data(content: Mapping[str, Any]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The rows by data set and model."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in content["rows"]:
        found.setdefault(row["data"], {})[row["model"]] = row
    return found


def _layout(content: Mapping[str, Any]) -> Table:
    columns = ("accuracy (%)", "drop (points)", "outputs change (%)", "classes change (%)")
    header = ("noise on the edges", *(f"{title}: {column}" for title in MODELS.values() for column in columns))
    blocks = []
    for data, rows in _by_data(content).items():
        first = next(iter(rows.values()))
        lines = [_line("none", rows, None)]
        lines += [
            _line(EdgeNoise(noise["kind"], noise["level"]).label, rows, position)
            for position, noise in enumerate(first["noises"])
        ]
        blocks.append(Block(f"{data}, k-NN with k = {entry(data).k}", tuple(lines)))
    networks, draws = len(content["training_seeds"]), len(content["noise_seeds"])
    note = (
        f"Mean ± standard deviation over {networks} networks × {draws} draws of the noise, the same for both models; "
        f"accuracy on the test nodes. Networks are trained without noise (protocol {content['protocol']}, both with "
        "the hyperparameters of Table II) and not again. The weights change by E of the "
        "paper's set P, ‖A‖ / ‖E‖ being the ratio. Outputs are logits less their mean over classes: ‖Ŷ − Y‖ / ‖Y‖."
    )
    return Table("", header, tuple(blocks), (*_findings(content), note))


def _line(label: str, rows: Mapping[str, Mapping[str, Any]], position: int | None) -> tuple[Cell, ...]:
    texts = [label]
    for model in MODELS:
        row = rows[model]
        if position is None:
            texts += [f"{100 * np.mean(row['clean']):.2f}", "–", "–", "–"]
            continue
        noise = row["noises"][position]
        drops, changes = _drops(row, noise), _changes(noise)
        texts += [
            f"{100 * np.mean(noise['accuracies']):.2f}",
            f"{drops.mean():.2f} ± {drops.std():.2f}",
            f"{changes.mean():.1f} ± {changes.std():.1f}",
            f"{100 * np.mean(noise['flips']):.1f}",
        ]
    return tuple(map(Cell, texts))


def _findings(content: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each data set, from the means of both models under the same noise."""
    return tuple(_finding(data, rows["s2gnn"], rows["gcn"]) for data, rows in _by_data(content).items())


def _finding(data: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    pairs = list(zip(ours["noises"], theirs["noises"], strict=True))
    moves_less = sum(_changes(a).mean() < _changes(b).mean() for a, b in pairs)
    saved = np.array([_drops(theirs, b).mean() - _drops(ours, a).mean() for a, b in pairs])
    less, more = int(np.sum(saved >= _EVEN)), int(np.sum(saved <= -_EVEN))
    ahead = sum(np.mean(a["accuracies"]) > np.mean(b["accuracies"]) for a, b in pairs)
    largest = [max(float(_drops(row, noise).mean()) for noise in row["noises"]) for row in (ours, theirs)]
    return (
        f"{data}: of {len(pairs)} noises S2-GNN's outputs move less than GCN's under {moves_less}; it loses less "
        f"accuracy under {less} and more under {more}, the others being within {_EVEN:g} points; it stays the more "
        f"accurate under {ahead}. At worst it loses {largest[0]:.2f} points and GCN {largest[1]:.2f}. From the weakest "
        f"to the strongest noise on the weights the change of its outputs grows {_growth(ours):.0f}-fold, that of "
        f"GCN's {_growth(theirs):.0f}-fold."
    )


def _growth(row: Mapping[str, Any]) -> float:
    """How many times as far the outputs move under the strongest noise on the weights as under the weakest."""
    means = {noise["level"]: float(_changes(noise).mean()) for noise in row["noises"] if noise["kind"] == "weights"}
    return means[min(means)] / means[max(means)]


def _draw(content: Mapping[str, Any]) -> Figure:
    """Of each data set two rows of panels, accuracy lost and change of the outputs; a panel for each kind of noise."""
    data = _by_data(content)
    figure = Figure(figsize=(7.2, 4.2 * len(data)), layout="constrained")
    parts = figure.subfigures(len(data), 1, squeeze=False)[:, 0]
    for part, (name, rows) in zip(parts, data.items(), strict=True):
        noises = [EdgeNoise(noise["kind"], noise["level"]) for noise in rows["s2gnn"]["noises"]]
        grid = part.subplots(2, len(TITLES), sharey="row", sharex="col")
        drops = [
            Curve(title, [_drops(rows[model], noise) for noise in rows[model]["noises"]])
            for model, title in MODELS.items()
        ]
        changes = [
            Curve(title, [_changes(noise) for noise in rows[model]["noises"]]) for model, title in MODELS.items()
        ]
        draw_noise_row(grid[0], noises, drops, "accuracy lost (points)", low=None)
        draw_noise_row(grid[1], noises, changes, "change of outputs (%)", low=None)
        grid[1][0].set_yscale("log")
        grid[1][0].yaxis.set_major_formatter("{x:g}")
        for axes, title in zip(grid[0], TITLES.values(), strict=True):
            axes.set_title(title, fontsize=9)
            axes.set_xlabel("")
            axes.axhline(0, color="0.6", linewidth=0.8)
        grid[0][0].legend(frameon=False, fontsize=8, loc="upper left")
        part.suptitle(f"{name}, k-NN graph", fontsize=10)
    return figure


STUDY = MeasuredStudy(
    "trained-stability",
    "Stability of trained networks against noisy edges",
    "beyond Theorem 3",
    DATA,
    _measure,
    _layout,
    _draw,
)
