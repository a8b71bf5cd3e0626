"""The practitioner's way in: scikit-learn estimators on tables of features, and model folders that are safe to share."""

from s2gnn.estimator.card import CardScore, ModelCard
from s2gnn.estimator.folder import load_estimator, save_estimator

__all__ = ["CardScore", "ModelCard", "load_estimator", "save_estimator"]
