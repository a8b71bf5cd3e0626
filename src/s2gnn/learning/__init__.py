"""Training and evaluation of models."""

from s2gnn.learning.checkpoint import Checkpoint, History
from s2gnn.learning.config import FitConfig
from s2gnn.learning.epochs import FitResult
from s2gnn.learning.fit import TrainedNetwork, fit, predict_logits, train_network
from s2gnn.learning.group import ALONE, Group, joined_group
from s2gnn.learning.many import Run, RunConfig, RunData, fit_many
from s2gnn.learning.seeding import seeded

__all__ = [
    "ALONE",
    "Checkpoint",
    "FitConfig",
    "FitResult",
    "Group",
    "History",
    "Run",
    "RunConfig",
    "RunData",
    "TrainedNetwork",
    "fit",
    "fit_many",
    "joined_group",
    "predict_logits",
    "seeded",
    "train_network",
]
