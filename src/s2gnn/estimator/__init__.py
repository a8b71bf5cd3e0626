"""Scikit-learn estimators for tables of features, and model folders to share them."""

from s2gnn.estimator.card import ModelCard
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.evaluation import CardScore, Evaluation
from s2gnn.estimator.explanation import Explanation
from s2gnn.estimator.folder import load_estimator, save_estimator
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.estimator.table_model import TableModel

__all__ = [
    "CardScore",
    "Evaluation",
    "Explanation",
    "ModelCard",
    "S2GNNClassifier",
    "S2GNNRegressor",
    "TableModel",
    "load_estimator",
    "save_estimator",
]
