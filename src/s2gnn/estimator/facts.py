"""What a model card says about a fitted estimator by itself: sizes, parameters, the graph."""

from s2gnn.estimator.attachment import GaussianAttachment, LearnedAttachment
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.nn import S2GNNConfig


def facts_of(estimator: S2GNNClassifier | S2GNNRegressor) -> dict[str, str]:
    """The sizes and parameters of a fitted estimator, for its card."""
    config = estimator.networks_[0].config
    facts = {
        "estimator": type(estimator).__name__,
        "rows": f"{estimator.graph_.n_nodes:,}",
        "labelled rows": f"{estimator.n_labelled_:,}",
        "columns after preparation": f"{estimator.n_features_in_:,}",
    }
    if isinstance(estimator, S2GNNClassifier):
        facts["classes"] = ", ".join(map(str, estimator.classes_.tolist()))
    epochs = ", ".join(str(epoch + 1) for epoch in estimator._trained_.networks.kept_epochs)
    validated = any(history.val_loss for history in estimator.history_)
    return facts | {
        "networks": f"{len(estimator.networks_)}, each of {config.num_layers} layers, {config.hidden_channels} wide",
        "α, ε, fusion": f"{config.alpha}, {_epsilon_of(estimator)}, {config.fusion}",
        **_extras_of(config),
        "epochs": f"{epochs} ({'chosen on held-out rows' if validated else 'without validation'})",
    }


def _epsilon_of(estimator: S2GNNClassifier | S2GNNRegressor) -> str:
    found = " and ".join(f"{float(network.epsilon):.4g}" for network in estimator.networks_)
    config = estimator.networks_[0].config
    return f"{found} (learned)" if config.epsilon == "learn" else f"{config.epsilon:g}"


def _extras_of(config: S2GNNConfig) -> dict[str, str]:
    """What the layers have beside the paper's, if anything."""
    named = {"batch normalisation": config.norm == "batch", "residual connections": config.residual}
    found = ", ".join(name for name, there in named.items() if there)
    return {"layers also have": found} if found else {}


def graph_of(estimator: S2GNNClassifier | S2GNNRegressor) -> str:
    """The graph of a fitted estimator in a few sentences, for its card."""
    graph, attachment = estimator.graph_, estimator._trained_.attachment
    k = min(estimator.k, graph.n_nodes - 1)
    if callable(estimator.graph):
        origin = "A function made the edges between them."
    else:
        origin = {
            "knn": f"Each is joined to the {k} rows nearest to it, the more strongly the nearer they are (knn).",
            "smooth": f"Edges were learned so that rows that are alike are joined, about {k} of them to each (smooth).",
            "precomputed": "The edges between them were given (precomputed).",
        }[estimator.graph]
    new = {
        type(None): "A new row has no place among them.",
        GaussianAttachment: "A new row is joined to the nearest of them and does not change them.",
        LearnedAttachment: "A new row is joined by the rule that the edges were learned by, and does not change them.",
    }[type(attachment)]
    return f"{graph.n_nodes:,} rows are the nodes of a graph with {graph.n_edges:,} edges. {origin} {new}"
