"""The question that the paper leaves: Hadamard powers stay one hop wide; what do powers that reach further give?"""

from s2gnn.studies.cell import Cell
from s2gnn.studies.sweeps.findings import changes, standings
from s2gnn.studies.sweeps.results import SweepResult
from s2gnn.studies.sweeps.sweep import Sweep


def hops(cell: Cell) -> int:
    """How many edges away the features are that an output of this cell's network depends on, at most."""
    chosen = {name: int(value) for name, value in cell.hyperparameters.model.items() if isinstance(value, int)}
    if cell.model == "sign":
        return chosen["powers"]  # all in its first layer
    widths = {"s2gnn": 1, "regular-sobolev": chosen.get("alpha", 0), "cheby": chosen.get("K", 1) - 1}
    return chosen["num_layers"] * widths[cell.model]


def _conclude(result: SweepResult) -> str:
    """What a higher order changes for each model, and how S2-GNN stands against powers that reach further."""
    return f"{changes(result)} {standings(result, 's2gnn')} S2-GNN sees one hop in each layer at every order."


SWEEP = Sweep(
    name="reach",
    title="Accuracy over the order of the filter, and how far it reaches",
    paper="not in the paper",
    axis="order (α, powers of SIGN, K of Cheby)",
    values=(1, 2, 3, 4, 5, 6),
    models={"s2gnn": "alpha", "regular-sobolev": "alpha", "sign": "powers", "cheby": "K"},
    printed="Hadamard powers are called higher-order; K of Cheby and the powers of SIGN are searched in 1..3.",
    conclude=_conclude,
    hops=hops,
)
