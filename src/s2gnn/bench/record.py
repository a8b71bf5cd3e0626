"""The stored records of benchmarks."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from s2gnn import provenance
from s2gnn.errors import InputError
from s2gnn.files import write_atomically
from s2gnn.operators import kernel
from s2gnn.reading import parse_record, read_bytes

GIB = 2**30
# Settings with which glibc keeps freed memory instead of returning it to the system.
_KEPT = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), 16 * GIB)


Row = dict[str, Any]


def make_record(
    command: str, machine: Mapping[str, float] | None, device: torch.device | None = None, **measurements: Iterable[Row]
) -> Row:
    """Return the JSON record of a benchmark: rows by name, command, versions, machine and allocator settings."""
    return {
        **provenance.origin(command),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": provenance.cpu(),
        **({"gpu": torch.cuda.get_device_name(device)} if device is not None and device.type == "cuda" else {}),
        "kernel": kernel.chosen(device.type if device is not None else "cpu"),
        "threads": torch.get_num_threads(),
        "environment": {name: os.environ[name] for name in _KEPT if name in os.environ},
        **({"machine": machine} if machine else {}),
        **{name: list(rows) for name, rows in measurements.items()},
    }


def keep_record(record: Row, folder: Path) -> Path:
    """Store a record in the file of its benchmark and processor, in place of the previous one; returns the path.

    A benchmark that ran with settings of the allocator has the suffix "-kept".
    """
    kept = "-kept" if record.get("environment") else ""
    processor = re.sub(r"[^a-z0-9]+", "-", str(record.get("gpu") or record["cpu"]).lower()).strip("-")
    path = folder / f"bench-{benchmark_of(record)}{kept}.{processor}.json"
    write_atomically(path, (json.dumps(record, indent=2) + "\n").encode())
    return path


def benchmark_of(record: Row) -> str:
    """Return the name of the benchmark of a record, e.g. "operator"."""
    return str(record["command"].split()[2])


def records_of(path: Path) -> list[Path]:
    """Return the records of a benchmark, latest first: `path`, and one for each processor, named before the suffix."""
    paths = [*path.parent.glob(path.name), *sorted(path.parent.glob(f"{path.stem}.*.json"))]
    return sorted(paths, key=lambda one: str(read_record(one).get("date", "")), reverse=True)


def all_records(folder: Path, benchmark: str) -> list[Row]:
    """Return the records of a benchmark in a folder, latest first."""
    return list(map(read_record, records_of(folder / f"bench-{benchmark}.json")))


def latest_record(folder: Path, benchmark: str) -> Row:
    """Return the latest record of a benchmark in a folder."""
    records = all_records(folder, benchmark)
    if not records:
        raise InputError(
            f"{folder} has no record of bench {benchmark}: create it with s2gnn bench {benchmark} --record {folder}"
        )
    return records[0]


def origin_text(record: Row) -> str:
    """Return the command of a record, with its allocator settings, and its commit."""
    environment = "".join(f"{name}={value} " for name, value in record.get("environment", {}).items())
    return f"`{environment}{record['command']}` at commit {record['commit']}"


@dataclass
class _Stored:
    """The fields that all records have."""

    command: str
    kernel: str
    threads: int
    versions: dict[str, str]
    commit: str | None = None
    date: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    machine: dict[str, float] = field(default_factory=dict)


def read_record(path: Path) -> Row:
    """Return a stored record."""
    try:
        return parse_record(read_bytes(path), _Stored)
    except FileNotFoundError as error:
        raise InputError(f"there is no record {path}: create it with {command_for(path)}") from error
    except InputError as error:
        raise InputError(f"{path} is damaged ({error}): recreate it with {command_for(path)}") from error


def command_for(path: Path) -> str:
    """Return the command that creates a record."""
    _, name, *rest = re.split("[-.]", path.name)
    environment = "".join(f"{variable}={value} " for variable, value in _KEPT.items()) if rest[0] == "kept" else ""
    training = " --train --epochs 4" if name == "cost" else ""
    return f"{environment}s2gnn bench {name}{training} --record {path.parent.name}"
