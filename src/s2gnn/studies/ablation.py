"""What an ablation says: on how many graphs S2-GNN leads itself without one of its parts, here and in the paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s2gnn.studies.results import LEVEL, TableResult, verdict


@dataclass(frozen=True)
class Leads:
    """S2-GNN's accuracy minus the variant's, in points, over graphs.

    Attributes:
        graphs: that have both.
        ahead: the number of graphs where the difference is positive.
        mean: of the differences; `None` without a graph.
    """

    graphs: int
    ahead: int
    mean: float | None

    @classmethod
    def of(cls, differences: Sequence[float]) -> "Leads":
        """One difference for each graph."""
        mean = float(np.mean(differences)) if differences else None
        return cls(len(differences), sum(difference > 0 for difference in differences), mean)


@dataclass(frozen=True)
class Ablation:
    """S2-GNN and a variant of it on the graphs of a table.

    Attributes:
        variant: name of the model.
        graphs: of the table.
        measured: under the fair protocol, on the seeds that both have with one budget.
        ahead: on how many graphs S2-GNN is ahead by the paired t-test.
        behind: on how many it is behind.
        paper: by the printed accuracies.
    """

    variant: str
    graphs: int
    measured: Leads
    ahead: int
    behind: int
    paper: Leads


def ablation(result: TableResult) -> Ablation | None:
    """The leads of S2-GNN in an ablation; `None` of another table."""
    table = result.table
    if table.variant is None:
        return None
    found = (result.lead(column, table.protocols[-1], table.variant) for column in table.columns)
    leads = [lead for lead in found if lead is not None]
    verdicts = [verdict(lead) for lead in leads]
    printed = (table.printed_lead(column, table.variant) for column in table.columns)
    return Ablation(
        table.variant,
        len(table.columns),
        Leads.of([lead.mean_difference for lead in leads]),
        verdicts.count(1),
        verdicts.count(-1),
        Leads.of([lead for lead in printed if lead is not None]),
    )


def ablation_notes(found: Ablation) -> tuple[str, str]:
    """The counts in words, and how the two were trained."""
    measured, paper = found.measured, found.paper
    counts = f"No graph has runs of both S2-GNN and {found.variant} yet."
    if measured.mean is not None:
        so_far = "" if measured.graphs == found.graphs else f" run so far, of {found.graphs},"
        counts = (
            f"S2-GNN leads {found.variant} on {measured.ahead} of the {measured.graphs} graphs{so_far} by the mean "
            f"over common seeds, and by {measured.mean:+.2f} points on average; by the paired t-test (p < {LEVEL:g}, "
            f"not corrected for their number) it is ahead on {found.ahead} and behind on {found.behind}."
        )
    if paper.mean is not None:
        counts += f" In the paper it leads on {paper.ahead} of {paper.graphs}, by {paper.mean:+.2f} points on average."
    training = (
        f"Both have the hyperparameters that were published for S2-GNN on k-NN graphs: {found.variant} borrows them, "
        "where the paper searched for its own (budget full does). Neither has ReLU and dropout on its logits in either "
        "protocol, so that one run stands in both columns."
    )
    return counts, training
