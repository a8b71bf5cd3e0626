"""The engine behind every table and figure: experiments, their records, searches and comparisons."""

from s2gnn.experiments.compare import Runs
from s2gnn.experiments.experiment import Experiment, make_experiment
from s2gnn.experiments.hyperparameters import PUBLISHED, Hyperparameters, default_hyperparameters
from s2gnn.experiments.protocols import BUDGETS, PROTOCOLS, Budget, Protocol
from s2gnn.experiments.records import Record, Records, as_frame
from s2gnn.experiments.tasks import load_task

__all__ = [
    "BUDGETS",
    "PROTOCOLS",
    "PUBLISHED",
    "Budget",
    "Experiment",
    "Hyperparameters",
    "Protocol",
    "Record",
    "Records",
    "Runs",
    "as_frame",
    "default_hyperparameters",
    "load_task",
    "make_experiment",
]
