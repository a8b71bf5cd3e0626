"""The model card of `s2gnn fit`, for whoever is given the folder."""

from s2gnn.cli.table_training import Trained
from s2gnn.estimator import ModelCard
from s2gnn.preprocessing import Columns

NAMES_SHOWN = 20


def table_card(table: str, trained: Trained, command: str) -> ModelCard:
    """The card of a model that was fitted on the table called `table`."""
    columns, labelled, model = trained.columns, trained.labelled, trained.model
    kinds = {"numbers": columns.numeric, "categories": columns.categorical}
    learned = "; ".join(f"{kind}: {_listed(names)}" for kind, names in kinds.items() if names)
    others = "" if labelled.all() else "The others helped by showing which rows are alike. "
    left_out = [f"Columns that were left out: {reasons(columns)}."] if columns.left_out else []
    return ModelCard(
        title=f"{model.label} of {table}",
        data=f"{table} has {len(labelled):,} rows, {labelled.sum():,} with a label: {_labels(trained)}. {others}"
        f"Columns learned from: {learned}.",
        target=model.label,
        features=(*columns.numeric, *columns.categorical),
        scores=trained.scores,
        command=command,
        notes=tuple(left_out),
        use=_use(trained),
    )


def reasons(columns: Columns) -> str:
    """The columns that were left out, each with its reason."""
    return ", ".join(f"{name or '(no name)'} ({reason})" for name, reason in columns.left_out.items())


def _labels(trained: Trained) -> str:
    counts = trained.label_counts
    if trained.model.task == "classify":
        return _listed([f"{name} {count:,.0f}" for name, count in counts.items()])
    return f"numbers from {counts['least']:.6g} to {counts['greatest']:.6g}, {counts['mean']:.6g} in the mean"


def _use(trained: Trained) -> str:
    label = trained.model.label
    if trained.model.task == "classify":
        what = f"the column {label} ({_listed(list(trained.label_counts))}), each answer with its probability"
        limit = "A row of a class that it has never seen gets one of these all the same."
    else:
        what = f"the number in the column {label}"
        limit = "It has not learned what lies beyond the numbers that it was shown."
    return (
        f"This model predicts {what}, for every row of a table that has the columns below. {limit}\n\n"
        "```\ns2gnn predict FOLDER table.csv --out predictions.csv\n```"
    )


def _listed(names: list[str] | tuple[str, ...]) -> str:
    """Names in a line, the first twenty of many."""
    more = f", … {len(names):,} in all" if len(names) > NAMES_SHOWN else ""
    return " ".join(", ".join(names[:NAMES_SHOWN]).split()) + more
