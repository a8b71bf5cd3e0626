"""Records as runs would leave them, with scores that a test gives."""

from s2gnn.experiments.records import Record, Records


def made_record(experiment, seed, accuracy=90.0, budget="quick", seconds=36.0, **metrics):
    """The record of one seed; accuracy in %."""
    found = {"test_accuracy": accuracy / 100, "val_accuracy": accuracy / 100, "epoch": 3, **metrics}
    cost = {"name": budget, "epochs": experiment.protocol.epochs, "threads": 1}
    made = ("2024-01-01", "abc", {"torch": "2"})
    return Record(experiment.key, seed, experiment.describe(), found, seconds, cost, *made)


def append(path, experiment, accuracies, budget="quick", **metrics):
    """Append a record for each accuracy in %, with the first seeds of the experiment."""
    for seed, accuracy in zip(experiment.seeds, accuracies, strict=False):
        Records(path).append(made_record(experiment, seed, accuracy, budget, **metrics))
