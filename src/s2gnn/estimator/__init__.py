"""The practitioner's way in: scikit-learn estimators on tables of features, and folders to share them in."""

from s2gnn.estimator.card import CardScore, ModelCard
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.folder import load_estimator, save_estimator
from s2gnn.estimator.regressor import S2GNNRegressor

__all__ = ["CardScore", "ModelCard", "S2GNNClassifier", "S2GNNRegressor", "load_estimator", "save_estimator"]
