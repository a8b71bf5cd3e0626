"""The tables of the benchmarks' stored records, for a Markdown document."""

import json
from pathlib import Path

from s2gnn.bench.report import tables
from s2gnn.errors import InputError
from s2gnn.render import markdown_table


def render_benchmark(path: Path) -> str:
    """The tables of a stored benchmark and what made them, or the command that would."""
    command = f"s2gnn bench {path.stem.removeprefix('bench-')} --json > results/{path.name}"
    if not path.is_file():
        return f"No record yet: run `{command}`.\n"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        found = tables(record)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}): make it anew with {command}") from error
    except KeyError as error:
        return f"The record lacks {error}, it was made by an older version: run `{command}`.\n"
    made = f"`{record['command']}` at commit {record['commit']}, torch {record['versions']['torch']}.\n"
    return "\n".join([*(f"**{t.title}**\n\n{markdown_table(t.header, t.rows)}" for t in found), made])
