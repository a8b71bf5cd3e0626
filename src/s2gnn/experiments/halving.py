"""Random search with successive halving, computed from recorded validation scores."""

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

    The first round trains the model's default configuration and random ones from the paper's space; each further round
    trains the best configurations of the previous one by mean validation score, for longer or with more seeds. The next
    runs only depend on the recorded scores, so a search resumes from its records.

    Args:
        experiment: the experiment whose hyperparameters are searched; its seeds test the best configuration.
        budget: a budget with rounds.
        searched_on: experiment that the trials are run on, e.g. the same model on another graph; default: `experiment`.

    Attributes:
        tested: the experiment with the default configuration.
        configurations: configurations of the first round.
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
        """Yield the trials of every round, followed by the best configuration with its test seeds.

        Rounds after the first one with missing scores are placeholders with the right number of trials.
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
