"""Beyond Theorem 3: the effect of edge noise on trained networks on real graphs, and the powers S2-GNN then uses."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from s2gnn.analysis import (
    EdgeNoise,
    NoiseStability,
    branch_contributions,
    branch_weights,
    edge_noise_stability,
    edge_noises,
    without_branch,
)
from s2gnn.data.splits import TEST_SEEDS
from s2gnn.experiments.experiment import Experiment
from s2gnn.experiments.figures.noise_figure import draw_robustness
from s2gnn.experiments.figures.noise_findings import MODELS, PUBLISHED
from s2gnn.experiments.figures.noise_table import tabulate_robustness
from s2gnn.experiments.hyperparameters import PUBLISHED as HYPERPARAMETERS
from s2gnn.experiments.measured import MeasuredStudy, Measurement, Row
from s2gnn.experiments.protocols import BUDGETS, FAIR
from s2gnn.experiments.table import tuned_experiment
from s2gnn.experiments.table_scores import OURS
from s2gnn.experiments.tasks import Classification, Prepared, Trained
from s2gnn.graphs import Graph
from s2gnn.learning import predict_logits
from s2gnn.nn import GraphNetwork

BUDGET = BUDGETS["standard"]
TRAINING_SEEDS = TEST_SEEDS[:5]
NOISE_SEEDS = tuple(range(5))
# S2-GNN is also trained on graphs with these.
TRAINED_ON = (
    *(EdgeNoise("added", share) for share in (0.1, 0.3, 0.5)),
    EdgeNoise("dropped", 0.5),
    EdgeNoise("weights", 5.0),
)


def _experiment(folder: Path, data: str, model: str) -> tuple[Experiment, str]:
    """Make the experiment: the cell of Table II on k-NN graphs, after the search of `BUDGET` or as published."""
    budget = replace(BUDGET, rungs=()) if model == PUBLISHED else BUDGET
    experiment, source = tuned_experiment(
        "table2-knn", data, OURS if model == PUBLISHED else model, FAIR, budget, folder
    )
    return replace(experiment, seeds=TRAINING_SEEDS), source


def _depends_on(folder: Path, data: str, model: str) -> Row:
    experiment, source = _experiment(folder, data, model)
    return {"key": experiment.key, "source": source, "hyperparameters": asdict(experiment.hyperparameters)}


def _measure(at: Measurement) -> Iterator[Row]:
    """Yield one row: scores and changes by noise, then network, then draw; for S2-GNN, published, also its branches."""
    task = Classification(_experiment(at.folder, at.data, at.model)[0])
    networks, fitted = [], []
    for number, seed in enumerate(TRAINING_SEEDS, 1):
        at.report(f"{task.experiment.title}: seed {number} of {len(TRAINING_SEEDS)}")
        fitted.append(task.fit(seed))
        networks.append(_stability(task, fitted[-1]))
    row: Row = {
        "clean": [network.clean_score for network in networks],
        "noises": [
            {
                **asdict(noise),
                "accuracies": [_rounded(network.scores, place) for network in networks],
                "changes": [_rounded(network.changes, place) for network in networks],
                "flips": [_rounded(network.flips, place) for network in networks],
            }
            for place, noise in enumerate(networks[0].noises)
        ],
    }
    if at.model == PUBLISHED:
        at.report(f"{task.experiment.title}: branches")
        row["branches"] = [
            _branch_use(task, fitted, None),
            *(_branch_use(task, fitted, noise) for noise in edge_noises()),
        ]
        row["trained_on"] = []
        for noise in TRAINED_ON:
            at.report(f"{task.experiment.title}: trained with {noise.label}")
            row["trained_on"].append(_trained_on(task, noise))
    yield row


def _stability(task: Classification, trained: Trained) -> NoiseStability:
    """Return one trained network: its logits, less their mean over classes, which changes no probability."""
    network = _network(trained)

    def outputs(noisy: Graph) -> NDArray[np.float64]:
        logits = predict_logits(network, *network.prepare(task.data.x, noisy)).double().numpy()
        return np.asarray(logits - logits.mean(axis=1, keepdims=True))

    def score(logits: NDArray[np.float64]) -> float:
        return _accuracy(task, trained, torch.from_numpy(logits))

    return edge_noise_stability(outputs, _graph(task), score, seeds=NOISE_SEEDS)


def _branch_use(task: Classification, fitted: list[Trained], noise: EdgeNoise | None) -> Row:
    """Return contributions (layers, α + 1) and accuracies without each branch (α + 1,) by network, mean over draws."""
    found: list[list[tuple[NDArray[np.float64], NDArray[np.float64]]]] = []
    for trained in fitted:
        network, graph = _network(trained), _graph(task)
        noisy = [graph] if noise is None else [_drawn(noise, graph, seed) for seed in NOISE_SEEDS]
        found.append([_branches(task, trained, network.prepare(task.data.x, one)) for one in noisy])
    return {
        **({"kind": None, "level": None} if noise is None else asdict(noise)),
        "contributions": [np.mean([one for one, _ in draws], axis=0).round(6).tolist() for draws in found],
        "without": [np.mean([one for _, one in draws], axis=0).round(6).tolist() for draws in found],
    }


def _trained_on(task: Classification, noise: EdgeNoise) -> Row:
    """Return the same of networks trained and tested on a noisy graph, drawn for each seed, and the fusion weights."""
    row: Row = {**asdict(noise), "accuracies": [], "weights": [], "contributions": [], "without": []}
    for draw, seed in enumerate(TRAINING_SEEDS):
        graph = _drawn(noise, _graph(task), draw)
        trained = _fit_on(task, graph, seed)
        network = _network(trained)
        contributions, without = _branches(task, trained, network.prepare(task.data.x, graph))
        row["accuracies"].append(_accuracy(task, trained, trained.logits))
        row["weights"].append(branch_weights(network).round(6).tolist())
        row["contributions"].append(contributions.round(6).tolist())
        row["without"].append(without.round(6).tolist())
    return row


def _fit_on(task: Classification, graph: Graph, seed: int) -> Trained:
    """Train on another graph of the same nodes."""
    return task.fit(seed, prepare=lambda network: network.prepare(task.data.x, graph))


def _branches(
    task: Classification, trained: Trained, inputs: Prepared
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what branches contribute (layers, α + 1), and the accuracy without each of them (α + 1,)."""
    network = _network(trained)
    contributions = branch_contributions(network, *inputs)
    without = []
    for rho in range(contributions.shape[1]):
        with without_branch(network, rho):
            without.append(_accuracy(task, trained, predict_logits(network, *inputs)))
    return contributions, np.array(without)


def _accuracy(task: Classification, trained: Trained, logits: torch.Tensor) -> float:
    return task.score(replace(trained, predict=lambda: logits))["test_accuracy"]


def _drawn(noise: EdgeNoise, graph: Graph, seed: int) -> Graph:
    return noise.applied(graph, np.random.default_rng(seed))


def _network(trained: Trained) -> GraphNetwork:
    assert trained.network is not None
    return trained.network


def _graph(task: Classification) -> Graph:
    assert isinstance(task.graph, Graph)
    return task.graph


def _rounded(values: NDArray[np.float64] | None, row: int) -> list[float]:
    assert values is not None
    return [float(value) for value in values[row].round(6)]


STUDY = MeasuredStudy(
    "trained-stability",
    "Stability of trained networks against noisy edges",
    "beyond Theorem 3",
    tuple(HYPERPARAMETERS),
    _measure,
    tabulate_robustness,
    draw_robustness,
    settings=lambda _: {
        "protocol": FAIR.name,
        "budget": BUDGET.name,
        "training_seeds": TRAINING_SEEDS,
        "noise_seeds": NOISE_SEEDS,
    },
    models=tuple(MODELS),
    depends_on=_depends_on,
)
