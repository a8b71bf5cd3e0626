"""Studies that train models over a value that varies, and draw curves."""

from s2gnn.studies.sweeps.results import SweepResult, sweep_result
from s2gnn.studies.sweeps.sweep import Line, Sweep

__all__ = ["Line", "Sweep", "SweepResult", "sweep_result"]
