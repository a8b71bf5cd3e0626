"""What the k of a k-NN graph matters to S2-GNN and a GCN, beside an MLP, which does not see the graph."""

from s2gnn.studies.homophily import NEIGHBOURS
from s2gnn.studies.sweeps.findings import changes, standings
from s2gnn.studies.sweeps.results import SweepResult
from s2gnn.studies.sweeps.sweep import Sweep


def _conclude(result: SweepResult) -> str:
    """How accuracy changes from the first k to the last, and against whom S2-GNN leads over all k."""
    return f"{changes(result)} {standings(result, 's2gnn')}"


SWEEP = Sweep(
    name="neighbours",
    title="Accuracy over the k of the k-NN graph",
    paper="not in the paper",
    axis="k (neighbours)",
    values=NEIGHBOURS,
    models={"s2gnn": "k", "gcn": "k", "mlp": None},
    printed="k = 30, by its text; by its edge counts 40 on HAR and 20 on Isolet.",
    conclude=_conclude,
)
