"""How many Hadamard powers S2-GNN needs: accuracy over α, which the paper searches and does not show."""

from s2gnn.learning.hyperparameters import PUBLISHED
from s2gnn.studies.sweeps.findings import verdicts
from s2gnn.studies.sweeps.results import SweepResult
from s2gnn.studies.sweeps.sweep import Sweep


def _published(data: str) -> int:
    return int(PUBLISHED[data].model["alpha"])


def _conclude(result: SweepResult) -> str:
    """Whether the published α is better than the first power alone."""
    (line,) = result.sweep.lines
    leads = {
        f"{panel.data} (α = {_published(panel.data)})": panel.points[line, _published(panel.data)].lead(
            panel.points[line, 1]
        )
        for panel in result.panels
    }
    return f"The published α against α = 1: {verdicts(leads)}."


SWEEP = Sweep(
    name="alpha",
    title="Accuracy of S2-GNN over the number α of Hadamard powers",
    paper="not in the paper",
    axis="α",
    values=(1, 2, 3, 4, 5, 6),
    models={"s2gnn": "alpha"},
    printed="α is searched in 1..6; the best of the search is "
    + ", ".join(f"{_published(data)} on {data}" for data in PUBLISHED)
    + ".",
    conclude=_conclude,
)
