"""The model card: a page that describes a saved model, its training data and its scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from s2gnn import provenance
from s2gnn.estimator.classifier import S2GNNClassifier
from s2gnn.estimator.evaluation import CardScore, score_text
from s2gnn.estimator.regressor import S2GNNRegressor
from s2gnn.estimator.training_graph import GaussianAttachment, LearnedAttachment, graph_kind
from s2gnn.render import markdown_table
from s2gnn.tables import Identifiers

Estimator = S2GNNClassifier | S2GNNRegressor


@dataclass(frozen=True)
class ModelCard:
    """A description of a model by its author; sizes, parameters and the graph are taken from the estimator.

    Attributes:
        title: the heading of the card.
        data: what the rows are and where they come from.
        target: the column that is predicted.
        features: the columns that it is predicted from, in the order of the table.
        scores: measured scores; by default those of the estimator's `evaluation_`.
        command: the command that trained the model; `None` if there was none.
        commit: the commit of the code that trained it; `None` outside a checkout.
        versions: versions of the packages that trained it.
        use: what the model is for and how to use it.
        source: name of the table, for the report.
        missing: the number of missing values of each feature, by name, for the report.
        left_out: the reason for each excluded column of the table.
        identifiers: names of the rows of the table, for the report.
    """

    title: str = "An S2-GNN model"
    data: str = "No description of the data was given."
    target: str | None = None
    features: tuple[str, ...] = ()
    scores: tuple[CardScore, ...] = ()
    command: str | None = None
    commit: str | None = field(default_factory=provenance.commit)
    versions: Mapping[str, str] = field(default_factory=provenance.versions)
    use: str = "`s2gnn.estimator.load_estimator(folder)` returns the fitted estimator."
    source: str = ""
    missing: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    identifiers: Identifiers | None = None


def card_page(card: ModelCard, estimator: Estimator) -> str:
    """Render the card of a fitted estimator as Markdown."""
    evaluation = estimator.evaluation_
    scores = card.scores or (() if evaluation is None else evaluation.scores)
    parts = [f"# {_line(card.title)}", card.use.strip(), "## Scores", _scores(scores)]
    parts += ["## Data", card.data.strip()]
    if card.left_out:
        parts.append(f"Columns left out: {reasons(card.left_out)}.")
    parts += ["## Graph", graph_text(estimator), "## Model", _facts(card, estimator), "## Origin"]
    if card.command is not None:
        parts.append(f"```\n{card.command.replace('```', '')}\n```")
    parts.append(markdown_table(("package", "version"), [(name, text) for name, text in card.versions.items()]))
    if card.commit is not None:
        parts.append(f"Commit {card.commit}.")
    parts.append(
        "The folder holds weights (safetensors), JSON and arrays without pickles: loading it executes no code. It "
        "contains the features, labels and identifiers of the training rows: share it only with those who may see them."
    )
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def reasons(left_out: Mapping[str, str]) -> str:
    """List the excluded columns with their reasons."""
    return ", ".join(f"{name or '(no name)'} ({reason})" for name, reason in left_out.items())


def _facts(card: ModelCard, estimator: Estimator) -> str:
    """Render sizes and parameters as a table."""
    config = estimator.networks_[0].config
    classes = ", ".join(map(str, estimator.classes_.tolist())) if isinstance(estimator, S2GNNClassifier) else None
    learned = " and ".join(f"{float(network.epsilon):.4g}" for network in estimator.networks_) + " (learned)"
    epsilon = learned if config.epsilon == "learn" else f"{config.epsilon:g}"
    further = {"batch normalisation": config.norm == "batch", "residual connections": config.residual}
    epochs = ", ".join(str(epoch + 1) for epoch in estimator.kept_epochs_)
    validated = any(history.val_loss for history in estimator.history_)
    facts = {
        "target": card.target,
        "features": ", ".join(card.features) or None,
        "estimator": type(estimator).__name__,
        "rows": f"{estimator.graph_.n_nodes:,}",
        "labelled rows": f"{estimator.n_labelled_:,}",
        "columns after encoding": f"{estimator.features_.shape[1]:,}",
        "classes": classes,
        "base predictor": _base_text(estimator),
        "weights of the blend": _blend_text(estimator),
        "networks": str(len(estimator.networks_)),
        "layers and hidden channels of each": f"{config.num_layers}, {config.hidden_channels}",
        "α, ε, fusion": f"{config.alpha}, {epsilon}, {config.fusion}",
        "layers also have": ", ".join(name for name, there in further.items() if there) or None,
        "epochs": f"{epochs} ({'chosen on validation rows' if validated else 'without validation'})",
    }
    return markdown_table(("what", "value"), [(name, _cell(text)) for name, text in facts.items() if text is not None])


def _base_text(estimator: Estimator) -> str | None:
    """List the learners of the base predictor with their weights."""
    if estimator.base_ is None or estimator.base_.blend is None:
        return None
    weighted = zip(estimator.base_.learners, estimator.base_.blend.weights, strict=True)
    return ", ".join(f"{name} {100 * weight:.0f} %" for name, weight in weighted)


def _blend_text(estimator: Estimator) -> str | None:
    """List the weight of each member."""
    if estimator.blend_ is None:
        return None
    members = ("base predictor", "base predictor smoothed over the graph", "networks")
    return ", ".join(f"{name} {100 * w:.0f} %" for name, w in zip(members, estimator.blend_.weights, strict=True))


def graph_text(estimator: Estimator) -> str:
    """Describe the graph of a fitted estimator in a few sentences."""
    graph, k = estimator.graph_, min(estimator.k, estimator.graph_.n_nodes - 1)
    weighted = " Columns that matter more count more." if estimator.network == "blended" else ""
    origin = {
        "knn": f"Each row is joined to its {k} nearest rows, with larger weights for nearer rows (knn).{weighted}",
        "smooth": f"The edges were learned so that similar rows are joined, about {k} per row (smooth).",
        "precomputed": "The edges were given (precomputed).",
        "function": "A function made the edges.",
    }[graph_kind(estimator.graph)]
    new = {
        type(None): "New rows cannot be joined to it.",
        GaussianAttachment: "A new row is joined to its nearest training rows and does not change them.",
        LearnedAttachment: "A new row is joined by the rule that the edges were learned by, and does not change them.",
    }[type(estimator.attachment_)]
    gain = "" if estimator.graph_gain_ is None else f" {estimator.graph_gain_.sentence}"
    return f"{graph.n_nodes:,} rows are the nodes of a graph with {graph.n_edges:,} edges. {origin} {new}{gain}"


def _scores(scores: Sequence[CardScore]) -> str:
    if not scores:
        return "Not measured."
    rows = [(_cell(score.name), score_text(score), f"{score.rows:,}", _cell(score.how)) for score in scores]
    return (
        markdown_table(("score", "value", "rows", "how"), rows)
        + "\nThe intervals hold for rows drawn like the labelled ones; where the labelled rows are not typical of the "
        "others, neither is the score."
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    """Escape text for a table cell."""
    return _line(text).replace("|", "\\|")
