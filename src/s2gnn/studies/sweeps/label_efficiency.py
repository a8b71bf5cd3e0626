"""When a graph helps and when an MLP is enough: accuracy over the share of nodes that have a label."""

from s2gnn.data.catalogue import entry
from s2gnn.learning.protocol import FAIR
from s2gnn.studies.results import LEVEL, verdict
from s2gnn.studies.sweeps.results import Panel, SweepResult
from s2gnn.studies.sweeps.sweep import Sweep


def _conclude(result: SweepResult) -> str:
    """Up to which share S2-GNN, and label spreading, lead the MLP; and where more nodes than the share are labelled."""
    test = f"paired t-test, p < {LEVEL:g}"
    sentences = [
        f"The largest share of labelled nodes at which {name} leads the MLP ({test}): {_largest(result, model)}."
        for model, name in (("s2gnn", "S2-GNN"), ("label-spreading", "label spreading"))
    ]
    more = [text for panel in result.panels for text in _more_than_the_share(panel)]
    if more:
        sentences.append(f"Every class has at least one label, so that more nodes have one: {', '.join(more)}.")
    return " ".join(sentences)


def _largest(result: SweepResult, model: str) -> str:
    line, mlp = result.sweep.line(model), result.sweep.line("mlp")
    if line is None or mlp is None:
        return "not run"
    found = []
    for panel in result.panels:
        leads = {value: panel.points[line, value].lead(panel.points[mlp, value]) for value in result.sweep.values}
        tested = {value: lead for value, lead in leads.items() if lead is not None}
        ahead = [value for value, lead in tested.items() if verdict(lead) > 0]
        largest = f"{max(ahead):g} % (ahead at {len(ahead)} of {len(tested)} shares)" if ahead else "none"
        found.append(f"{panel.data} {largest if tested else 'not run'}")
    return ", ".join(found)


def _more_than_the_share(panel: Panel) -> list[str]:
    """Where the mean number of training nodes is above the share's own."""
    rows = entry(panel.data).rows
    counts: dict[float, list[float]] = {}
    for (_, value), point in panel.points.items():
        counts.setdefault(value, []).extend(
            record.metrics["train_nodes"] for record in point.records.values() if "train_nodes" in record.metrics
        )
    return [
        f"{panel.data} {sum(found) / len(found):.0f} at {value:g} %"
        for value, found in counts.items()
        if found and sum(found) / len(found) > int(value / 100 * rows)
    ]


SWEEP = Sweep(
    name="label-efficiency",
    title="Accuracy over the share of labelled nodes",
    paper="not in the paper",
    axis="labelled nodes (%)",
    values=(0.5, 1, 2, 5, 10, 20, 30),
    models={"s2gnn": "share", "gcn": "share", "mlp": "share", "label-spreading": "share"},
    printed="10 % of the nodes train; the rest of the 55 % outside the test set chooses the epoch, here too.",
    conclude=_conclude,
    protocols=(FAIR,),
    logarithmic=True,
)
