"""Records as a sweep would leave them, with accuracies that a test gives."""

from s2gnn.learning.records import Record, canonical_json
from s2gnn.studies.budget import BUDGETS


def write(folder, sweep, data, model, accuracies, budget="quick", name=None, **metrics):
    """Accuracies in % by swept value, one for each seed, of the fair line of `model`."""
    cost = {"name": budget, "epochs": 500, "threads": 1}
    with (folder / f"{name or sweep.name}.jsonl").open("a") as stream:
        for value, scores in accuracies.items():
            cell = sweep.cell(data, sweep.line(model), value, BUDGETS[budget], seeds=len(scores))
            for seed, accuracy in zip(cell.seeds, scores, strict=True):
                found = {"test_accuracy": accuracy / 100, "epoch": 3, **metrics}
                made = ("2024-01-01", "abc", {"torch": "2"})
                record = Record(cell.config_hash, seed, cell.config, found, 36.0, cost, *made)
                stream.write(f"{canonical_json(record)}\n")
