"""A fitted estimator on another graph of the same rows, its networks as they are."""

import copy
from dataclasses import replace
from typing import TypeVar

import numpy as np

from s2gnn.errors import InputError
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.frozen import layer_inputs
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.estimator.transductive import Trained
from s2gnn.graphs import Graph
from s2gnn.learning import predict_logits

Estimator = TypeVar("Estimator", S2GNNClassifier, S2GNNRegressor)


def on_graph(estimator: Estimator, graph: Graph) -> Estimator:
    """What `estimator` would be had it been trained to the same weights on `graph`; it is left as it was.

    Its networks are not trained again: what they say of the training rows, and know of them for new rows, is computed
    anew on `graph`.
    """
    trained: Trained = estimator._trained_
    if graph.n_nodes != trained.graph.n_nodes:
        raise InputError(
            f"the graph has {graph.n_nodes} nodes, but the estimator was trained on {trained.graph.n_nodes} rows"
        )
    models = trained.networks.models
    inputs = models[0].prepare(trained.features, graph)
    networks = replace(
        trained.networks,
        states=tuple(layer_inputs(model, *inputs) for model in models),
        logits=np.stack([predict_logits(model, *inputs).double().numpy() for model in models]),
    )
    other, moved = copy.copy(estimator), replace(trained, networks=networks, graph=graph)
    if isinstance(other, S2GNNClassifier):
        return other._restore(other.classes_, moved)
    return other._restore(other._centre_, other._width_, moved)
