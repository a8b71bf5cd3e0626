"""Training of models and what is measured of them."""

from s2gnn.learning.fit import FitConfig, FitResult, History, fit, predict_logits
from s2gnn.learning.many import Run, RunConfig, RunData, fit_many
from s2gnn.learning.seeding import seeded

__all__ = [
    "FitConfig",
    "FitResult",
    "History",
    "Run",
    "RunConfig",
    "RunData",
    "fit",
    "fit_many",
    "predict_logits",
    "seeded",
]
