"""The model card: the page that tells a person what a saved model is, what it was made from and how good it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from s2gnn import provenance
from s2gnn.render import markdown_table


@dataclass(frozen=True)
class CardScore:
    """One measured score.

    Attributes:
        name: of the score, such as "accuracy".
        value: the score, 0.93 for an accuracy of 93 %.
        half_width: of its 95 % interval; `None` where there is none.
        rows: how many rows it was measured on.
        how: on which rows and how, such as "5-fold cross-validation on the labelled rows".
    """

    name: str
    value: float
    half_width: float | None
    rows: int
    how: str


@dataclass(frozen=True)
class ModelCard:
    """What whoever trained a model says about it; the estimator adds its graph and its parameters by itself.

    Attributes:
        title: the heading of the card.
        data: what the rows are and where they come from, in one or several sentences.
        target: the column that is predicted.
        features: the columns that it is predicted from, in the order of the table.
        scores: as measured.
        command: that trained the model; `None` if it was no command.
        notes: further paragraphs, such as warnings.
        commit: of the code that trained it; `None` outside a checkout.
        versions: of the packages that trained it.
        use: what the model is for and how it is used, in one or several sentences; how to load it if left out.
    """

    title: str = "An S2-GNN model"
    data: str = "The data are not described."
    target: str | None = None
    features: tuple[str, ...] = ()
    scores: tuple[CardScore, ...] = ()
    command: str | None = None
    notes: tuple[str, ...] = ()
    commit: str | None = field(default_factory=provenance.commit)
    versions: Mapping[str, str] = field(default_factory=provenance.versions)
    use: str = "`s2gnn.estimator.load_estimator(folder)` gives the fitted estimator."


def score_text(score: CardScore) -> str:
    """A score for people; an accuracy in percent."""
    factor, form, unit = (100, ".1f", " %") if score.name == "accuracy" else (1, ".4g", "")
    margin = "" if score.half_width is None else f" ± {factor * score.half_width:{form}}"
    return f"{factor * score.value:{form}}{margin}{unit}"


def card_page(card: ModelCard, facts: Mapping[str, str], graph: str) -> str:
    """The card as Markdown.

    Args:
        card: what is said about the model.
        facts: about the fitted estimator, such as the numbers of rows and of labels, by name.
        graph: the graph in a sentence.
    """
    parts = [f"# {_line(card.title)}", card.use.strip(), "## Scores", _scores(card.scores)]
    parts += ["## Data", card.data.strip(), *(note.strip() for note in card.notes)]
    parts += ["## Graph", graph, "## Model", _facts(card, facts), "## Origin"]
    if card.command is not None:
        parts.append(f"```\n{card.command.replace('```', '')}\n```")
    parts.append(markdown_table(("package", "version"), [(name, text) for name, text in card.versions.items()]))
    if card.commit is not None:
        parts.append(f"Commit {card.commit}.")
    parts.append(
        "The folder holds weights (safetensors), JSON and arrays without pickles: loading it executes no code. It "
        "contains the features of the rows that the model learned from: share it only with those who may see them."
    )
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _facts(card: ModelCard, facts: Mapping[str, str]) -> str:
    said = {"target": card.target, "features": ", ".join(card.features) or None}
    rows = [(name, _cell(text)) for name, text in [*said.items(), *facts.items()] if text is not None]
    return markdown_table(("what", "value"), rows)


def _scores(scores: tuple[CardScore, ...]) -> str:
    if not scores:
        return "Not measured."
    rows = [
        (
            _cell(score.name),
            score_text(score),
            f"{score.rows:,}",
            _cell(score.how),
        )
        for score in scores
    ]
    return (
        markdown_table(("score", "value", "rows", "how"), rows)
        + "\n± is the half-width of the 95 % interval. It holds for further rows that are drawn as the labelled ones "
        "were; where the labelled rows are not typical of the others, neither is the score."
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    """Text that cannot break out of the cell of a table."""
    return _line(text).replace("|", "\\|")
