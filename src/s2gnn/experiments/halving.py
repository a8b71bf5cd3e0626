"""Random search by successive halving, as a function of the validation scores that are on record."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from s2gnn.data.splits import VALIDATION_SEEDS
from s2gnn.experiments.experiment import Experiment
from s2gnn.experiments.hyperparameters import default_hyperparameters
from s2gnn.experiments.protocols import Budget, Rung
from s2gnn.experiments.search_space import draw_values, nearest_values, search_space

# Validation scores by run: the key of an experiment and a seed.
Scores = Mapping[tuple[str, int], float]


class Search:
    """The search for the hyperparameters of one experiment.

    The first round trains the model's default configuration and random ones of the paper's space; every further round
    the best of the round before by mean validation score, for longer or with more seeds. What to train next depends on
    the known scores only, so that a search resumes from its records.

    Args:
        experiment: its hyperparameters are replaced; its seeds test the best.
        budget: has the rounds.
        searched_on: what the trials are run on, such as the same model on another graph; default: `experiment`.

    Attributes:
        tested: the experiment with the default configuration.
        configurations: of the first round.
    """

    def __init__(self, experiment: Experiment, budget: Budget, searched_on: Experiment | None = None) -> None:
        self.budget = budget
        trained = searched_on or experiment
        space = search_space(experiment.model, experiment.protocol.head, max_heads=budget.max_heads or 6)
        drawn = [draw_values(space, 0, number) for number in range(1, budget.rungs[0].configurations)]
        values = [nearest_values(space, default_hyperparameters(experiment.model)), *drawn]
        self.configurations = [
            replace(trained, hyperparameters=trained.hyperparameters.with_values(each)) for each in values
        ]
        self.tested = replace(experiment, hyperparameters=self.configurations[0].hyperparameters)

    def rounds(self, scores: Scores) -> Iterator[list[Experiment]]:
        """The trials of every round, then the best configuration with its test seeds.

        Only the rounds up to the first with a missing score are final; later ones show how many trials there will be.
        """
        ranked = self.configurations
        for rung in self.budget.rungs:
            ranked = ranked[: rung.configurations]
            trials = [_trial(configuration, rung) for configuration in ranked]
            yield trials
            means = [np.mean([scores.get((trial.key, seed), 0.0) for seed in trial.seeds]) for trial in trials]
            ranked = [ranked[place] for place in np.argsort(-np.array(means), kind="stable")]
        yield [replace(self.tested, hyperparameters=ranked[0].hyperparameters)]


def _trial(experiment: Experiment, rung: Rung) -> Experiment:
    protocol = experiment.protocol
    if rung.epochs is not None:
        protocol = replace(protocol, epochs=rung.epochs, patience=None)
    return replace(experiment, protocol=protocol, seeds=VALIDATION_SEEDS[: rung.seeds])
