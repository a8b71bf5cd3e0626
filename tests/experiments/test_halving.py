from dataclasses import replace

import numpy as np
import pytest

from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.experiments import BUDGETS, load_task, make_experiment
from s2gnn.experiments.halving import Search
from s2gnn.experiments.hyperparameters import default_hyperparameters
from s2gnn.learning.classical import CLASSICAL
from s2gnn.nn import MODELS

STANDARD = BUDGETS["standard"]
SEEDS = {1: VALIDATION_SEEDS[:1], 3: VALIDATION_SEEDS[:3]}


def search(model="s2gnn", data="cancer-b"):
    return Search(make_experiment(data, model, STANDARD.limit(make_experiment(data, model, "fair").protocol)), STANDARD)


def test_the_standard_search_halves_by_mean_validation_score():
    found, scores = search(), {}
    (first,) = [next(found.rounds(scores))]
    assert [(len(trials), trials[0].protocol.epochs) for trials in found.rounds(scores)] == [
        (20, 60), (7, 500), (3, 500), (1, 500)
    ]  # fmt: skip
    assert {trial.seeds for trial in first} == {SEEDS[1]}
    assert {trial.protocol.patience for trial in first} == {None}
    chance = np.random.default_rng(0)
    scores |= {(trial.key, VALIDATION_SEEDS[0]): chance.random() for trial in first}
    _, second, *_ = found.rounds(scores)
    best = sorted(first, key=lambda trial: -scores[trial.key, VALIDATION_SEEDS[0]])[:7]
    assert [trial.hyperparameters for trial in second] == [trial.hyperparameters for trial in best]
    assert {(trial.seeds, trial.protocol.patience) for trial in second} == {(SEEDS[1], 100)}
    scores |= {(trial.key, VALIDATION_SEEDS[0]): place / 10 for place, trial in enumerate(second)}
    third = list(found.rounds(scores))[2]
    assert [trial.hyperparameters for trial in third] == [trial.hyperparameters for trial in second[:3:-1]]
    assert {trial.seeds for trial in third} == {SEEDS[3]}
    means = [0.6, 0.55, 0.7]  # the last has the lowest score of the first seed
    for trial, mean in zip(third, means, strict=True):
        rest = (3 * mean - scores[trial.key, VALIDATION_SEEDS[0]]) / 2
        scores |= {(trial.key, seed): rest for seed in VALIDATION_SEEDS[1:3]}
    ((chosen,),) = list(found.rounds(scores))[3:]
    assert chosen.hyperparameters == third[2].hyperparameters
    assert chosen.seeds == found.configurations[0].seeds


@pytest.mark.parametrize("model", [*MODELS, *CLASSICAL])
def test_every_model_starts_with_its_default_and_not_with_published_values(model):
    configurations = search(model).configurations
    default = default_hyperparameters(model)
    assert configurations[0].hyperparameters == default
    assert len({configuration.key for configuration in configurations}) == 20
    assert configurations[0].key == search(model).configurations[0].key


def test_a_diverging_trial_counts_as_zero():
    diverging = make_experiment("digits", "mlp", "fair", k=10, changes={"lr": 1e30})
    assert load_task(diverging).trial(VALIDATION_SEEDS[0]).metrics == {"validation": 0.0, "epoch": 0.0}
    short = replace(diverging, protocol=replace(diverging.protocol, epochs=5))
    trained = load_task(replace(short, hyperparameters=default_hyperparameters("mlp")))
    expected = trained.fit(VALIDATION_SEEDS[0]).validation
    assert trained.trial(VALIDATION_SEEDS[0]).metrics["validation"] == expected > 0
