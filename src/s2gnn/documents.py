"""Tables made from stored records, put between the markers of a Markdown document."""

import re
from collections.abc import Callable, Iterable, Sequence

from s2gnn.errors import InputError

_BLOCK = re.compile(r"(<!-- record: (?P<name>[\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_records(text: str, render: Callable[[str], str]) -> str:
    """`text` with `render(NAME)` after every `<!-- record: NAME -->`, up to `<!-- end -->`."""
    if not _BLOCK.search(text):
        raise InputError("the document has no place for a record: <!-- record: NAME --> and <!-- end -->")
    return _BLOCK.sub(lambda block: f"{block[1]}\n{render(block['name'])}\n{block[3]}", text)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns after the first are aligned to the right."""
    lines = [header, ("---", *("---:",) * (len(header) - 1)), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
