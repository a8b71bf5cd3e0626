"""Training of models and what is measured of them."""

from s2gnn.learning.fit import FitConfig, FitResult, History, fit, predict_logits
from s2gnn.learning.seeding import seeded

__all__ = ["FitConfig", "FitResult", "History", "fit", "predict_logits", "seeded"]
