"""What a benchmark leaves behind: its measurements with the command, commit, versions and threads that made them."""

from dataclasses import asdict
from typing import Any

import torch

from s2gnn import provenance
from s2gnn.bench.machine import Machine
from s2gnn.operators import kernel


def make_record(command: str, machine: Machine | None = None, **measurements: list[Any]) -> dict[str, Any]:
    """A record that can be written as JSON.

    Args:
        command: that made it, for instance "s2gnn bench operator".
        machine: the rates of this machine, if they were measured.
        measurements: lists of dataclasses, by name.
    """
    rates = {} if machine is None else {"machine": asdict(machine)}
    return {
        "command": command,
        "commit": provenance.commit(),
        "versions": provenance.versions(),
        "kernel": kernel.chosen(),
        "threads": torch.get_num_threads(),
        **rates,
        **{name: [asdict(item) for item in items] for name, items in measurements.items()},
    }
