"""Put the tables of the stored records between the markers of a Markdown document."""

import json
import re
from pathlib import Path

from s2gnn.bench.report import ReportTable, tables
from s2gnn.errors import InputError

_BLOCK = re.compile(r"(<!-- record: (?P<name>[\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_records(text: str, results: Path) -> str:
    """`text` with the tables of `results/NAME` after every `<!-- record: NAME -->`, up to `<!-- end -->`."""
    if not _BLOCK.search(text):
        raise InputError("the document has no place for a record: <!-- record: NAME.json --> and <!-- end -->")
    return _BLOCK.sub(lambda block: f"{block[1]}\n{_rendered(results / block['name'])}\n{block[3]}", text)


def _rendered(path: Path) -> str:
    command = f"s2gnn bench {path.stem.removeprefix('bench-')} --json > results/{path.name}"
    if not path.is_file():
        return f"No record yet: run `{command}`.\n"
    record = json.loads(path.read_text())
    try:
        found = tables(record)
    except KeyError as error:
        return f"The record lacks {error}, it was made by an older version: run `{command}`.\n"
    made = f"`{record['command']}` at commit {record['commit']}, torch {record['versions']['torch']}.\n"
    return "\n".join([*(_markdown(table) for table in found), made])


def _markdown(table: ReportTable) -> str:
    lines = [table.header, ("---", *("---:",) * (len(table.header) - 1)), *table.rows]
    return f"**{table.title}**\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
